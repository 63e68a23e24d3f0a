// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sptc::gpu {
namespace {

using numerics::DataType;

/// A launch, drawn at random: some do not fit their GPU.
struct Launch {
  kernels::GemmProblem problem;
  kernels::KernelOverrides overrides;

  explicit Launch(std::mt19937& random) {
    const auto one_of = [&](const auto& values) {
      return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
    };
    const auto extent = [&](std::int64_t step, std::int64_t most) {
      return step * std::uniform_int_distribution<std::int64_t>(1, most / step)(random);
    };
    const std::vector<std::int64_t> steps{1, 64};
    problem.shape = {extent(one_of(steps), 4096), extent(one_of(steps), 4096), extent(one_of(steps), 8192)};
    problem.batch = one_of(std::vector<std::int64_t>{1, 1, 1, 3});
    problem.dtype = one_of(std::vector{DataType::kF16, DataType::kF16, DataType::kS8, DataType::kTf32});
    problem.sparse = one_of(std::vector{false, true});
    switch (one_of(std::vector{0, 0, 1, 2, 3, 4})) {
      case 1:
        overrides.cta_tile =
            base::GemmShape{one_of(std::vector<std::int64_t>{32, 64, 128}),
                            one_of(std::vector<std::int64_t>{32, 64, 128}), one_of(std::vector<std::int64_t>{32, 64})};
        break;
      case 2:
        overrides.split_k = one_of(std::vector{2, 3, 5});
        break;
      case 3:
        overrides.decomposition = kernels::Decomposition::kStreamK;
        break;
      case 4:
        overrides.stages = one_of(std::vector{1, 2, 3});
        break;
      default:
        break;
    }
  }

  std::string name() const {
    const base::GemmShape& shape = problem.shape;
    return std::to_string(shape.m) + " " + std::to_string(shape.n) + " " + std::to_string(shape.k) + " x " +
           std::to_string(problem.batch) + " " + std::string(numerics::name(problem.dtype)) +
           (problem.sparse ? " sparse" : " dense");
  }
};

/// One rate of a GPU, changed.
struct Change {
  std::string name;
  void (*apply)(GpuSpec&);
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all{
      {"shipped", [](GpuSpec&) {}},
      {"half the banks", [](GpuSpec& gpu) { gpu.sm.shared_memory_banks /= 2; }},
      {"twice the banks", [](GpuSpec& gpu) { gpu.sm.shared_memory_banks *= 2; }},
      {"half the L2's rate", [](GpuSpec& gpu) { gpu.memory.l2_bytes_per_cycle /= 2; }},
      {"half the port", [](GpuSpec& gpu) { gpu.memory.sm_port_bytes_per_cycle /= 2; }},
      {"a quarter of DRAM", [](GpuSpec& gpu) { gpu.memory.dram_gb_per_s /= 4; }},
      {"four times DRAM", [](GpuSpec& gpu) { gpu.memory.dram_gb_per_s *= 4; }},
      {"twice the tensor cores",
       [](GpuSpec& gpu) {
         gpu.sm.tensor_core.dot_units *= 2;
         gpu.sm.tensor_core.f32_dot_units *= 2;
       }},
      {"half the operand port", [](GpuSpec& gpu) { gpu.sm.tensor_core.operand_a_port_bytes_per_cycle /= 2; }},
      {"half the SMs", [](GpuSpec& gpu) { gpu.sms = (gpu.sms + 1) / 2; }},
  };
  return all;
}

std::optional<GemmRun> run(const Launch& launch, const GpuSpec& gpu) {
  try {
    return analytic_gemm(launch.problem, launch.overrides, gpu, {});
  } catch (const base::InputError&) {
    return std::nullopt;
  }
}

/// No resource of the busiest SM, nor the L2 or DRAM, works longer than the launch takes.
void expect_enough_cycles(const GemmRun& run, const std::string& launch) {
  const CycleBudget& busy = run.budget;
  for (const double cycles : {busy.tensor + busy.operand_fetch, busy.shared_memory, busy.sm_port, busy.l2, busy.dram}) {
    EXPECT_LE(cycles, static_cast<double>(run.cycles) + 1) << launch;
  }
}

TEST(BusyCycles, AreNoMoreThanTheCyclesOfTheClosedForm) {
  constexpr int kLaunches = 100;
  for (const std::string& name : config::architecture_names()) {
    std::mt19937 random(1);
    const GpuSpec shipped = config::load_architecture(name).gpu;
    int launched = 0;
    for (int i = 0; i < kLaunches; ++i) {
      const Launch launch(random);
      for (const Change& change : changes()) {
        GpuSpec gpu = shipped;
        change.apply(gpu);
        if (const auto result = run(launch, gpu)) {
          ++launched;
          expect_enough_cycles(*result, name + " " + change.name + " " + launch.name());
        }
      }
    }
    EXPECT_GT(launched, kLaunches) << name;
  }
}

}  // namespace
}  // namespace sptc::gpu
