// SPDX-License-Identifier: Apache-2.0
// A tensor core that skips the zeros of both operands: bits of the same core without skipping, and
// cycles that follow the zeros, of values as they are and of densities on average.
#include "sim/gpu/analytic_gemm.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/timing/gemm_operands.h"
#include "tests/timing/sm_harness.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace sptc::timing {
namespace {

using numerics::DataType;

/// Three SMs of an A100 whose tensor cores have arrays of `rows` x `columns`, and ports that never
/// hold them up.
gpu::GpuSpec skipping(int rows, int columns, int cycles = 0) {
  gpu::GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", 3);
  tensor_core::TensorCoreSpec& core = spec.sm.tensor_core;
  core.selector_inputs = 1;
  core.zero_skip_rows = rows;
  core.zero_skip_columns = columns;
  core.zero_skip_cycles = cycles;
  for (double* const port :
       {&core.operand_a_port_bytes_per_cycle, &core.operand_b_port_bytes_per_cycle,
        &core.accumulator_port_bytes_per_cycle, &core.register_bank_bytes_per_cycle}) {
    *port *= 8;
  }
  return spec;
}

/// Zeros in the places that a seeded draw names.
void thin_out(const sparsity::Densities& densities, std::vector<kernels::GemmOperands>& operands) {
  const auto thin = [](base::Matrix<numerics::Word>& matrix, double density,
                       const base::RandomStream& random) {
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      if (static_cast<double>(random.below(i, 1 << 20)) >= density * (1 << 20)) {
        matrix.data()[i] = 0;
      }
    }
  };
  for (std::size_t entry = 0; entry < operands.size(); ++entry) {
    const base::RandomStream random = base::RandomStream(5).fork(std::to_string(entry));
    thin(operands[entry].a, densities.a, random.fork("a"));
    thin(operands[entry].b_columns, densities.b, random.fork("b"));
  }
}

kernels::GemmProblem problem_of(DataType type, const sparsity::Densities& densities = {}) {
  kernels::GemmProblem problem{{128, 128, 512}, 1, type, false};
  problem.densities = densities;
  return problem;
}

const gpu::GemmSimulator::Options kWhole{false};

TEST(ZeroSkippingCore, BitsAreThoseOfTheCoreThatMultipliesZeros) {
  gpu::GemmSimulator skips(skipping(4, 4), kWhole);
  for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kS8}) {
    for (const sparsity::Densities& densities : {sparsity::Densities{0.5, 0.5}, {0.1, 1}, {0, 1}}) {
      const kernels::GemmProblem problem = problem_of(type);
      std::vector<kernels::GemmOperands> operands = random_gemm_operands(problem, 3);
      thin_out(densities, operands);
      const gpu::GemmRun run = skips.run(problem, {}, &operands);
      const base::RandomStream sample(11);
      for (std::uint64_t i = 0; i < 64; ++i) {
        const auto row = sample.below(2 * i, 128), column = sample.below(2 * i + 1, 128);
        ASSERT_EQ(run.d.front()(row, column), plain_element(problem, operands.front(), row, column))
            << describe(problem) << " at " << row << "," << column;
      }
    }
  }
}

TEST(ZeroSkippingCore, WithoutZerosTakesTheTimeOfTheOtherCore) {
  const kernels::GemmProblem problem = problem_of(DataType::kF16);
  std::vector<kernels::GemmOperands> operands = random_gemm_operands(problem, 3);
  constexpr numerics::Word kOne = 0x3C00;
  for (base::Matrix<numerics::Word>* const matrix :
       {&operands.front().a, &operands.front().b_columns}) {
    for (std::size_t i = 0; i < matrix->size(); ++i) {
      matrix->data()[i] = (matrix->data()[i] & 0x7FFF) == 0 ? kOne : matrix->data()[i];
    }
  }
  gpu::GemmSimulator skips(skipping(4, 4), kWhole);
  EXPECT_EQ(skips.run(problem, {}, &operands).cycles, skips.run(problem, {}, nullptr).cycles);
  gpu::GpuSpec plain = skipping(4, 4);
  plain.sm.tensor_core.zero_skip_rows = plain.sm.tensor_core.zero_skip_columns = 0;
  const auto form = [&](const gpu::GpuSpec& spec) {
    return gpu::analytic_gemm(problem, {}, spec, {}).cycles;
  };
  EXPECT_EQ(form(skipping(4, 4)), form(plain));
  EXPECT_GT(form(skipping(4, 4, 20)), form(plain));
}

