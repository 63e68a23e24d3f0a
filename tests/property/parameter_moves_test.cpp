// SPDX-License-Identifier: Apache-2.0
// More of a resource makes no GEMM slower, less makes none faster, and neither by more than the
// resource changed: closed form, the kernel chosen anew for each design, as the library would. Half
// of the rate that bounds a launch takes about twice as long, in both fidelities.
#include "models/base/random.h"
#include "sim/config/architecture.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/support/in_child.h"
#include "tests/support/scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace sptc::property {
namespace {

struct Move {
  const char* name;
  double factor;  ///< of the resource: above 1 more of it, below less
  void (*apply)(gpu::GpuSpec& gpu, double factor);
};

using support::scale;

void tensor_cores(gpu::GpuSpec& gpu, double factor) {
  tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
  scale(core.dot_units, factor);
  scale(core.f32_dot_units, factor);
  scale(core.operand_a_port_bytes_per_cycle, factor);
  scale(core.operand_b_port_bytes_per_cycle, factor);
  scale(core.accumulator_port_bytes_per_cycle, factor);
  scale(core.metadata_port_bytes_per_cycle, factor);
  scale(core.selector_bytes_per_cycle, factor);
}

void memory_speed(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.memory.l2_near_latency_cycles, 1 / factor);
  scale(gpu.memory.l2_far_latency_cycles, 1 / factor);
  scale(gpu.memory.dram_access_latency_cycles, 1 / factor);
}

void sms(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.sms, factor);
}
void clock_rate(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.boost_clock_mhz, factor);
}
void l2_rate(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.memory.l2_bytes_per_cycle, factor);
}
void l2_size(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.memory.l2_capacity, factor);
}
void sm_ports(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.memory.sm_port_bytes_per_cycle, factor);
}
/// Twice as many CTAs get what the L2 reads once.
void clusters(gpu::GpuSpec& gpu, double factor) {
  if (gpu.launch.cluster_ctas > 1) {
    scale(gpu.launch.cluster_ctas, factor);
  }
}
void dram_rate(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.memory.dram_gb_per_s, factor);
}
void shared_rate(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.sm.shared_memory_bank_bytes_per_cycle, factor);
}
void shared_size(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.sm.shared_memory, factor);
  scale(gpu.sm.max_shared_memory_per_cta, factor);
}
void registers(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.sm.registers, factor);
}
void b_port(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.sm.tensor_core.operand_b_port_bytes_per_cycle, factor);
}
void metadata_port(gpu::GpuSpec& gpu, double factor) {
  scale(gpu.sm.tensor_core.metadata_port_bytes_per_cycle, factor);
}

constexpr std::array kMoves{
    Move{"SMs", 0.5, sms},
    Move{"SMs", 2, sms},
    Move{"clock", 0.5, clock_rate},
    Move{"clock", 1.3, clock_rate},
    Move{"tensor cores", 0.5, tensor_cores},
    Move{"tensor cores", 2, tensor_cores},
    Move{"B port", 0.25, b_port},
    Move{"metadata port", 0.25, metadata_port},
    Move{"shared memory rate", 0.5, shared_rate},
    Move{"shared memory rate", 2, shared_rate},
    Move{"shared memory size", 0.5, shared_size},
    Move{"shared memory size", 2, shared_size},
    Move{"registers", 0.5, registers},
    Move{"registers", 2, registers},
    Move{"SM ports", 0.5, sm_ports},
    Move{"SM ports", 2, sm_ports},
    Move{"L2 rate", 0.5, l2_rate},
    Move{"L2 rate", 2, l2_rate},
    Move{"clusters", 2, clusters},
    Move{"clusters", 4, clusters},
    Move{"L2 size", 0.5, l2_size},
    Move{"L2 size", 2, l2_size},
    Move{"DRAM rate", 0.5, dram_rate},
    Move{"DRAM rate", 2, dram_rate},
    Move{"memory latency", 0.5, memory_speed},
    Move{"memory latency", 2, memory_speed},
};

/// Sizes of any magnitude, about as many small as large ones, some of them round.
std::vector<base::GemmShape> random_shapes(int count) {
  const base::RandomStream random(2026);
  std::uint64_t index = 0;
  const auto extent = [&](double largest) {
    const double share = static_cast<double>(random.bits(index++) >> 11U) * 0x1p-53;
    const auto any = static_cast<std::int64_t>(std::exp2(share * std::log2(largest)));
    const bool round = random.bits(index++) % 2 == 0;
    return std::max<std::int64_t>(1, round ? any / 64 * 64 : any);
  };
  std::vector<base::GemmShape> shapes;
  for (int i = 0; i < count; ++i) {
    const std::int64_t m = extent(32768), n = extent(32768);
    shapes.push_back({m, n, extent(16384)});
  }
  return shapes;
}

