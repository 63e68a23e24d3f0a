// SPDX-License-Identifier: Apache-2.0
// Every number of an architecture at either end of what its file may say gives a launch a time, or
// is refused: no crash, no internal error, nothing that is not finite, no SM beyond its peak.
#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/derivation.h"
#include "sim/gpu/analytic_gemm.h"
#include "tests/support/in_child.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace sptc::sim {
namespace {

/// The shipped design with one other number; nothing where the two together are refused.
std::optional<GpuSpec> design(const std::string& gpu, const ArchitectureField& field,
                              double value) {
  nlohmann::json document = load_architecture_document(gpu);
  const nlohmann::json number =
      field.integer ? nlohmann::json(std::llround(value)) : nlohmann::json(value);
  set_parameter(document, std::string(field.section) + "/" + std::string(field.key), number, "end");
  try {
    return to_architecture(document, gpu).gpu;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

enum class Outcome { kTimed, kRefused, kWrong };

Outcome judged(const GemmRun& run) {
  const double us = static_cast<double>(run.cycles) / run.clock_mhz + run.outside_us;
  const bool sane = std::isfinite(us) && us > 0 && std::isfinite(run.calibration_us) &&
                    std::isfinite(run.budget.tensor) &&
                    run.budget.tensor <= 1.001 * static_cast<double>(run.cycles);
  return sane ? Outcome::kTimed : Outcome::kWrong;
}

template <typename Simulate>
Outcome outcome_of(const Simulate& simulate) {
  try {
    return judged(simulate());
  } catch (const InputError&) {
    return Outcome::kRefused;
  } catch (const std::exception&) {
    return Outcome::kWrong;
  }
}

/// Dense and sparse, in closed form and of SystemC.
std::vector<Outcome> outcomes_of(const GpuSpec& gpu) {
  GemmSimulator simulator(gpu, {});
  std::vector<Outcome> outcomes;
  for (const bool sparse : {false, true}) {
    const GemmProblem problem{{200, 96, 256}, 1, numerics::DataType::kF16, sparse};
    outcomes.push_back(outcome_of([&] { return analytic_gemm(problem, {}, gpu, {}); }));
    outcomes.push_back(outcome_of([&] { return simulator.run(problem, {}, nullptr); }));
  }
  return outcomes;
}

class ArchitectureEnds : public ::testing::TestWithParam<const char*> {};

TEST_P(ArchitectureEnds, GiveATimeOrAreRefused) {
  const std::string name = GetParam();
  int timed = 0;
  for (const ArchitectureField& field : architecture_fields()) {
    for (const double value : {field.min(), field.max}) {
      const std::optional<GpuSpec> gpu = design(name, field, value);
      if (!gpu) {
        continue;
      }
      SCOPED_TRACE(std::string(field.section) + "/" + std::string(field.key) + " = " +
                   std::to_string(value));
      const std::vector<Outcome> outcomes =
          in_child<Outcome>(4, [&gpu = *gpu] { return outcomes_of(gpu); });
      for (const Outcome outcome : outcomes) {
        EXPECT_NE(outcome, Outcome::kWrong);
        timed += outcome == Outcome::kTimed ? 1 : 0;
      }
    }
  }
  EXPECT_GT(timed, 200);
}

INSTANTIATE_TEST_SUITE_P(Gpus, ArchitectureEnds,
                         ::testing::Values("a100-sxm4-80gb", "h100-sxm5-80gb", "v100-sxm2-16gb"));

}  // namespace
}  // namespace sptc::sim