TEST(ZeroSkippingCore, EveryInstructionPaysTheOverhead) {
  gpu::GemmSimulator simulator(skipping(4, 4, 20), kWhole);
  const kernels::GemmProblem nothing_left = problem_of(DataType::kF16, {0, 1});
  // As many instructions of m16n8k16 as there are, on all twelve tensor cores at the least.
  constexpr std::int64_t kInstructions = (128 / 16) * (128 / 8) * (512 / 16);
  EXPECT_GE(simulator.run(nothing_left, {}, nullptr).cycles, 20 * kInstructions / 12);
}

TEST(ZeroSkippingCore, FewerElementsTakeLessTimeInAllFidelities) {
  const gpu::GpuSpec spec = skipping(4, 4);
  gpu::GemmSimulator simulator(spec, kWhole);
  constexpr std::array<std::pair<double, double>, 6> kDensities{
      {{1, 1}, {0.75, 1}, {0.5, 1}, {0.5, 0.5}, {0.25, 0.44}, {0.1, 0.1}}};
  std::int64_t counted_before = 1 << 30, mean_before = 1 << 30, form_before = 1 << 30;
  const std::int64_t dense = simulator.run(problem_of(DataType::kF16), {}, nullptr).cycles;
  for (const auto& [a, b] : kDensities) {
    const kernels::GemmProblem problem = problem_of(DataType::kF16, {a, b});
    std::vector<kernels::GemmOperands> operands = random_gemm_operands(problem, 3);
    thin_out({a, b}, operands);
    const std::int64_t counted = simulator.run(problem, {}, &operands).cycles;
    const std::int64_t mean = simulator.run(problem, {}, nullptr).cycles;
    const std::int64_t form = gpu::analytic_gemm(problem, {}, spec, {}).cycles;
    EXPECT_LE(counted, counted_before) << a << " x " << b;
    EXPECT_LE(mean, mean_before) << a << " x " << b;
    EXPECT_LE(form, form_before) << a << " x " << b;
    EXPECT_NEAR(static_cast<double>(counted) / static_cast<double>(mean), 1, 0.05)
        << a << " x " << b;
    EXPECT_GE(static_cast<double>(mean), a * b * static_cast<double>(dense));
    counted_before = counted;
    mean_before = mean;
    form_before = form;
  }
  EXPECT_LT(mean_before, dense);
}

// A scheduler counts whole cycles: a mean time that is a little below one of them is not less.
TEST(ZeroSkippingCore, AFirstZeroGainsNextToNothing) {
  gpu::GemmSimulator simulator(skipping(4, 4), kWhole);
  const auto cycles = [&](double density) {
    return static_cast<double>(
        simulator.run(problem_of(DataType::kF16, {density, 1}), {}, nullptr).cycles);
  };
  EXPECT_GE(cycles(0.999), 0.99 * cycles(1));
}

TEST(ZeroSkippingCore, ClosedFormFollowsTheSimulation) {
  // Large enough that the tensor cores are the limit.
  const gpu::GpuSpec spec = skipping(4, 4);
  gpu::GemmSimulator simulator(spec, kWhole);
  const auto relative = [&](const auto& cycles_of) {
    std::vector<double> result;
    for (const sparsity::Densities& densities :
         {sparsity::Densities{1, 1}, {0.75, 0.75}, {0.5, 0.5}}) {
      kernels::GemmProblem problem{{768, 512, 1024}, 1, DataType::kF16, false};
      problem.densities = densities;
      result.push_back(static_cast<double>(cycles_of(problem)));
    }
    return std::pair(result[1] / result[0], result[2] / result[0]);
  };
  const auto simulated = relative([&](const kernels::GemmProblem& problem) {
    return simulator.run(problem, {}, nullptr).cycles;
  });
  const auto form = relative([&](const kernels::GemmProblem& problem) {
    return gpu::analytic_gemm(problem, {}, spec, {}).cycles;
  });
  EXPECT_NEAR(form.first, simulated.first, 0.05);
  EXPECT_NEAR(form.second, simulated.second, 0.05);
  EXPECT_LT(simulated.second, 0.8);
}

}  // namespace
}  // namespace sptc::timing
