// SPDX-License-Identifier: Apache-2.0
#include "sim/run/inference.h"

#include "sim/config/architecture.h"
#include "sim/run/simulate.h"
#include "sim/workload/workload_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace sptc::run {
namespace {

/// Kernels of BERT-Base under PyTorch, whose 2:4 kernels leave their results transposed.
std::vector<InferenceKernel> kernels_at(double clock_mhz) {
  SimulationOptions options;
  options.fidelity = Fidelity::kAnalytic;
  options.check = CheckMode::kNone;
  options.engine = "pytorch";
  options.clock = {ClockChoice::Kind::kFixed, clock_mhz};
  const workload::Workload workload = workload::read_workload(
      std::string(SPTC_SOURCE_DIR) + "/traces/bert_base.json", {{"batch", 8}, {"seq", 128}});
  return simulate(workload, config::load_architecture("a100-sxm4-80gb"), options)
      .inference->kernels;
}

/// By how much longer the kernels behind kernels[gemm] take where it has 2:4 weights.
double longer_behind_us(const std::vector<InferenceKernel>& kernels, std::size_t gemm) {
  double us = 0;
  for (std::size_t i = gemm + 1;
       i < kernels.size() && kernels[i].group != workload::WorkGroup::kGemm; ++i) {
    if (kernels[i].sparse) {
      us += kernels[i].sparse->time_us - (kernels[i].dense ? kernels[i].dense->time_us : 0);
    }
  }
  return us;
}

TEST(Inference, WeighsAKernelAndThoseBehindItAtOneClock) {
  for (const double clock_mhz : {1410.0, 210.0}) {
    const std::vector<InferenceKernel> kernels = kernels_at(clock_mhz);
    int transposed = 0;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::string& reason = kernels[i].reason;
      if (reason.find("transposed result") == std::string::npos) {
        continue;
      }
      ++transposed;
      const double gain =
          kernels[i].dense->time_us / (kernels[i].sparse->time_us + longer_behind_us(kernels, i));
      EXPECT_EQ(kernels[i].takes_sparse, gain > 1) << kernels[i].name;
      const double shown = std::stod(reason.substr(reason.find_first_of("0123456789", 3)));
      EXPECT_NEAR(shown, std::max(gain, 1 / gain), 0.00501) << kernels[i].name << ": " << reason;
    }
    EXPECT_GT(transposed, 0) << clock_mhz << " MHz";
  }
}

}  // namespace
}  // namespace sptc::run
