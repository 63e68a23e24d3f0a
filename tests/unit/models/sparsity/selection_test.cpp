// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/selection.h"

#include "models/base/random.h"
#include "models/sparsity/criterion.h"
#include "models/sparsity/prune.h"
#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace sptc::sparsity {
namespace {

using numerics::DataType;

base::Matrix<float> random_matrix(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  const base::RandomStream random(seed);
  base::Matrix<float> matrix(rows, cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    // Few values, so that equals are common.
    matrix.data()[i] = static_cast<float>(static_cast<int>(random.below(i, 9)) - 4);
  }
  return matrix;
}

TEST(Select, KeepsWhatPruneByMagnitudeKeeps) {
  for (const std::string name : {"2:4", "1:2", "1:4", "3:8", "6:8", "4:16"}) {
    const WeightPattern pattern = parse_weight_pattern(name);
    const base::Matrix<float> weights = random_matrix(16, 96, 1);
    base::Matrix<numerics::Word> words(weights.rows(), weights.cols());
    for (std::size_t i = 0; i < words.size(); ++i) {
      words.data()[i] =
          numerics::from_double(static_cast<double>(weights.data()[i]), DataType::kF16);
    }
    const auto pruned = prune_by_magnitude(words, DataType::kF16, pattern.pattern);
    const Mask mask = select(magnitudes(weights), pattern);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool was_zero = weights.data()[i] == 0;
      ASSERT_EQ(pruned.data()[i] != 0, mask.data()[i] != 0 && !was_zero) << name << " at " << i;
    }
  }
}

TEST(Select, KeepsPairsByTheirSum) {
  base::Matrix<float> scores(1, 8);
  const float values[] = {5, 0, 3, 3, 1, 4, 2, 2};  // pairs: 5, 6, 5, 4
  std::copy(std::begin(values), std::end(values), scores.data());
  const Mask mask = select(scores, {{4, 8, 2}, 0});
  const std::uint8_t kept[] = {1, 1, 1, 1, 0, 0, 0, 0};
  EXPECT_TRUE(std::equal(std::begin(kept), std::end(kept), mask.data()));
}

TEST(Select, BlocksOfVnmShareTheirColumns) {
  const WeightPattern pattern = parse_weight_pattern("4:2:8");
  const Mask mask = select(magnitudes(random_matrix(6, 16, 2)), pattern);
  for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>(0, 4), {4, 6}}) {
    for (std::size_t group = 0; group < 16; group += 8) {
      std::set<std::size_t> columns;
      for (std::size_t row = first; row < last; ++row) {
        int kept = 0;
        for (std::size_t i = group; i < group + 8; ++i) {
          kept += mask(row, i);
          if (mask(row, i) != 0) {
            columns.insert(i);
          }
        }
        EXPECT_EQ(kept, 2);
      }
      EXPECT_LE(columns.size(), 4U);
    }
  }
}

TEST(Select, BlocksOfVnmKeepTheColumnsWithTheLargestSums) {
  base::Matrix<float> scores(2, 8);
  const float values[] = {9, 0, 8, 0, 7, 0, 6, 0,   //
                          1, 0, 2, 0, 3, 0, 4, 5};  // sums: 10, 0, 10, 0, 10, 0, 10, 5
  std::copy(std::begin(values), std::end(values), scores.data());
  const Mask mask = select(scores, parse_weight_pattern("2:2:8"));
  const std::uint8_t kept[] = {1, 0, 1, 0, 0, 0, 0, 0,  //
                               0, 0, 0, 0, 1, 0, 1, 0};
  EXPECT_TRUE(std::equal(std::begin(kept), std::end(kept), mask.data()));
}

TEST(Select, RefusesAKThatIsNoMultiple) {
  EXPECT_NE(refusal([] {
              select(base::Matrix<float>(1, 6), parse_weight_pattern("2:4"));
            }).find("multiple of 4"),
            std::string::npos);
}

TEST(KeptSums, AddsUpParts) {
  const base::Matrix<float> weights = random_matrix(3, 4096, 3);
  const Mask mask = select(magnitudes(weights), parse_weight_pattern("2:4"));
  double energy = 0, kept = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double square = std::pow(static_cast<double>(weights.data()[i]), 2);
    energy += square;
    kept += mask.data()[i] != 0 ? square : 0;
  }
  KeptSums sums;
  sums.add(weights, mask);
  EXPECT_DOUBLE_EQ(sums.share().energy, kept / energy);
}

}  // namespace
}  // namespace sptc::sparsity
