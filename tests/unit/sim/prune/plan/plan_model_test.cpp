// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/plan_model.h"

#include "sim/config/architecture.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

namespace sptc::prune::plan {
namespace {

TEST(PlanModel, RefusesOptionsOfWhatThePlanDecides) {
  const config::Architecture a100 = config::load_architecture("a100-sxm4-80gb");
  const auto refusal = [&](const PlanOptions& options) {
    return support::input_error_of([&] { plan_model("model.onnx", a100, options); });
  };
  for (const run::Variants variants : {run::Variants::kDense, run::Variants::kSparse}) {
    PlanOptions options;
    options.simulation.variants = variants;
    EXPECT_EQ(refusal(options), "--variants has no effect: a plan compares dense and sparse");
  }
  PlanOptions options;
  options.pruning.permute = {"auto"};
  EXPECT_EQ(refusal(options), "--permute has no effect: a plan leaves channels in their order");
}

}  // namespace
}  // namespace sptc::prune::plan
