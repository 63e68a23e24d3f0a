// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/weight_pattern.h"

#include "models/base/random.h"
#include "models/sparsity/prune.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <set>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr DataType kF16 = DataType::kF16;
constexpr SelectorWidth kTwoOfFour{4, 2};

PatternExecution on(const char* weights, const SelectorWidth& selector, DataType type = kF16) {
  return pattern_execution(parse_weight_pattern(weights), type, selector);
}

base::Matrix<Word> random_matrix(std::size_t rows, std::size_t cols) {
  const base::RandomStream random(7);
  base::Matrix<Word> matrix(rows, cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = numerics::from_double(random.normal(i), kF16);
  }
  return matrix;
}

TEST(HardwarePattern, IsTwoOfFourForSixteenAndEightBitsAndOneOfTwoForTf32) {
  EXPECT_EQ(hardware_pattern(DataType::kF16), (Pattern{2, 4, 1}));
  EXPECT_EQ(hardware_pattern(DataType::kBf16), (Pattern{2, 4, 1}));
  EXPECT_EQ(hardware_pattern(DataType::kS8), (Pattern{2, 4, 1}));
  EXPECT_EQ(hardware_pattern(DataType::kTf32), (Pattern{1, 2, 1}));
}

TEST(HardwarePattern, RefusesAccumulatorTypes) {
  EXPECT_EQ(refusal([] { hardware_pattern(DataType::kF32); }),
            "no N:M pattern for the accumulator type 'f32' (nearest valid: 'tf32'; allowed: f16, "
            "bf16, tf32, s8, f64, e4m3, e5m2, e3m2, e2m3, e2m1, u8, s4, u4, b1)");
  EXPECT_THROW(hardware_pattern(DataType::kS32), base::InputError);
}

TEST(Pattern, CountsChoicesInRuns) {
  const Pattern pairs{4, 8, 2};
  EXPECT_EQ(pairs.candidates(), 4);
  EXPECT_EQ(pairs.choices(), 2);
  EXPECT_EQ(pairs.name(), "4:8");
}

TEST(WeightPattern, IsReadAndWrittenAsOnePutsIt) {
  for (const char* text : {"2:4", "1:4", "2:6", "2:8", "4:8", "6:8", "64:2:8", "1:2"}) {
    EXPECT_EQ(parse_weight_pattern(text).name(), text);
  }
  for (const char* text : {"", "2", "2:", ":4", "4:4", "5:4", "0:4", "-2:4", "2:4:", "2:4:8:16", "2:65", "2 :4",
                           "64:1:8", "64:2:4", "0:2:8", "1e9:2:8", "2:4x", "99999999999999999999:4"}) {
    EXPECT_NE(refusal([&] { parse_weight_pattern(text); }).find("N:M"), std::string::npos) << text;
  }
}

TEST(MetadataBits, AreAnIndexPerKeptElement) {
  EXPECT_EQ((Pattern{2, 4, 1}.metadata_bits()), 4);
  EXPECT_EQ((Pattern{1, 4, 1}.metadata_bits()), 2);
  EXPECT_EQ((Pattern{2, 8, 1}.metadata_bits()), 6);
  EXPECT_EQ((Pattern{6, 8, 1}.metadata_bits()), 18);
  EXPECT_EQ((Pattern{2, 6, 1}.metadata_bits()), 6);
  EXPECT_EQ(hardware_pattern(DataType::kTf32).metadata_bits(), 4) << "as mma.sp stores 1:2";
}

TEST(PatternExecution, IsThePatternItselfWhereTheSelectorReachesThatFar) {
  EXPECT_EQ(on("2:4", kTwoOfFour).instruction, (Pattern{2, 4, 1}));
  EXPECT_EQ(on("2:8", {8, 2}).instruction, (Pattern{2, 8, 1}));
  EXPECT_EQ(on("4:8", {8, 4}).instruction, (Pattern{4, 8, 1}));
  EXPECT_EQ(on("4:8", {8, 2}).instruction, (Pattern{4, 8, 1})) << "a wider one runs denser weights";
  EXPECT_EQ(on("1:4", {4, 1}).instruction, (Pattern{1, 4, 1}));
  EXPECT_EQ(on("2:6", {6, 2}).executed_k(96), 96);
}

TEST(PatternExecution, AnElementOfTf32TakesTwoInputsOfTheSelector) {
  EXPECT_EQ(on("1:2", kTwoOfFour, DataType::kTf32).instruction, (Pattern{1, 2, 1}));
  support::expect_input_error([] { on("2:4", kTwoOfFour, DataType::kTf32); },
                              {"2:4", "4 inputs for each 2", "2 for each 1 of tf32", "1:2"});
  EXPECT_EQ(on("2:4", {8, 4}, DataType::kTf32).instruction, (Pattern{2, 4, 1}));
  EXPECT_EQ(on("1:4", {8, 2}, DataType::kTf32).instruction, (Pattern{1, 4, 1}));
  EXPECT_EQ(on("1:4", kTwoOfFour, DataType::kTf32).instruction, (Pattern{1, 2, 1})) << "within";
}

