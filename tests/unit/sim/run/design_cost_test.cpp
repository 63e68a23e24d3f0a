// SPDX-License-Identifier: Apache-2.0
#include "sim/run/design_cost.h"

#include "models/sparsity/weight_pattern.h"
#include "sim/config/architecture.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/energy.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/run/what_if.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace sptc::run {
namespace {

using numerics::DataType;

const config::Architecture& a100() {
  static const config::Architecture architecture = config::load_architecture("a100-sxm4-80gb");
  return architecture;
}

gpu::GpuSpec with(std::string_view key, double value) {
  gpu::GpuSpec gpu = a100().gpu;
  for (const config::ArchitectureField& field : config::architecture_fields()) {
    if (field.key == key) {
      field.store(gpu, value);
    }
  }
  return gpu;
}

double value_of(std::string_view key) {
  const auto found = std::ranges::find_if(a100().parameters, [&](const config::Parameter& parameter) {
    return parameter.pointer.ends_with("/" + std::string(key));
  });
  return found->value;
}

double area(const gpu::GpuSpec& gpu) {
  static const energy::AreaTable table = config::load_energy("a100-sxm4-80gb").config.area;
  return gpu_area(gpu, table).total_mm2();
}

TEST(DesignCost, OfTheHardwareIsOne) {
  for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
    const DesignCost cost = design_cost(a100().gpu, type);
    EXPECT_EQ(cost.align_add, 1);
    EXPECT_EQ(cost.round, 1);
    EXPECT_EQ(cost.rounds, 1);
    EXPECT_EQ(cost.operand_select, 1);
  }
}

TEST(DesignCost, FollowsTheWidthOfAddersAndTheNumberOfRoundings) {
  // 24 fraction bits, sign, two integer bits, and 4 for the carries of 8 + 1 addends.
  const DesignCost narrow = design_cost(with("accumulator_fraction_bits", 12), DataType::kF16);
  EXPECT_DOUBLE_EQ(narrow.align_add, (12 + 3 + 4) / double{24 + 3 + 4});
  EXPECT_DOUBLE_EQ(narrow.rounds, 1);
  const DesignCost wide = design_cost(with("accumulator_step_bytes", 32), DataType::kF16);
  EXPECT_DOUBLE_EQ(wide.rounds, 0.5);
  EXPECT_DOUBLE_EQ(wide.align_add, (24 + 3 + 5) / double{24 + 3 + 4});
  EXPECT_DOUBLE_EQ(design_cost(with("accumulator_fraction_bits", 12), DataType::kS8).align_add, 1)
      << "sums of integers are exact";
  EXPECT_DOUBLE_EQ(design_cost(with("selector_inputs", 8), DataType::kF16).operand_select, 2);
}

// Every number of an architecture: whether more of it takes more silicon.
TEST(GpuArea, GrowsWithWhatIsSiliconAndWithNothingElse) {
  const std::map<std::string, std::pair<double, char>, std::less<>> expected{
      {"sms", {120, '>'}},
      {"sub_partitions", {8, '>'}},
      {"registers", {131072, '>'}},
      {"shared_memory_bytes", {262144, '>'}},
      {"dot_units", {64, '>'}},
      {"dot_width_bytes", {32, '>'}},
      {"selector_inputs", {8, '>'}},
      {"selector_kept", {1, '>'}},  // more candidates for each multiplier
      {"mma_m", {32, '>'}},         // its metadata is held
      {"mma_k_bytes", {64, '>'}},
      {"accumulator_fraction_bits", {28, '>'}},
      {"accumulator_step_bytes", {8, '>'}},  // narrower adders, but twice the rounders
      {"instruction_window", {8, '>'}},
      {"l2_capacity_bytes", {83886080, '>'}}};
  const double usual = area(a100().gpu);
  EXPECT_GT(usual, 0);
  for (const config::ArchitectureField& field : config::architecture_fields()) {
    const auto found = expected.find(field.key);
    if (found == expected.end()) {
      EXPECT_EQ(area(with(field.key, 2 * std::max(1.0, value_of(field.key)))), usual) << field.key;
    } else {
      const auto& [value, direction] = found->second;
      const double changed = area(with(field.key, value));
      EXPECT_GT(direction == '>' ? changed - usual : usual - changed, 0) << field.key;
    }
  }
}

TEST(WeightsExecution, IsTheHardwaresWhereNothingIsAskedFor) {
  const sparsity::PatternExecution tf32 = weights_execution({}, DataType::kTf32, a100().gpu);
  EXPECT_EQ(tf32.instruction, (sparsity::Pattern{1, 2, 1}));
  EXPECT_EQ(tf32.executed_k(7), 8);
}

TEST(GpuArea, OfASelectorByHand) {
  const energy::AreaTable table = config::load_energy("a100-sxm4-80gb").config.area;
  const energy::TensorCoreArea core = gpu_area(a100().gpu, table).tensor_core;
  const double mux = 16 * table.mux_um2_per_input_bit, bit = table.flip_flop_um2;
  // Four instructions of 16 x 16 kept elements with indices of two bits are in the core.
  EXPECT_DOUBLE_EQ(core.selector_um2 + core.metadata_um2, 256 * 4 * mux + 256 * 16 * bit + 4 * 512 * bit);
}

using numerics::DataType;

constexpr double kMhz = 1200;

double time_us(const kernels::GemmProblem& problem, const gpu::GpuSpec& gpu, double mhz) {
  const gpu::GemmRun run =
      gpu::analytic_gemm(problem, {base::GemmShape{128, 128, 32}, 4, 1}, gpu, gpu::ClockPolicy::fixed(mhz));
  return static_cast<double>(run.cycles) / run.clock_mhz + run.launch_us;
}

