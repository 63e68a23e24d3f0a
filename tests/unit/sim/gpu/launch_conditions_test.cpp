// SPDX-License-Identifier: Apache-2.0
// What the conditions of a launch change: what DRAM waits for, and the clock.
#include "sim/kernels/launch_conditions.h"

#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gemm_simulator.h"

#include <gtest/gtest.h>

namespace sptc::gpu {
namespace {

using numerics::DataType;

TEST(LaunchConditions, LaunchAfterLaunchDIsWhatDramWaitsFor) {
  // An L4 writes D for 3.3 us, and would multiply for 2.1.
  const GpuSpec gpu = config::load_architecture("l4").gpu;
  const kernels::GemmProblem problem{{627, 1852, 64}, 1, DataType::kF16, false};
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
  kernels::GemmProblem problem{{8192, 64, 8192}, 1, DataType::kF16, false};  // DRAM bounds it
  const GemmRun of_run = simulator.run(problem, {}, nullptr);
  problem.conditions.clock_mhz = 900;
  const GemmRun slower = simulator.run(problem, {}, nullptr);
  EXPECT_EQ(of_run.clock_mhz, 1200);
  EXPECT_EQ(slower.clock_mhz, 900);
  EXPECT_LT(slower.cycles, of_run.cycles);
}

}  // namespace
}  // namespace sptc::gpu