constexpr double kTolerance = 0.005;
/// How many CTAs an SM holds decides how many are left for its last round: on a V100 four CTAs and
/// one take longer than three and two.
constexpr double kToleranceOfResidence = 0.06;
/// Of a search, which has fewer on an SM where that is faster, but for a K of 1: there all of D
/// comes behind one k-tile, and more CTAs of an SM have more of it at once.
constexpr double kToleranceOfSearchedResidence = 0.012;
/// With more SMs a grid that the L2 bounds has a fuller first wave, which waits for it, and a last
/// one that runs alone: 17 % on an A40, 1536 x 2560 x 467 2:4.
constexpr double kToleranceOfSms = 0.18;

/// With the fastest kernel: a heuristic that leaves DRAM out may choose a worse one on a wider GPU.
double time_us(kernels::GemmProblem problem, const gpu::GpuSpec& gpu) {
  problem.conditions.algorithm = kernels::Algorithm::kBest;
  return gpu::analytic_gemm(problem, {}, gpu, gpu::ClockPolicy{}).time_us();
}

/// With the fastest of all kernels that fit.
double searched_us(const kernels::GemmProblem& problem, const gpu::GpuSpec& gpu) {
  kernels::KernelOverrides search;
  search.search = true;
  return gpu::analytic_gemm(problem, search, gpu, gpu::ClockPolicy{}).time_us();
}

void expect_plausible(const Move& move, const kernels::GemmProblem& problem, const gpu::GpuSpec& gpu) {
  gpu::GpuSpec moved = gpu;
  move.apply(moved, move.factor);
  const double ratio = time_us(problem, moved) / time_us(problem, gpu);
  const base::GemmShape& shape = problem.shape;
  const std::string where = gpu.name + ", " + move.name + " x " + std::to_string(move.factor) + ", " +
                            std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " +
                            std::to_string(shape.k) + (problem.sparse ? " 2:4" : " dense");
  const bool of_residence = move.apply == registers || move.apply == shared_size;
  const double tolerance = of_residence ? kToleranceOfResidence : move.apply == sms ? kToleranceOfSms : kTolerance;
  if (move.factor > 1) {
    EXPECT_LE(ratio, 1 + tolerance) << where;
    EXPECT_GE(ratio, (1 - tolerance) / move.factor) << where;
  } else {
    EXPECT_GE(ratio, 1 - tolerance) << where;
    EXPECT_LE(ratio, (1 + tolerance) / move.factor) << where;
  }
}

TEST(ParameterMoves, NoGemmGoesTheWrongWayOrTooFarOnAnyGeneration) {
  for (const char* const name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "a40", "v100-sxm2-16gb", "b200"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    for (const base::GemmShape& shape : random_shapes(200)) {
      for (const bool sparse : {false, true}) {
        if (sparse && gpu.sm.tensor_core.selector_inputs == 1) {
          continue;
        }
        const kernels::GemmProblem problem{shape, 1, numerics::DataType::kF16, sparse};
        for (const Move& move : kMoves) {
          expect_plausible(move, problem, gpu);
        }
      }
    }
  }
}

TEST(ParameterMoves, WiderUnitsMakeNoSearchedKernelSlower) {
  for (const char* const name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "a40", "v100-sxm2-16gb", "b200"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    for (const base::GemmShape& shape : random_shapes(20)) {
      for (const bool sparse : {false, true}) {
        if (sparse && gpu.sm.tensor_core.selector_inputs == 1) {
          continue;
        }
        const kernels::GemmProblem problem{shape, 1, numerics::DataType::kF16, sparse};
        const double now_us = searched_us(problem, gpu);
        for (const Move& move : kMoves) {
          gpu::GpuSpec moved = gpu;
          move.apply(moved, move.factor);
          const double ratio = searched_us(problem, moved) / now_us;
          const double tolerance = move.apply == sms           ? kToleranceOfSms
                                   : move.apply == shared_size ? kToleranceOfSearchedResidence
                                                               : kTolerance;
          const bool slower = move.factor > 1 ? ratio > 1 + tolerance : ratio < 1 - tolerance;
          EXPECT_FALSE(slower) << gpu.name << ", " << move.name << " x " << move.factor << ", " << shape.m << " x "
                               << shape.n << " x " << shape.k << (sparse ? " 2:4" : " dense") << ": " << ratio;
        }
      }
    }
  }
}

