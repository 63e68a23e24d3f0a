// SPDX-License-Identifier: Apache-2.0
// Cycles that were multiplied out of a detected period against the whole simulation, and what must
// hold of any cycles.
#include "sim/config/architecture.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/kernels/gemm_kernel.h"
#include "tests/support/in_child.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace sptc::fidelity {
namespace {

using numerics::DataType;

constexpr int kSms = 8;  // few, so that whole grids are simulated in seconds; SMs do not disturb each other

gpu::GpuSpec small_gpu() {
  gpu::GpuSpec spec = config::load_architecture("a100-sxm4-80gb").gpu;
  spec.sms = kSms;
  return spec;
}

const gpu::GemmSimulator::Options kNothingRaised{false};

std::vector<kernels::GemmProblem> shapes() {
  std::vector<kernels::GemmProblem> all;
  const auto both = [&](std::int64_t m, std::int64_t n, std::int64_t k, DataType type = DataType::kF16,
                        std::int64_t batch = 1) {
    all.push_back({{m, n, k}, batch, type, false});
    all.push_back({{m, n, k}, batch, type, true});
  };
  both(1024, 1024, 4096);  // deep
  both(3072, 2048, 512);   // many rounds
  both(2048, 3000, 1000);  // edges in every direction
  both(64, 64, 16384);     // one CTA, very deep
  both(4096, 768, 768);    // as in BERT-Base
  both(1536, 1536, 2048, DataType::kTf32);
  both(2048, 2048, 2048, DataType::kS8);
  both(1024, 512, 1536, DataType::kBf16, 3);
  both(997, 1009, 1013 * 4);
  both(1, 4096, 4096);
  both(4096, 1, 4096);
  both(4096, 4096, 4);
  both(1, 1, 4096 * 5);
  return all;
}

std::string describe(const kernels::GemmProblem& problem) {
  return std::to_string(problem.batch) + "x" + std::to_string(problem.shape.m) + "x" + std::to_string(problem.shape.n) +
         "x" + std::to_string(problem.shape.k) + " " + std::string(numerics::name(problem.dtype)) +
         (problem.sparse ? " sparse" : " dense");
}

struct Measured {
  std::int64_t cycles = 0;
  std::int64_t simulated = 0;
  bool extrapolated = false;
};

std::vector<Measured> measure(const gpu::GemmSimulator::Options& options,
                              const std::vector<kernels::GemmProblem>& problems) {
  gpu::GemmSimulator simulator(small_gpu(), options);
  std::vector<Measured> all;
  for (const kernels::GemmProblem& problem : problems) {
    const gpu::GemmRun run = simulator.run(problem, {}, nullptr);
    all.push_back({run.cycles, run.simulated.cycles, run.simulated.extrapolated});
  }
  return all;
}

std::vector<Measured> measure_in_child(const gpu::GemmSimulator::Options& options,
                                       const std::vector<kernels::GemmProblem>& problems) {
  return support::in_child<Measured>(problems.size(), [&] { return measure(options, problems); });
}

TEST(Extrapolation, StaysNearTheWholeSimulation) {
  const std::vector<kernels::GemmProblem> problems = shapes();
  ASSERT_GE(problems.size(), 25U);
  const auto whole = measure_in_child({false}, problems);
  const auto short_runs = measure({true}, problems);
  std::printf("%-36s %12s %12s %9s %7s\n", "GEMM", "whole", "extrapolated", "deviation", "saved");
  int extrapolated = 0;
  double worst = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const auto expected = static_cast<double>(whole[i].cycles);
    const double deviation = 100 * (static_cast<double>(short_runs[i].cycles) - expected) / expected;
    std::printf("%-36s %12lld %12lld %8.3f%% %6.1fx%s\n", describe(problems[i]).c_str(),
                static_cast<long long>(whole[i].cycles), static_cast<long long>(short_runs[i].cycles), deviation,
                expected / static_cast<double>(short_runs[i].simulated),
                short_runs[i].extrapolated ? "" : "  (simulated whole)");
    EXPECT_LE(std::abs(deviation), 5.5) << describe(problems[i]);
    worst = std::max(worst, std::abs(deviation));
    extrapolated += short_runs[i].extrapolated ? 1 : 0;
    if (!short_runs[i].extrapolated) {
      EXPECT_EQ(short_runs[i].cycles, whole[i].cycles) << describe(problems[i]);
    }
  }
  std::printf("worst deviation %.3f %%, %d of %zu extrapolated\n", worst, extrapolated, problems.size());
  EXPECT_GE(extrapolated, 10);
}

