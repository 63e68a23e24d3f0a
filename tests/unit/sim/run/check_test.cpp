// SPDX-License-Identifier: Apache-2.0
#include "sim/run/check.h"

#include "models/base/error.h"
#include "sim/config/architecture.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <tuple>

namespace sptc::run {
namespace {

std::int64_t elements(const std::vector<ElementSelection>& selections) {
  std::int64_t count = 0;
  for (const ElementSelection& selection : selections) {
    count += static_cast<std::int64_t>(selection.rows.size() * selection.columns.size());
  }
  return count;
}

TEST(SampleElements, TakesDistinctRowsAndColumnsInRange) {
  for (const base::GemmShape shape : {base::GemmShape{4096, 4096, 8},
                                      {1, 100000, 8},
                                      {100000, 1, 8},
                                      {17, 13, 8},
                                      {2147483647, 2147483647, 1}}) {
    for (const std::int64_t batch : {1, 3, 5, 1000}) {
      const auto selections = sample_elements(shape, batch, 7);
      const double all =
          static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(batch);
      EXPECT_GE(static_cast<double>(elements(selections)), std::min(256.0, all));
      EXPECT_LE(elements(selections), 1024);
      std::set<std::int64_t> entries;
      for (const ElementSelection& selection : selections) {
        EXPECT_TRUE(entries.insert(selection.batch).second);
        EXPECT_LT(selection.batch, batch);
        const std::set<std::int64_t> rows(selection.rows.begin(), selection.rows.end());
        const std::set<std::int64_t> columns(selection.columns.begin(), selection.columns.end());
        EXPECT_EQ(rows.size(), selection.rows.size());
        EXPECT_EQ(columns.size(), selection.columns.size());
        EXPECT_LT(*rows.rbegin(), shape.m);
        EXPECT_LT(*columns.rbegin(), shape.n);
      }
      EXPECT_GE(entries.size(), static_cast<std::size_t>(std::min<std::int64_t>(batch, 4)));
    }
  }
}

TEST(SampleElements, TakesEverythingWhereThereIsLittle) {
  EXPECT_EQ(elements(sample_elements({3, 5, 8}, 2, 1)), 30);
  EXPECT_EQ(elements(sample_elements({1, 1, 8}, 300, 1)), 256);
}

TEST(SampleElements, DependsOnTheSeedAlone) {
  const auto first = sample_elements({1000, 1000, 8}, 1, 1);
  EXPECT_EQ(first.front().rows, sample_elements({1000, 1000, 8}, 1, 1).front().rows);
  EXPECT_NE(first.front().rows, sample_elements({1000, 1000, 8}, 1, 2).front().rows);
}

/// One sparse row [1, 8] against one column.
kernels::GemmOperands sparse_operands(std::vector<double> a, std::vector<double> b) {
  base::Matrix<numerics::Word> dense(1, a.size());
  kernels::GemmOperands operands;
  operands.b_columns = base::Matrix<numerics::Word>(1, b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    dense(0, k) = numerics::from_double(a[k], numerics::DataType::kF16);
    operands.b_columns(0, k) = numerics::from_double(b[k], numerics::DataType::kF16);
  }
  operands.compressed_a = sparsity::compress(dense, numerics::DataType::kF16);
  return operands;
}

TEST(CheckAgainstReference, KnowsThatUnselectedInfinitiesDoNotCount) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Arithmetic arithmetic("ampere", numerics::DataType::kF16, true);
  // Position 2 is not kept: its infinity never meets a multiplier.
  const kernels::GemmOperands unselected = sparse_operands({1, 2, 0, 0}, {3, 4, infinity, 5});
  EXPECT_EQ(check_against_reference(unselected, plain_gemm(unselected, arithmetic), arithmetic)
                .mismatches,
            0);
  // Position 1 is kept as an explicit zero: 0 * infinity is NaN in hardware and in the reference.
  const kernels::GemmOperands explicit_zero = sparse_operands({1, 0, 0, 0}, {3, infinity, 4, 5});
  const base::Matrix<numerics::Word> d = plain_gemm(explicit_zero, arithmetic);
  EXPECT_EQ(d(0, 0), 0x7FFFFFFFu);
  EXPECT_EQ(check_against_reference(explicit_zero, d, arithmetic).mismatches, 0);
}

TEST(CheckAgainstReference, SeesAWrongSelectorIndex) {
  const Arithmetic arithmetic("ampere", numerics::DataType::kF16, true);
  const kernels::GemmOperands operands = sparse_operands({1, 2, 0, 0}, {3, 4, 6, 5});
  kernels::GemmOperands wrong = operands;
  wrong.compressed_a.nibbles(0, 0) = 0b1000;  // 0 and 2 instead of 0 and 1
  const base::Matrix<numerics::Word> d = plain_gemm(wrong, arithmetic);
  EXPECT_EQ(check_against_reference(operands, d, arithmetic).mismatches, 1);
  CheckResult exact;
  check_datapath(CheckMode::kExact, operands, d, arithmetic, 0, 0, exact);
  EXPECT_EQ(exact.mismatches, 1);
}

workload::Operation fp8_operation(base::GemmShape shape) {
  workload::Operation op;
  op.name = "x";
  op.shape = shape;
  op.dtype = numerics::DataType::kE5m2;
  return op;
}

TEST(CheckAgainstReference, BoundsLoweredFp8DenseAndSparse) {
  const GeneratedData data(workload::DataKind::kRandom, 1);
  for (const bool sparse : {false, true}) {
    const Arithmetic arithmetic("hopper", numerics::DataType::kE5m2, sparse);
    const kernels::GemmOperands operands =
        make_operands(fp8_operation({20, 12, 2000}), sparse, data, 0);
    base::Matrix<numerics::Word> d = plain_gemm(operands, arithmetic);
    const reference::Findings right = check_against_reference(operands, d, arithmetic);
    EXPECT_EQ(right.mismatches, 0) << sparse;
    EXPECT_EQ(right.undecided, 0) << sparse;
    EXPECT_GT(right.worst_error, 0) << sparse;
    d(3, 4) += 1U << 12;
    EXPECT_EQ(check_against_reference(operands, d, arithmetic).mismatches, 1) << sparse;
  }
}

TEST(CheckTiming, ComparesTheEngineWithTheReferenceOrThePlainArithmetic) {
  const GeneratedData data(workload::DataKind::kRandom, 1);
  const Arithmetic arithmetic("hopper", numerics::DataType::kE5m2, true);
  const workload::Operation op = fp8_operation({20, 12, 2000});
  for (const CheckMode mode : {CheckMode::kEigen, CheckMode::kExact}) {
    const CheckResult result = check_timing(mode, op, true, data, arithmetic, 0);
    EXPECT_EQ(result.elements, 240);
    EXPECT_EQ(result.mismatches, 0);
    EXPECT_EQ(result.worst_error > 0, mode == CheckMode::kEigen);
    EXPECT_THROW(
        check_timing(mode, fp8_operation({1 << 14, 1 << 14, 1 << 14}), true, data, arithmetic, 0),
        base::InputError);
  }
}

TEST(CheckDatapath, MapsASampledViolationToItsPlace) {
  workload::Operation op;
  op.name = "x";
  op.shape = {100, 90, 40};
  const GeneratedData data(workload::DataKind::kRandom, 1);
  for (const bool sparse : {false, true}) {
    const Arithmetic arithmetic("ampere", op.dtype, sparse);
    const kernels::GemmOperands operands = make_operands(op, sparse, data, 0);
    base::Matrix<numerics::Word> d = plain_gemm(operands, arithmetic);
    CheckResult right;
    check_datapath(CheckMode::kSample, operands, d, arithmetic, 5, 3, right);
    EXPECT_EQ(right.elements, 256);
    EXPECT_EQ(right.mismatches, 0);
    const ElementSelection sample = sample_elements({100, 90, 1}, 1, 3).front();
    d(static_cast<std::size_t>(sample.rows[2]), static_cast<std::size_t>(sample.columns[9])) ^=
        0x00400000;
    CheckResult wrong;
    check_datapath(CheckMode::kSample, operands, d, arithmetic, 5, 3, wrong);
    ASSERT_TRUE(wrong.first_violation);
    EXPECT_EQ(wrong.first_violation->batch, 5);
    EXPECT_EQ(wrong.first_violation->row, sample.rows[2]);
    EXPECT_EQ(wrong.first_violation->col, sample.columns[9]);
  }
}

TEST(CheckPattern, ComputesPatternsThatNoGpuHas) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  workload::Operation op;
  op.name = "layer";
  op.shape = {20, 12, 203};  // groups and blocks are completed
  op.prunable = true;
  const GeneratedData data(workload::DataKind::kRandom, 3);
  for (const auto& [text, inputs, kept] : {std::tuple{"1:4", 4, 1},
                                           {"1:4", 4, 2},
                                           {"2:8", 8, 2},
                                           {"2:6", 6, 2},
                                           {"6:8", 4, 2},
                                           {"6:8", 8, 6},
                                           {"16:2:8", 4, 2}}) {
    const sparsity::WeightPattern weights = sparsity::parse_weight_pattern(text);
    const auto execution = sparsity::pattern_execution(weights, op.dtype, {inputs, kept});
    for (const CheckMode mode : {CheckMode::kEigen, CheckMode::kExact, CheckMode::kSample}) {
      const CheckResult result = check_pattern(mode, op, data, weights, execution,
                                               Arithmetic(gpu, op.dtype, false), 1, nullptr);
      EXPECT_EQ(result.elements, 20 * 12) << text;
      EXPECT_EQ(result.mismatches, 0) << text;
      if (mode == CheckMode::kEigen) {
        EXPECT_GT(result.worst_ratio, 0) << text;
        EXPECT_LE(result.worst_ratio, 1) << text;
      }
    }
  }
}

TEST(Arithmetic, TakesTheAccumulatorOfTheArchitecture) {
  gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  workload::Operation op;
  op.name = "layer";
  op.shape = {16, 16, 4096};
  const GeneratedData data(workload::DataKind::kRandom, 3);
  double error = 0;
  for (const int bits : {24, 16, 10}) {  // of the vector kernels, and below what they know
    gpu.sm.tensor_core.accumulator_fraction_bits = bits;
    const Arithmetic arithmetic(gpu, op.dtype, false);
    EXPECT_EQ(arithmetic.rules.fraction_bits, bits);
    const CheckResult bounded = check_timing(CheckMode::kEigen, op, false, data, arithmetic, 1);
    EXPECT_EQ(bounded.mismatches, 0);
    EXPECT_GT(bounded.worst_error, 4 * error) << bits;
    error = bounded.worst_error;
    EXPECT_EQ(check_timing(CheckMode::kExact, op, false, data, arithmetic, 1).mismatches, 0);
  }
}

}  // namespace
}  // namespace sptc::run
