// SPDX-License-Identifier: Apache-2.0
// What the conditions of a launch change: what the L2 holds, and the clock.
#include "sim/kernels/launch_conditions.h"

#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/support/in_child.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sptc::gpu {
namespace {

using numerics::DataType;

/// A launch, with what the L2 holds of its operands.
kernels::GemmProblem with_l2(const kernels::L2State& state,
                             const base::GemmShape& shape = {512, 512, 4096}) {
  kernels::GemmProblem problem{shape, 1, DataType::kF16, false};
  problem.conditions.l2 = state;
  return problem;
}

TEST(LaunchConditions, AWarmL2AnswersWhatAColdOneReadsFromDram) {
  const GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  const auto cycles_and_dram = [&](const kernels::L2State& state) {
    return support::in_child<std::int64_t>(2, [&] {
      const GemmRun run = GemmSimulator(gpu, {false}).run(with_l2(state), {}, nullptr);
      return std::vector{run.cycles, run.traffic.l2_and_dram.dram_read};
    });
  };
  const auto cold = cycles_and_dram({});
  const auto warm = cycles_and_dram({kernels::L2State::Kind::kWarm, 1});
  // Weights of 4 MiB each: 64 of them leave nothing of one another in 40 MiB.
  const auto rotated = cycles_and_dram({kernels::L2State::Kind::kRotate, 64});
  EXPECT_EQ(cold[1], 2 * 2 * 512 * 4096);  // A and B, once each
  EXPECT_LT(warm[1], cold[1] / 20);
  EXPECT_LT(warm[0], cold[0]);
  // All of A, and little of B.
  EXPECT_GE(rotated[1], cold[1] / 2);
  EXPECT_LT(rotated[1], cold[1] * 11 / 20);
  EXPECT_LT(rotated[0], cold[0]);
  EXPECT_LT(warm[0], rotated[0]);
}

TEST(LaunchConditions, LaunchAfterLaunchDIsWhatDramWaitsFor) {
  // An L4 writes D for 3.3 us, and would multiply for 2.1.
  const GpuSpec gpu = config::load_architecture("l4").gpu;
  const kernels::GemmProblem problem = with_l2({}, {627, 1852, 64});
  GemmSimulator simulator(gpu, {false});
  const auto all = static_cast<double>(simulator.run(problem, {}, nullptr).cycles);
  const auto form = static_cast<double>(analytic_gemm(problem, {}, gpu, {}).cycles);
  EXPECT_NEAR(form / all, 1, 0.1);
  // Between two launches DRAM goes on.
  const double d_us = 2.0 * 627 * 1852 / (gpu.memory.dram_bytes_per_cycle(1));
  EXPECT_GT(all / gpu.boost_clock_mhz, 0.9 * (d_us - gpu.launch.launch_us - gpu.launch.stream_us));
}

TEST(LaunchConditions, TheClockOfALaunchIsThatOfItsConditionsBeforeThatOfTheRun) {
  GemmSimulator::Options options;
  options.clock = ClockPolicy::fixed(1200);
  GemmSimulator simulator(config::load_architecture("a100-sxm4-80gb").gpu, options);
  kernels::GemmProblem problem = with_l2({}, {8192, 64, 8192});  // which DRAM bounds
  const GemmRun of_run = simulator.run(problem, {}, nullptr);
  problem.conditions.clock_mhz = 900;
  const GemmRun slower = simulator.run(problem, {}, nullptr);
  EXPECT_EQ(of_run.clock_mhz, 1200);
  EXPECT_EQ(slower.clock_mhz, 900);
  EXPECT_LT(slower.cycles, of_run.cycles);
}

}  // namespace
}  // namespace sptc::gpu