TEST(Extrapolation, CtasOfTheSecondFillThatBeginBesideThoseOfTheFirstAreCarriedOnTogether) {
  // Half the tensor rate: three CTAs of an SM take turns at the tensor cores, and the two that
  // follow begin beside the last of them.
  gpu::GpuSpec spec = config::load_architecture("a100-sxm4-80gb").gpu;
  spec.sm.tensor_core.dot_units /= 2;
  spec.sm.tensor_core.f32_dot_units /= 2;
  spec.sm.tensor_core.selector_bytes_per_cycle /= 2;
  kernels::KernelOverrides kernel;
  kernel.cta_tile = base::GemmShape{64, 128, 32};
  const auto cycles = [&](bool extrapolate) {
    return support::in_child<std::int64_t>(1,
                                           [&] {
                                             gpu::GemmSimulator simulator(spec, {extrapolate});
                                             const gpu::GemmRun run = simulator.run(
                                                 {{2048, 2048, 2048}, 1, DataType::kF16, false}, kernel, nullptr);
                                             EXPECT_EQ(run.simulated.extrapolated, extrapolate);
                                             return std::vector{run.cycles};
                                           })
        .front();
  };
  const auto whole = static_cast<double>(cycles(false));
  const double deviation = static_cast<double>(cycles(true)) / whole - 1;
  std::printf("%12.0f %8.3f%%\n", whole, 100 * deviation);
  // Of all SMs, which share a memory; of SMs with a memory of their own it was 2 %.
  EXPECT_LE(std::abs(deviation), 0.03);
}

/// Fraction by which the cycles of all SMs, carried on, differ from those of the whole simulation.
double deviation_of(const gpu::GpuSpec& spec, const kernels::GemmProblem& problem) {
  const auto cycles = [&](bool extrapolate) {
    return support::in_child<std::int64_t>(1,
                                           [&] {
                                             gpu::GemmSimulator simulator(spec, {extrapolate});
                                             const gpu::GemmRun run = simulator.run(problem, {}, nullptr);
                                             EXPECT_EQ(run.simulated.extrapolated, extrapolate) << describe(problem);
                                             return std::vector{run.cycles};
                                           })
        .front();
  };
  const auto whole = static_cast<double>(cycles(false));
  const auto carried_on = static_cast<double>(cycles(true));
  std::printf("%-36s %12.0f %12.0f %8.3f%%\n", describe(problem).c_str(), whole, carried_on,
              100 * (carried_on / whole - 1));
  return carried_on / whole - 1;
}

TEST(Extrapolation, AShorterGridKeepsNoMoreInTheL2FromWaveToWaveThanTheWhole) {
  // An eighth of an A100 with half the L2 rate, which bounds it: what is still in the partition
  // that is asked, from the wave before, saves the L2 a read by the other one.
  gpu::GpuSpec spec = config::load_architecture("a100-sxm4-80gb").gpu;
  spec.sms = 14;
  spec.memory.l2_capacity = base::Bytes(spec.memory.l2_capacity.count() / 8);
  spec.memory.l2_bytes_per_cycle /= 16;
  spec.memory.dram_gb_per_s /= 8;
  EXPECT_LE(std::abs(deviation_of(spec, {{1024, 1536, 2560}, 1, DataType::kF16, false})), 0.025);
}

TEST(Extrapolation, SmsThatShareAMemoryAreCarriedOnOnceTheirRoundsAreApart) {
  // In the second round all SMs copy and store at once; later the stores of some fall to the main
  // loops of others.
  const gpu::GpuSpec spec = config::load_architecture("a40").gpu;
  EXPECT_LE(std::abs(deviation_of(spec, {{4096, 4096, 448}, 1, DataType::kF16, false})), 0.02);
}

// --- what holds of any cycles
// ----------------------------------------------------------------------------------------

/// Multiply-accumulates per cycle of one SM at the type's rate.
double peak_macs_per_cycle(const sm::SmSpec& sm, DataType type) {
  return sm.sub_partitions * sm.tensor_core.dot_units * sm.tensor_core.dot_width_bytes * 8.0 /
         numerics::storage_bits(type);
}

void expect_invariants(gpu::GemmSimulator& simulator, const gpu::GpuSpec& spec, kernels::GemmProblem problem) {
  const std::int64_t useful = problem.batch * problem.shape.m * problem.shape.n * problem.shape.k;
  // Libraries split the K of 2:4 weights less than that of dense ones.
  const kernels::KernelOverrides unsplit{{}, {}, 1};
  problem.sparse = false;
  const gpu::GemmRun dense = simulator.run(problem, unsplit, nullptr);
  problem.sparse = true;
  const gpu::GemmRun sparse = simulator.run(problem, unsplit, nullptr);
  const std::string name = describe(problem);
  const double peak = kSms * peak_macs_per_cycle(spec.sm, problem.dtype);
  for (const gpu::GemmRun* run : {&dense, &sparse}) {
    const auto cycles = static_cast<double>(run->cycles);
    // The bound of the busiest SM is at least that of an even spread.
    EXPECT_GE(cycles * peak, static_cast<double>(run->issued_macs)) << name;
    const std::int64_t rounds = base::ceil_div(run->kernel.ctas, std::int64_t{kSms});
    const std::int64_t macs_per_cta = run->issued_macs / run->kernel.ctas;
    const double busiest = static_cast<double>(rounds * macs_per_cta) / (peak / kSms);
    EXPECT_GE(cycles, busiest) << name;
  }
  EXPECT_GE(dense.issued_macs, useful) << name;
  EXPECT_GE(2 * sparse.issued_macs, useful) << name;
  // Twice the rate, a smaller tile's worth of wave quantisation aside.
  const double speed_up = static_cast<double>(dense.cycles) / static_cast<double>(sparse.cycles);
  const double padding = static_cast<double>(dense.issued_macs) / static_cast<double>(2 * sparse.issued_macs);
  EXPECT_LE(speed_up, 2.0 * std::max(1.0, padding) * 1.02) << name;
  // A GEMM that is all padding loads twice the B for nothing, and the metadata on top.
  EXPECT_GT(speed_up, 1 / 2.25) << name;
}

