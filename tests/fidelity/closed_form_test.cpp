// SPDX-License-Identifier: Apache-2.0
// The closed form of the simulator against the simulator, on shapes that it was not fitted to.
#include "sim/config/architecture.h"
#include "sim/gemm/kernel_choice.h"
#include "sim/gemm/kernel_estimate.h"
#include "sim/gpu/gemm_simulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

namespace sptc::sim {
namespace {

TEST(ClosedForm, FollowsTheSimulatorWithinTenPercentOnAverage) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  GemmSimulator simulator(gpu, {GemmSimulator::Sms::kSampled, true, ""});
  double sum = 0;
  int count = 0;
  for (const GemmShape& shape : {GemmShape{768, 3072, 768},
                                 {3072, 1500, 768},
                                 {2304, 577, 2304},
                                 {64, 12544, 576},
                                 {512, 196, 4608},
                                 {1000, 32, 2048},
                                 {6656, 17, 6656},
                                 {320, 320, 16384},
                                 {5000, 5000, 5000},
                                 {18944, 900, 3584}}) {
    const GemmProblem problem{shape, 1, numerics::DataType::kF16, false};
    const GemmKernel kernel = choose_kernel(problem, {}, gpu.kernel_target(), false);
    const KernelEstimate form = simulated_estimate(kernel, gpu.kernel_target());
    const double expected = (form.time_us(1) - form.outside_us()) * gpu.boost_clock_mhz;
    const auto cycles = static_cast<double>(simulator.run(problem, {}, nullptr).cycles);
    std::printf("%lld x %lld x %lld: %.0f cycles, closed form %+.1f %%\n",
                static_cast<long long>(shape.m), static_cast<long long>(shape.n),
                static_cast<long long>(shape.k), cycles, 100 * (expected / cycles - 1));
    sum += std::abs(expected / cycles - 1);
    ++count;
  }
  std::printf("mean %.1f %%\n", 100 * sum / count);
  EXPECT_LE(sum / count, 0.10);
}

TEST(ClosedForm, CalibratedTimesOfSparseLaunchesNeverHalveThoseOfDenseOnes) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  GemmSimulator simulator(gpu, {GemmSimulator::Sms::kSampled, true, ""});
  for (const GemmShape& shape : {GemmShape{8192, 8192, 8192},
                                 {4096, 4096, 4096},
                                 {28672, 2048, 8192},
                                 {10240, 10240, 20480},
                                 {8192, 8, 8192}}) {
    double time_us[2] = {};
    for (const bool sparse : {false, true}) {
      const GemmRun run = simulator.run({shape, 1, numerics::DataType::kF16, sparse}, {}, nullptr);
      time_us[sparse ? 1 : 0] =
          static_cast<double>(run.cycles) / run.clock_mhz + run.calibration_us;
    }
    EXPECT_LT(time_us[0], 2 * time_us[1]) << shape.m << "x" << shape.n << "x" << shape.k;
    EXPECT_GT(time_us[0], time_us[1]) << shape.m << "x" << shape.n << "x" << shape.k;
  }
}

}  // namespace
}  // namespace sptc::sim
