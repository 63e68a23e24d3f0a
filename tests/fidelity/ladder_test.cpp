// SPDX-License-Identifier: Apache-2.0
// What holds on every rung of the ladder (datapath, whole launches, cycles that are carried on,
// closed form), on shapes that were chosen to break it.
#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/support/in_child.h"
#include "tests/timing/gemm_operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>

namespace sptc::fidelity {
namespace {

using numerics::DataType;

/// One row, one column, depth one, primes, next to a tile, and far beyond what is simulated whole.
std::vector<kernels::GemmProblem> adversarial() {
  std::vector<kernels::GemmProblem> all;
  for (const base::GemmShape& shape : {base::GemmShape{1, 1, 1},
                                       {1, 1, 65536},
                                       {1, 65536, 4},
                                       {65536, 1, 4},
                                       {1, 8192, 8192},
                                       {8192, 1, 8192},
                                       {2, 3, 5},
                                       {127, 129, 131},
                                       {129, 257, 33},
                                       {997, 1009, 1013},
                                       {7919, 1, 7919},
                                       {17, 100003, 36},
                                       {1048576, 64, 64},
                                       {32768, 32768, 32768}}) {
    all.push_back({shape, 1, DataType::kF16, false});
    if (shape.k % 4 == 0) {
      all.push_back({shape, 1, DataType::kF16, true});
    }
  }
  return all;
}

/// Bytes that DRAM has to deliver at least once, and the SMs to write.
struct Compulsory {
  double read = 0, written = 0;
};

Compulsory compulsory(const kernels::GemmProblem& problem) {
  const base::GemmShape& shape = problem.shape;
  const double a = static_cast<double>(shape.m * shape.k) * (problem.sparse ? 1.125 : 2);
  return {a + 2.0 * static_cast<double>(shape.k * shape.n), 2.0 * static_cast<double>(shape.m * shape.n)};
}

void expect_conserved(const kernels::GemmProblem& problem, const gpu::GemmRun& run, const gpu::GpuSpec& gpu) {
  const std::string name = timing::describe(problem);
  const auto cycles = static_cast<double>(run.cycles);
  const double peak = gpu.sms * gpu.sm.macs_per_cycle(16, numerics::DataType::kF32);
  const double useful = static_cast<double>(problem.shape.macs()) / (problem.sparse ? 2 : 1);
  EXPECT_LE(useful, static_cast<double>(run.issued_macs)) << name;
  EXPECT_LE(useful / (cycles * peak), 1) << name;
  EXPECT_GE(cycles, run.budget.tensor_mean) << name;
  const Compulsory least = compulsory(problem);
  const double dram = gpu.memory.dram_bytes_per_cycle(run.clock_mhz);
  const double kept = static_cast<double>(gpu.memory.dirty_bytes());
  EXPECT_GE(cycles * dram, least.read + std::max(0.0, least.written - kept)) << name;
  EXPECT_GE(static_cast<double>(run.traffic.l2_and_dram.dram_read) + 1, least.read) << name;
  EXPECT_LE(run.traffic.l2_and_dram.dram_read, run.traffic.l2_and_dram.l2_read) << name;
  EXPECT_GE(static_cast<double>(run.traffic.l2_and_dram.l2_written), least.written) << name;
}

TEST(Ladder, CyclesThatAreCarriedOnAndTheClosedFormConserveBytesAndMacsAndStayAboveTheRoofline) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  gpu::GemmSimulator simulator(gpu, {true});
  double worst = 0, worst_short = 0;
  std::int64_t most_simulated = 0;
  for (const kernels::GemmProblem& problem : adversarial()) {
    const gpu::GemmRun run = simulator.run(problem, {}, nullptr);
    const gpu::GemmRun closed = gpu::analytic_gemm(problem, {}, gpu, {});
    expect_conserved(problem, run, gpu);
    expect_conserved(problem, closed, gpu);
    const double of_events = static_cast<double>(run.cycles) / run.clock_mhz;
    const double of_form = static_cast<double>(closed.cycles) / closed.clock_mhz;
    const double deviation = of_form / of_events - 1;
    std::printf("%-32s %10.2f us, closed form %+6.1f %%, %8lld cycles simulated\n", timing::describe(problem).c_str(),
                of_events, 100 * deviation, static_cast<long long>(run.simulated.cycles));
    const std::int64_t k = problem.shape.k;
    double& most = k >= 256 && k <= 32768 ? worst : worst_short;
    most = std::max(most, std::abs(deviation));
    most_simulated = std::max(most_simulated, run.simulated.cycles);
  }
  std::printf("closed form: worst %.1f %%, beyond 256 <= K <= 32768 %.1f %%\n", 100 * worst, 100 * worst_short);
  // The worst of these shapes, 9.2 %, and a little more: no stated error (README.md beside this
  // file). With fewer k-tiles than there are stages, or where K is all there is, the form was never
  // fitted to anything: 33.7 %.
  EXPECT_LE(worst, 0.1);
  EXPECT_LE(worst_short, 0.5);
  // However large the GEMM.
  EXPECT_LE(most_simulated, 250000);
}

// Bytes of a whole launch are counted.
TEST(Ladder, WholeLaunchesConserveBytesAndMacsAndStayAboveTheRoofline) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  gpu::GemmSimulator simulator(gpu, {false});
  for (const base::GemmShape& shape : {base::GemmShape{1, 1, 1},
                                       {1, 1, 65536},
                                       {1, 65536, 4},
                                       {65536, 1, 4},
                                       {2048, 1, 4096},
                                       {127, 129, 131},
                                       {509, 517, 1012},
                                       {17, 100003, 36}}) {
    for (const bool sparse : {false, true}) {
      if (!sparse || shape.k % 4 == 0) {
        const kernels::GemmProblem problem{shape, 1, DataType::kF16, sparse};
        const gpu::GemmRun run = simulator.run(problem, {}, nullptr);
        EXPECT_TRUE(run.activity) << timing::describe(problem);
        expect_conserved(problem, run, gpu);
      }
    }
  }
}