TEST(PatternExecution, SparserWeightsRunWithinTheHardwaresPattern) {
  for (const char* text : {"1:4", "2:8", "1:2"}) {
    EXPECT_EQ(on(text, kTwoOfFour).instruction, (Pattern{2, 4, 1})) << text;
    EXPECT_EQ(on(text, kTwoOfFour).executed_k(64), 64) << text;
  }
}

TEST(PatternExecution, DenserWeightsAreDecomposedIntoWindowsOfFour) {
  EXPECT_EQ(on("6:8", kTwoOfFour).executed_k(64), 96) << "three windows of 4 per 8";
  EXPECT_EQ(on("4:6", kTwoOfFour).executed_k(60), 80) << "two windows of 4 per 6";
  EXPECT_EQ(on("6:8", kTwoOfFour).executed_k(61), 96) << "groups are completed";
}

TEST(PatternExecution, BlocksOfRowsGatherTheirColumns) {
  const PatternExecution blocks = on("64:2:8", kTwoOfFour);
  EXPECT_EQ(blocks.instruction, (Pattern{2, 4, 1}));
  EXPECT_EQ(blocks.executed_k(64), 32);
  EXPECT_EQ(blocks.vector_rows, 64);
}

TEST(PatternExecution, WithoutAWayIsRefusedWithWhatIsMissing) {
  support::expect_input_error([] { on("4:8", kTwoOfFour); }, {"4:8", "8 inputs", "4 for each 2", "2:4"});
  support::expect_input_error([] { on("2:6", kTwoOfFour); }, {"2:6"});
  support::expect_input_error([] { on("2:8", kTwoOfFour, DataType::kS4); }, {"s4", "4:8", "pairs"});
  support::expect_input_error([] { on("64:2:8", kTwoOfFour, DataType::kTf32); }, {"2:4 hardware", "1:2"});
  support::expect_input_error([] { on("64:2:8", {2, 2}); }, {"2:4 hardware"});
}

TEST(PruneToKept, KeepsTheValuesOfThePrunedMatrix) {
  const base::Matrix<Word> dense = random_matrix(3, 48);
  for (const char* text : {"1:4", "2:6", "2:8", "4:8", "6:8"}) {
    const WeightPattern weights = parse_weight_pattern(text);
    const SelectorWidth wide{weights.pattern.group, weights.pattern.kept};
    const base::Matrix<Word> pruned = prune_by_magnitude(dense, kF16, weights.pattern);
    const auto kept = prune_to_kept(dense, kF16, weights, pattern_execution(weights, kF16, wide));
    for (std::size_t row = 0; row < dense.rows(); ++row) {
      EXPECT_EQ(kept[row].values.size(), 48U / weights.pattern.group * weights.pattern.kept);
      std::vector<Word> back(48, 0);
      for (std::size_t i = 0; i < kept[row].values.size(); ++i) {
        back[kept[row].columns[i]] = kept[row].values[i];
      }
      EXPECT_TRUE(std::equal(back.begin(), back.end(), pruned.row(row).begin())) << text;
    }
  }
}

TEST(PruneToKept, WithinTheHardwaresPatternFillsUpWithExplicitZeros) {
  const auto kept =
      prune_to_kept(words({{0, 9, 0, 0, 0, 0, 1, 8}}, kF16), kF16, parse_weight_pattern("1:4"), on("1:4", kTwoOfFour));
  EXPECT_EQ(kept[0].columns, (std::vector<std::size_t>{0, 1, 4, 7}));
  EXPECT_EQ(kept[0].values[0], 0U);
  EXPECT_EQ(kept[0].values[2], 0U);
}

TEST(PruneToKept, OfADecomposedPatternEveryPairLiesInItsWindow) {
  const auto kept = prune_to_kept(random_matrix(50, 64), kF16, parse_weight_pattern("6:8"), on("6:8", kTwoOfFour));
  for (const KeptElements& row : kept) {
    for (std::size_t i = 0; i < row.columns.size(); ++i) {
      const std::size_t window = i % 6 / 2;
      EXPECT_GE(row.columns[i] % 8, 2 * window);
      EXPECT_LT(row.columns[i] % 8, 2 * window + 4);
    }
  }
}

TEST(PruneToKept, RowsOfABlockShareTheirColumnsAndKeepTwoOfFour) {
  const base::Matrix<Word> dense = random_matrix(12, 32);
  const auto kept = prune_to_kept(dense, kF16, parse_weight_pattern("4:2:8"), on("4:2:8", kTwoOfFour));
  ASSERT_EQ(kept.size(), 12U);
  for (std::size_t block = 0; block < 3; ++block) {
    std::set<std::size_t> columns;
    for (std::size_t row = 4 * block; row < 4 * block + 4; ++row) {
      EXPECT_EQ(kept[row].values.size(), 8U) << "2 of every 8";
      for (std::size_t i = 0; i < 8; ++i) {
        columns.insert(kept[row].columns[i]);
        EXPECT_EQ(kept[row].values[i], dense(row, kept[row].columns[i]));
      }
    }
    for (std::size_t group = 0; group < 4; ++group) {
      EXPECT_LE(std::distance(columns.lower_bound(8 * group), columns.lower_bound(8 * group + 8)), 4);
    }
  }
}

}  // namespace
}  // namespace sptc::sparsity