TEST(Invariants, SparsityGainsAtMostTwoWhereCyclesAreCarriedOn) {
  const gpu::GpuSpec spec = small_gpu();
  gpu::GemmSimulator simulator(spec, {true});
  for (const kernels::GemmProblem& problem : shapes()) {
    if (!problem.sparse) {
      expect_invariants(simulator, spec, problem);
    }
  }
}

TEST(Invariants, CyclesOfWholeLaunchesAreNeverBelowTheMacBoundAndSparsityGainsAtMostTwo) {
  const gpu::GpuSpec spec = small_gpu();
  gpu::GemmSimulator simulator(spec, kNothingRaised);
  for (const std::int64_t m : {1, 7, 13, 127, 257}) {
    for (const std::int64_t n : {1, 11, 131}) {
      for (const std::int64_t k : {4, 52, 508}) {
        expect_invariants(simulator, spec, {{m, n, k}, 1, DataType::kF16, false});
      }
    }
  }
  for (const kernels::GemmProblem& problem : {kernels::GemmProblem{{64, 64, 16384}},
                                              {{512, 768, 512}},
                                              {{384, 768, 768}, 1, DataType::kTf32},
                                              {{512, 512, 1024}, 1, DataType::kS8},
                                              {{256, 512, 384}, 3, DataType::kBf16},
                                              {{1, 1024, 2048}},
                                              {{1024, 1, 2048}},
                                              {{1024, 1024, 4}}}) {
    expect_invariants(simulator, spec, problem);
  }
}

/// Up to `largest` of m, n and k.
void expect_more_to_take_more(const gpu::GemmSimulator::Options& options, std::int64_t largest) {
  gpu::GemmSimulator simulator(small_gpu(), options);
  const kernels::KernelOverrides fixed{base::GemmShape{128, 128, 64}, 3, {}};
  for (const bool sparse : {false, true}) {
    const auto expect_rising = [&](const char* name, const std::vector<std::int64_t>& values, auto problem_of) {
      std::int64_t last = 0;
      for (const std::int64_t value : values) {
        kernels::GemmProblem problem = problem_of(value);
        if (std::max({problem.shape.m, problem.shape.n, problem.shape.k}) > largest) {
          continue;
        }
        problem.sparse = sparse;
        const std::int64_t cycles = simulator.run(problem, fixed, nullptr).cycles;
        EXPECT_GT(cycles, last) << name << " " << value << (sparse ? " 2:4" : " dense");
        last = cycles;
      }
    };
    expect_rising("k", {64, 128, 256, 512, 1024, 4096, 16384}, [](std::int64_t k) {
      return kernels::GemmProblem{{512, 512, k}};
    });
    expect_rising("m", {128, 512, 1024, 4096, 8192}, [](std::int64_t m) {
      return kernels::GemmProblem{{m, 512, 512}};
    });
    expect_rising("n", {128, 512, 1024, 4096, 8192}, [](std::int64_t n) {
      return kernels::GemmProblem{{512, n, 512}};
    });
    expect_rising("batch", {1, 2, 4, 16}, [](std::int64_t batch) {
      return kernels::GemmProblem{{512, 512, 256}, batch};
    });
  }
}

TEST(Invariants, MoreDepthRowsColumnsOrBatchTakeMore) {
  expect_more_to_take_more({true}, 16384);
}

TEST(Invariants, MoreDepthRowsColumnsOrBatchTakeMoreInWholeLaunches) {
  expect_more_to_take_more(kNothingRaised, 1024);
}

TEST(Invariants, ALargeGemmComesNearThePeakDenseAndSparse) {
  const gpu::GpuSpec spec = small_gpu();
  gpu::GemmSimulator simulator(spec, kNothingRaised);
  for (const bool sparse : {false, true}) {
    const gpu::GemmRun run = simulator.run({{1024, 1024, 4096}, 1, DataType::kF16, sparse}, {}, nullptr);
    const double utilisation = static_cast<double>(run.issued_macs) /
                               (static_cast<double>(run.cycles) * kSms * peak_macs_per_cycle(spec.sm, DataType::kF16));
    std::printf("%s: %.1f %% of the peak\n", sparse ? "sparse" : "dense", 100 * utilisation);
    EXPECT_GT(utilisation, 0.85);
    EXPECT_LE(utilisation, 1.0);
  }
}

}  // namespace
}  // namespace sptc::fidelity
