// SPDX-License-Identifier: Apache-2.0
// Every number of an architecture at either end of what its file may say gives a launch a time, or
// is one of those that are refused: no crash, no internal error, nothing that is not finite, no SM
// beyond its peak.
#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/derivation.h"
#include "sim/config/documented_architecture.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/support/in_child.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sptc::property {
namespace {

/// The shipped design with one other number; nothing where the two together are refused.
std::optional<gpu::GpuSpec> design(const std::string& gpu, const config::ArchitectureField& field, double value) {
  nlohmann::json document = config::load_documented_architecture(gpu).document;
  const nlohmann::json number = field.integer ? nlohmann::json(std::llround(value)) : nlohmann::json(value);
  config::set_parameter(document, std::string(field.section) + "/" + std::string(field.key), number, "end");
  try {
    return config::to_architecture(document, gpu).gpu;
  } catch (const base::InputError&) {
    return std::nullopt;
  }
}

enum class Outcome { kTimed, kRefused, kWrong };

Outcome judged(const gpu::GemmRun& run) {
  const double us = static_cast<double>(run.cycles) / run.clock_mhz + run.launch_us;
  const bool sane = std::isfinite(us) && us > 0 && std::isfinite(run.budget.tensor) &&
                    run.budget.tensor <= 1.001 * static_cast<double>(run.cycles);
  return sane ? Outcome::kTimed : Outcome::kWrong;
}

template <typename Simulate>
Outcome outcome_of(const Simulate& simulate) {
  try {
    return judged(simulate());
  } catch (const base::InputError&) {
    return Outcome::kRefused;
  } catch (const std::exception&) {
    return Outcome::kWrong;
  }
}

/// Dense, and sparse where the GPU has that, in closed form and of SystemC.
std::vector<Outcome> outcomes_of(const gpu::GpuSpec& gpu, bool has_sparse) {
  gpu::GemmSimulator simulator(gpu, {});
  std::vector<Outcome> outcomes;
  for (const bool sparse : has_sparse ? std::vector{false, true} : std::vector{false}) {
    const kernels::GemmProblem problem{{200, 96, 256}, 1, numerics::DataType::kF16, sparse};
    outcomes.push_back(outcome_of([&] { return gpu::analytic_gemm(problem, {}, gpu, {}); }));
    outcomes.push_back(outcome_of([&] { return simulator.run(problem, {}, nullptr); }));
  }
  return outcomes;
}

/// Ends that are refused when a kernel is chosen, and why; all others that a file may have are
/// timed.
std::set<std::string> refused_ends(const gpu::GpuSpec& gpu) {
  std::set<std::string> ends{
      "sub_partitions max",                   // too few registers in each
      "registers min",                        // none for one CTA
      "max_registers_per_thread min",         // too few for accumulators
      "max_shared_memory_per_cta_bytes min",  // not one stage
      "reserved_shared_memory_per_cta_bytes max",
      "shared_memory_allocation_bytes max",
  };
  if (gpu.sm.async_mma_interval_cycles() == 0) {  // else the shape is that of wgmma
    // Larger than any warp tile, deeper than any tile.
    ends.insert({"mma_m max", "mma_n max", "mma_k_bytes max"});
  }
  if (gpu.sm.tensor_core.selector_inputs > 1) {
    ends.insert("selector_inputs min");  // 2:4 needs four
  }
  return ends;
}

class ArchitectureEnds : public ::testing::TestWithParam<const char*> {};

TEST_P(ArchitectureEnds, GiveATimeOrAreThoseThatNoKernelFits) {
  const std::string name = GetParam();
  const gpu::GpuSpec shipped = config::load_architecture(name).gpu;
  const bool has_sparse = shipped.sm.tensor_core.selector_inputs > 1;
  int timed = 0;
  std::set<std::string> refused;
  for (const config::ArchitectureField& field : config::architecture_fields()) {
    for (const double value : {field.min(), field.max}) {
      const std::optional<gpu::GpuSpec> gpu = design(name, field, value);
      if (!gpu) {
        continue;
      }
      const std::string end = std::string(field.key) + (value == field.max ? " max" : " min");
      const std::vector<Outcome> outcomes = support::in_child<Outcome>(
          has_sparse ? 4 : 2, [&gpu = *gpu, has_sparse] { return outcomes_of(gpu, has_sparse); });
      for (const Outcome outcome : outcomes) {
        EXPECT_NE(outcome, Outcome::kWrong) << end;
        timed += outcome == Outcome::kTimed ? 1 : 0;
        if (outcome == Outcome::kRefused) {
          refused.insert(end);
        }
      }
    }
  }
  EXPECT_EQ(refused, refused_ends(shipped));
  // Of 410, 414 and 210: fewer where a file is refused that was not.
  EXPECT_GE(timed, has_sparse ? 410 : 210);
}

INSTANTIATE_TEST_SUITE_P(Gpus, ArchitectureEnds,
                         ::testing::Values("a100-sxm4-80gb", "h100-sxm5-80gb", "v100-sxm2-16gb"));

}  // namespace
}  // namespace sptc::property
