// SPDX-License-Identifier: Apache-2.0
// The closed form of the simulator against the simulator, on shapes that it was not fitted to.
#include "sim/config/architecture.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/kernels/kernel_estimate.h"
#include "tests/support/ratchet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace sptc::fidelity {
namespace {

struct Row {
  base::GemmShape shape;
  bool sparse;
};

/// Of one launch; the mean is what may not grow. Small launches of a B200 with a warm L2 are
/// furthest: the first tiles of all SMs come from the partition that owns them, one behind the
/// other.
constexpr double kMost = 0.25;

/// Mean distance of the closed form of the simulated SM from the cycles of SystemC.
double mean_distance(const char* name, const std::vector<Row>& rows, kernels::L2State l2 = {}) {
  const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
  gpu::GemmSimulator simulator(gpu, {true});
  double sum = 0;
  for (const auto& [shape, sparse] : rows) {
    kernels::GemmProblem problem{shape, 1, numerics::DataType::kF16, sparse};
    problem.conditions.l2 = l2;
    const kernels::GemmKernel kernel = kernels::choose_kernel(problem, {}, gpu.kernel_target(), false);
    const kernels::KernelEstimate form = kernels::estimate(kernel, gpu.kernel_target());
    const double expected = (form.time_us(1) - form.outside_us()) * gpu.boost_clock_mhz;
    const auto cycles = static_cast<double>(simulator.run(problem, {}, nullptr).cycles);
    const double off = expected / cycles - 1;
    std::printf("%lld x %lld x %lld%s: %.0f cycles, closed form %+.1f %%\n", static_cast<long long>(shape.m),
                static_cast<long long>(shape.n), static_cast<long long>(shape.k), sparse ? " 2:4" : "", cycles,
                100 * off);
    EXPECT_LE(std::abs(off), kMost) << shape.m << "x" << shape.n << "x" << shape.k;
    sum += std::abs(off);
  }
  std::printf("mean %.1f %%\n", 100 * sum / static_cast<double>(rows.size()));
  return sum / static_cast<double>(rows.size());
}

TEST(ClosedForm, LiesNearTheSimulatedA100) {
  support::expect_no_worse("A100 closed form from SystemC mean %",
                           100 * mean_distance("a100-sxm4-80gb", {{{768, 3072, 768}, false},
                                                                  {{3072, 1500, 768}, false},
                                                                  {{2304, 577, 2304}, false},
                                                                  {{64, 12544, 576}, false},
                                                                  {{512, 196, 4608}, false},
                                                                  {{1000, 32, 2048}, false},
                                                                  {{6656, 17, 6656}, false},
                                                                  {{320, 320, 16384}, false},
                                                                  {{5000, 5000, 5000}, false},
                                                                  {{18944, 900, 3584}, false},
                                                                  {{3072, 1500, 768}, true},
                                                                  {{5000, 5000, 5000}, true}}));
}

TEST(ClosedForm, LiesNearTheSimulatedA40) {
  support::expect_no_worse("A40 closed form from SystemC mean %",
                           100 * mean_distance("a40", {{{2304, 577, 2304}, false},
                                                       {{768, 3072, 768}, false},
                                                       {{5000, 5000, 5000}, false},
                                                       {{2304, 577, 2304}, true},
                                                       {{5000, 5000, 5000}, true}}));
}

constexpr kernels::L2State kWarm{kernels::L2State::Kind::kWarm, 1};

// Operands that the launch before has left in the L2 come from there, with its latency.
TEST(ClosedForm, LiesNearAnH100WhoseL2HoldsTheOperands) {
  support::expect_no_worse("warm H100 closed form from SystemC mean %", 100 * mean_distance("h100-sxm5-80gb",
                                                                                            {{{1024, 128, 1024}, false},
                                                                                             {{1024, 128, 1024}, true},
                                                                                             {{4096, 64, 2048}, false},
                                                                                             {{4096, 64, 2048}, true},
                                                                                             {{768, 2048, 4096}, false},
                                                                                             {{768, 2048, 4096}, true},
                                                                                             {{512, 512, 1024}, false},
                                                                                             {{512, 512, 1024}, true}},
                                                                                            kWarm));
}

TEST(ClosedForm, LiesNearAB200WhoseL2HoldsTheOperands) {
  support::expect_no_worse("warm B200 closed form from SystemC mean %", 100 * mean_distance("b200",
                                                                                            {{{768, 2048, 4096}, false},
                                                                                             {{768, 2048, 4096}, true},
                                                                                             {{512, 512, 1024}, false},
                                                                                             {{512, 512, 1024}, true},
                                                                                             {{512, 1024, 512}, false},
                                                                                             {{512, 1024, 512}, true}},
                                                                                            kWarm));
}

TEST(ClosedForm, TimesOfSparseLaunchesNeverHalveThoseOfDenseOnes) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  gpu::GemmSimulator simulator(gpu, {true});
  for (const base::GemmShape& shape : {base::GemmShape{8192, 8192, 8192},
                                       {4096, 4096, 4096},
                                       {28672, 2048, 8192},
                                       {10240, 10240, 20480},
                                       {8192, 8, 8192}}) {
    double time_us[2] = {};
    for (const bool sparse : {false, true}) {
      const gpu::GemmRun run = simulator.run({shape, 1, numerics::DataType::kF16, sparse}, {}, nullptr);
      time_us[sparse ? 1 : 0] = static_cast<double>(run.cycles) / run.clock_mhz + run.launch_us;
    }
    EXPECT_LT(time_us[0], 2 * time_us[1]) << shape.m << "x" << shape.n << "x" << shape.k;
    EXPECT_GT(time_us[0], time_us[1]) << shape.m << "x" << shape.n << "x" << shape.k;
  }
}

}  // namespace
}  // namespace sptc::fidelity