TEST(WhatIf, IsWhatADesignWithTwiceOfAResourceTakesWithTheSameKernel) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  // 216 CTAs, two on each SM.
  const kernels::GemmProblem problem{{2304, 1536, 4096}, 1, DataType::kF16, false};
  const gpu::GemmRun run =
      gpu::analytic_gemm(problem, {base::GemmShape{128, 128, 32}, 4, 1}, gpu, gpu::ClockPolicy::fixed(kMhz));
  const WhatIf gains = what_if(problem, run.kernel, kMhz, gpu);
  const double now_us = time_us(problem, gpu, kMhz);
  gpu::GpuSpec twice = gpu;
  twice.memory.dram_gb_per_s *= 2;
  EXPECT_DOUBLE_EQ(gains[Resource::kDram], now_us / time_us(problem, twice, kMhz));
  twice = gpu;
  twice.sm.tensor_core.dot_units *= 2;
  twice.sm.tensor_core.f32_dot_units *= 2;
  twice.sm.tensor_core.selector_bytes_per_cycle *= 2;
  twice.sm.tensor_core.operand_a_port_bytes_per_cycle *= 2;
  twice.sm.tensor_core.operand_b_port_bytes_per_cycle *= 2;
  twice.sm.tensor_core.accumulator_port_bytes_per_cycle *= 2;
  twice.sm.tensor_core.register_bank_bytes_per_cycle *= 2;
  EXPECT_DOUBLE_EQ(gains[Resource::kTensor], now_us / time_us(problem, twice, kMhz));
  twice = gpu;
  twice.sms *= 2;
  EXPECT_DOUBLE_EQ(gains[Resource::kSms], now_us / time_us(problem, twice, kMhz));
  EXPECT_DOUBLE_EQ(gains[Resource::kClock], now_us / time_us(problem, gpu, 2 * kMhz));
  // The L2 is nearly as long at work.
  EXPECT_GT(gains[Resource::kTensor], 1.05);
  EXPECT_EQ(gains.bound_by(), Resource::kTensor);
  EXPECT_GT(gains[Resource::kLaunch], 1);
  EXPECT_EQ(gains[Resource::kGrid], 1);
}

TEST(WhatIf, NamesTheGridWhereSmsHaveNoCta) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  // 64 CTAs of 256x128 on 108 SMs, and 128 of them, of which 20 come second.
  for (const std::int64_t n : {512, 1024}) {
    const kernels::GemmProblem problem{{4096, n, 4096}, 1, DataType::kF16, false};
    const gpu::GemmRun run =
        gpu::analytic_gemm(problem, {base::GemmShape{256, 128, 32}, 3, 1}, gpu, gpu::ClockPolicy::fixed(kMhz));
    ASSERT_EQ(run.kernel.ctas, n / 8);
    ASSERT_EQ(run.kernel.ctas_per_sm, 1);
    const WhatIf gains = what_if(problem, run.kernel, kMhz, gpu);
    EXPECT_EQ(gains.bound_by(), Resource::kGrid);
    EXPECT_NEAR(gains[Resource::kGrid], n == 512 ? 108.0 / 64 : 216.0 / 128, 0.12);
  }
}

TEST(WhatIf, NamesTheResourceThatGainsMost) {
  struct Case {
    base::GemmShape shape;
    bool sparse;
    std::string bound_by;
  };
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  for (const Case& c :
       {Case{{8192, 8192, 8192}, false, "tensor"}, {{8192, 1, 8192}, true, "hbm"}, {{64, 64, 64}, false, "launch"}}) {
    const kernels::GemmProblem problem{c.shape, 1, DataType::kF16, c.sparse};
    const gpu::GemmRun run = gpu::analytic_gemm(problem, {}, gpu, {});
    const WhatIf gains = what_if(problem, run.kernel, run.clock_mhz, gpu);
    EXPECT_EQ(name_of(gains.bound_by()).report, c.bound_by);
  }
  WhatIf clock;
  clock.speedup.fill(1);
  clock.speedup.back() = 1.9;
  clock.speedup[3] = 1.1;
  EXPECT_EQ(clock.bound_by(), Resource::kL2) << "SMs and clock are several resources at once";
}

TEST(WhatIf, NamesTheLaunchWhereThatTakesMostOfTheTime) {
  gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  kernels::GemmProblem problem{{64, 64, 64}, 864, DataType::kF16, false};  // on all SMs
  problem.conditions.l2.kind = kernels::L2State::Kind::kWarm;
  for (const double launch_us : {1000, 0}) {
    gpu.launch.launch_us = launch_us;
    gpu.launch.stream_us = 0;
    const gpu::GemmRun run = gpu::analytic_gemm(problem, {}, gpu, {});
    EXPECT_EQ(what_if(problem, run.kernel, run.clock_mhz, gpu).bound_by() == Resource::kLaunch, launch_us > 0);
  }
}

TEST(WhatIf, HalfTheTimeOfALaunchIsHalfOfWhatTheStreamAddsToo) {
  gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  gpu.launch.launch_us = gpu.launch.reduction_launch_us = 0;
  gpu.launch.stream_us = 8;
  gpu.launch.sparse_stream_us = 16;
  for (const bool sparse : {false, true}) {
    const kernels::GemmProblem problem{{64, 64, 64}, 1, DataType::kF16, sparse};
    const gpu::GemmRun run = gpu::analytic_gemm(problem, {}, gpu, {});
    const double now_us = static_cast<double>(run.cycles) / run.clock_mhz + run.launch_us;
    EXPECT_DOUBLE_EQ(what_if(problem, run.kernel, run.clock_mhz, gpu)[Resource::kLaunch],
                     now_us / (now_us - (sparse ? 8 : 4)));
  }
}

}  // namespace
}  // namespace sptc::run