// Natively it reads other bytes of B at once: of a few hundred shapes a tenth is up to 3 % slower.
TEST(ParameterMoves, AWiderSelectorIsHardlySlowerThanOneThatIsLeftUnused) {
  constexpr double kMostLost = 0.03;
  gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  gpu.sm.tensor_core.selector_inputs = 8;
  for (const base::GemmShape& shape : random_shapes(200)) {
    kernels::GemmProblem problem{shape, 1, numerics::DataType::kF16, true};
    const double within_2_4_us = searched_us(problem, gpu);
    for (const sparsity::Pattern& pattern : {sparsity::Pattern{2, 8}, sparsity::Pattern{1, 4}}) {
      problem.pattern = pattern;
      EXPECT_LE(searched_us(problem, gpu), (1 + kMostLost) * within_2_4_us)
          << pattern.name() << ", " << shape.m << " x " << shape.n << " x " << shape.k;
    }
  }
}

/// A launch that one rate bounds, with and without half of that rate.
struct Bounded {
  const char* name;
  void (*before)(gpu::GpuSpec& gpu);  ///< what leaves nothing else to wait for
  void (*apply)(gpu::GpuSpec& gpu, double factor);
  base::GemmShape shape, tile;
};

constexpr std::array kBounded{
    Bounded{"tensor cores", [](gpu::GpuSpec&) {}, tensor_cores, {2304, 768, 2048}, {256, 128, 32}},
    Bounded{"clock", [](gpu::GpuSpec&) {}, clock_rate, {2304, 768, 2048}, {256, 128, 32}},
    Bounded{"L2 rate", [](gpu::GpuSpec& gpu) { l2_rate(gpu, 0.25); }, l2_rate, {768, 576, 1024}, {64, 64, 64}},
    Bounded{"SM ports",
            [](gpu::GpuSpec& gpu) {
              sm_ports(gpu, 0.125);
              l2_rate(gpu, 4);
            },
            sm_ports,
            {768, 576, 1024},
            {64, 64, 64}},
    Bounded{"banks", [](gpu::GpuSpec& gpu) { shared_rate(gpu, 0.5); }, shared_rate, {768, 576, 1024}, {64, 64, 64}},
    Bounded{"DRAM rate", [](gpu::GpuSpec&) {}, dram_rate, {3456, 16, 4096}, {128, 32, 64}},
};

/// A quarter of an A100, all of whose SMs are soon simulated.
gpu::GpuSpec quarter() {
  gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  sms(gpu, 0.25);
  l2_rate(gpu, 0.25);
  l2_size(gpu, 0.25);
  dram_rate(gpu, 0.25);
  return gpu;
}

/// How many times as long `launch` takes with half of its rate.
template <typename TimeOf>
double times_as_long(const Bounded& launch, const TimeOf& us_of) {
  gpu::GpuSpec gpu = quarter();
  launch.before(gpu);
  gpu::GpuSpec slower = gpu;
  launch.apply(slower, 0.5);
  const kernels::GemmProblem problem{launch.shape, 1, numerics::DataType::kF16, false};
  const kernels::KernelOverrides kernel{launch.tile, {}, 1};
  return us_of(slower, problem, kernel) / us_of(gpu, problem, kernel);
}

// First fill and what D takes are others' work: somewhat less than twice.
constexpr double kLeast = 1.75, kMost = 2.01;

TEST(ParameterMoves, HalfOfTheRateThatBoundsALaunchNearlyDoublesItInClosedForm) {
  for (const Bounded& launch : kBounded) {
    const double ratio = times_as_long(launch, [](const gpu::GpuSpec& gpu, const kernels::GemmProblem& problem,
                                                  const kernels::KernelOverrides& kernel) {
      const gpu::GemmRun run = gpu::analytic_gemm(problem, kernel, gpu, gpu::ClockPolicy{});
      return static_cast<double>(run.cycles) / run.clock_mhz;
    });
    std::printf("%-12s x %.3f\n", launch.name, ratio);
    EXPECT_GE(ratio, kLeast) << launch.name;
    EXPECT_LE(ratio, kMost) << launch.name;
  }
}

TEST(ParameterMoves, HalfOfTheRateThatBoundsALaunchNearlyDoublesItInSystemC) {
  for (const Bounded& launch : kBounded) {
    const double ratio = times_as_long(launch, [](const gpu::GpuSpec& gpu, const kernels::GemmProblem& problem,
                                                  const kernels::KernelOverrides& kernel) {
      // All SMs of a whole launch, whose cycles nothing raises to those of the bound.
      return support::in_child<double>(1,
                                       [&] {
                                         gpu::GemmSimulator simulator(gpu, {false});
                                         const gpu::GemmRun run = simulator.run(problem, kernel, nullptr);
                                         return std::vector{static_cast<double>(run.cycles) / run.clock_mhz};
                                       })
          .front();
    });
    std::printf("%-12s x %.3f\n", launch.name, ratio);
    EXPECT_GE(ratio, kLeast) << launch.name;
    EXPECT_LE(ratio, kMost) << launch.name;
  }
}

}  // namespace
}  // namespace sptc::property
