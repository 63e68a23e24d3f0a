// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/operands.h"

#include "models/base/matrix.h"
#include "models/numerics/codec.h"
#include "sim/io/memory_guard.h"
#include "tests/support/expect_input_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sptc::workload {
namespace {

using numerics::DataType;
using numerics::Word;

Operation gemm(const char* name, base::GemmShape shape, DataType type = DataType::kF16) {
  Operation op;
  op.name = name;
  op.shape = shape;
  op.batch = 2;
  op.dtype = type;
  return op;
}

// Computed by a second implementation (Python integers): a run can be repeated on every platform
// and in every version.
TEST(OperandSource, GivesTheGoldenWords) {
  const Operation op = gemm("ffn1", {4, 3, 6});
  const OperandSource source(DataKind::kRandom, 1);
  EXPECT_EQ(source.a_row(op, 0, 2), (std::vector<Word>{0x3E14, 0xB6CD, 0xB880, 0x3A9D, 0xB6B9, 0x39C3}));
  EXPECT_EQ(source.b_column(op, 1, 2), (std::vector<Word>{0xBE89, 0x3809, 0xB854, 0xC05E, 0xB482, 0xB76F}));
  const OperandSource integers(DataKind::kIntegers, 7);
  EXPECT_EQ(integers.a_row(gemm("ffn1", {4, 3, 6}, DataType::kS8), 0, 0),
            (std::vector<Word>{0x08, 0x03, 0xFA, 0xFF, 0x05, 0xF9}));
}

TEST(OperandSource, GivesOneRowAsItStandsInTheWholeMatrix) {
  const Operation op = gemm("x", {5, 7, 9}, DataType::kBf16);
  const OperandSource source(DataKind::kRandom, 3);
  const base::Matrix<Word> a = source.a(op, 1);
  const base::Matrix<Word> b = source.b_columns(op, 1);
  ASSERT_EQ(a.rows(), 5u);
  ASSERT_EQ(b.rows(), 7u);
  const std::vector<Word> row = source.a_row(op, 1, 4);
  const std::vector<Word> column = source.b_column(op, 1, 6);
  EXPECT_TRUE(std::equal(row.begin(), row.end(), a.row(4).begin(), a.row(4).end()));
  EXPECT_TRUE(std::equal(column.begin(), column.end(), b.row(6).begin(), b.row(6).end()));
}

TEST(OperandSource, ReachesTheLastRowOfAHugeGemmWithoutTheRest) {
  const Operation op = gemm("huge", {2147483647, 2147483647, 16});
  EXPECT_EQ(OperandSource(DataKind::kRandom, 1).a_row(op, 0, op.shape.m - 1).size(), 16u);
}

TEST(OperandSource, GivesDifferentStreamsForOperandNameBatchAndSeed) {
  const Operation op = gemm("x", {1, 1, 32});
  const OperandSource source(DataKind::kRandom, 1);
  const std::vector<Word> a = source.a_row(op, 0, 0);
  EXPECT_NE(a, source.b_column(op, 0, 0));
  EXPECT_NE(a, source.a_row(op, 1, 0));
  EXPECT_NE(a, source.a_row(gemm("y", {1, 1, 32}), 0, 0));
  EXPECT_NE(a, OperandSource(DataKind::kRandom, 2).a_row(op, 0, 0));
}

TEST(OperandSource, RandomHasMeanZeroAndVarianceOne) {
  const Operation op = gemm("x", {1, 1, 100000}, DataType::kTf32);
  double sum = 0;
  double squares = 0;
  for (const Word word : OperandSource(DataKind::kRandom, 5).a_row(op, 0, 0)) {
    const double value = numerics::to_double(word, DataType::kTf32);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.02);
}

TEST(OperandSource, RandomUsesTheRangeOfS8) {
  const Operation op = gemm("x", {1, 1, 10000}, DataType::kS8);
  double low = 0;
  double high = 0;
  for (const Word word : OperandSource(DataKind::kRandom, 5).a_row(op, 0, 0)) {
    low = std::min(low, numerics::to_double(word, DataType::kS8));
    high = std::max(high, numerics::to_double(word, DataType::kS8));
  }
  EXPECT_LT(low, -90);
  EXPECT_GT(high, 90);
}

TEST(OperandSource, IntegersCoverMinusEightToEight) {
  const Operation op = gemm("x", {1, 1, 2000});
  std::vector<int> seen(17, 0);
  for (const Word word : OperandSource(DataKind::kIntegers, 5).a_row(op, 0, 0)) {
    const double value = numerics::to_double(word, DataType::kF16);
    ASSERT_EQ(value, std::round(value));
    ++seen.at(static_cast<std::size_t>(value + 8));
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 0);
}

TEST(OperandSource, ReluZeroesHalfOfTheActivationsAndNoWeights) {
  const Operation op = gemm("x", {1, 1, 10000});
  const OperandSource source(DataKind::kRelu, 5);
  const std::vector<Word> b = source.b_column(op, 0, 0);
  EXPECT_NEAR(static_cast<double>(std::count(b.begin(), b.end(), Word{0})), 5000, 300);
  for (const Word word : b) {
    EXPECT_FALSE((word & 0x8000) != 0) << "a negative activation, or -0";
  }
  EXPECT_EQ(source.a_row(op, 0, 0), OperandSource(DataKind::kRandom, 5).a_row(op, 0, 0));
}

TEST(OperandSource, BOfAnOperationMayBeZeroWhereTheOthersAreNot) {
  const OperandSource source(DataKind::kRandom, 0);
  Operation op;
  op.name = "down";
  op.shape = {4, 4, 64};
  const auto zeros = [](const std::vector<Word>& words) { return std::count(words.begin(), words.end(), Word{0}); };
  EXPECT_LT(zeros(source.b_column(op, 0, 1)), 4);
  op.b_is_zero = true;
  EXPECT_EQ(zeros(source.b_column(op, 0, 1)), 64);
  EXPECT_LT(zeros(source.a_row(op, 0, 1)), 4);
}

TEST(OperandSource, ZerosAreZero) {
  const Operation op = gemm("x", {1, 1, 8});
  EXPECT_EQ(OperandSource(DataKind::kZeros, 5).a_row(op, 0, 0), std::vector<Word>(8, 0));
}

TEST(DataKind, NamesTheNearestKnownKind) {
  EXPECT_EQ(parse_data_kind("relu"), DataKind::kRelu);
  EXPECT_EQ(name(DataKind::kIntegers), "integers");
  support::expect_input_error([] { parse_data_kind("integer"); }, {"'integer'", "nearest valid: 'integers'"});
}

TEST(MemoryGuard, RefusesMoreThanTheMachineHas) {
  support::expect_input_error(
      [] { io::require_memory(std::numeric_limits<std::uint64_t>::max(), "the operands of 'x'"); },
      {"the operands of 'x'", "GiB"});
  EXPECT_NO_THROW(io::require_memory(1 << 20, "a megabyte"));
}

}  // namespace
}  // namespace sptc::workload