/// FNV-1a over the words of D.
std::uint64_t digest(const std::vector<base::Matrix<numerics::Word>>& d) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const base::Matrix<numerics::Word>& matrix : d) {
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      hash = (hash ^ matrix.data()[i]) * 0x100000001B3U;
    }
  }
  return hash;
}

struct Outcome {
  std::uint64_t digest = 0;
  std::int64_t cycles = 0;
};

std::vector<Outcome> run_with(const std::function<void(gpu::GpuSpec&)>& change) {
  gpu::GpuSpec spec = config::load_architecture("a100-sxm4-80gb").gpu;
  spec.sms = 3;
  change(spec);
  gpu::GemmSimulator simulator(spec, {false});
  std::vector<Outcome> outcomes;
  for (const bool sparse : {false, true}) {
    for (const base::GemmShape& shape : {base::GemmShape{1, 1, 4}, {70, 33, 68}, {130, 129, 132}}) {
      const kernels::GemmProblem problem{shape, 1, DataType::kF16, sparse};
      const std::vector<kernels::GemmOperands> operands = timing::random_gemm_operands(problem, 3);
      // A fragment for each warp: others would hide its latencies.
      const gpu::GemmRun run = simulator.run(problem, {base::GemmShape{32, 32, 64}, {}, {}}, &operands);
      outcomes.push_back({digest(run.d), run.cycles});
    }
  }
  return outcomes;
}

TEST(Ladder, ALineThroughShortGridsOfASliceStaysAboveTheRoofline) {
  // Half of the DRAM: the first CTAs wait for it longer than all that follow.
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb-mig-4g.40gb").gpu;
  gpu::GemmSimulator simulator(gpu, {true});
  for (const bool sparse : {false, true}) {
    const kernels::GemmProblem problem{{8192, 8192, 8192}, 1, numerics::DataType::kF16, sparse};
    expect_conserved(problem, simulator.run(problem, {}, nullptr), gpu);
  }
}

TEST(Ladder, EveryLatencyMovesCyclesAndNoBit) {
  const std::vector<Outcome> reference = support::in_child<Outcome>(6, [] { return run_with([](gpu::GpuSpec&) {}); });
  const std::vector<std::pair<const char*, std::function<void(gpu::GpuSpec&)>>> knobs{
      {"operand fetch", [](gpu::GpuSpec& g) { g.sm.tensor_core.operand_fetch_latency_cycles += 5; }},
      {"selector", [](gpu::GpuSpec& g) { g.sm.tensor_core.selector_latency_cycles += 5; }},
      {"multiply", [](gpu::GpuSpec& g) { g.sm.tensor_core.multiply_latency_cycles += 5; }},
      {"align", [](gpu::GpuSpec& g) { g.sm.tensor_core.align_add_latency_cycles += 5; }},
      {"round", [](gpu::GpuSpec& g) { g.sm.tensor_core.round_latency_cycles += 5; }},
      {"write back", [](gpu::GpuSpec& g) { g.sm.tensor_core.write_back_latency_cycles += 5; }},
      {"barrier", [](gpu::GpuSpec& g) { g.sm.barrier_latency_cycles += 20; }},
      {"shared memory", [](gpu::GpuSpec& g) { g.sm.shared_memory_latency_cycles += 20; }},
      {"L2",
       [](gpu::GpuSpec& g) {
         g.memory.l2_near_latency_cycles += 90;
         g.memory.l2_far_latency_cycles += 90;
       }},
      {"DRAM", [](gpu::GpuSpec& g) { g.memory.dram_access_latency_cycles += 90; }}};
  for (const auto& [name, change] : knobs) {
    const std::vector<Outcome> changed = support::in_child<Outcome>(6, [&change = change] { return run_with(change); });
    for (std::size_t i = 0; i < reference.size(); ++i) {
      EXPECT_EQ(changed[i].digest, reference[i].digest) << name << " " << i;
    }
    const auto cycles = [](const std::vector<Outcome>& all) {
      return std::accumulate(all.begin(), all.end(), std::int64_t{0},
                             [](std::int64_t sum, const Outcome& o) { return sum + o.cycles; });
    };
    EXPECT_GT(cycles(changed), cycles(reference)) << name;
  }
}

}  // namespace
}  // namespace sptc::fidelity
