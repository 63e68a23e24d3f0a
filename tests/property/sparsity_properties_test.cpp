// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/metadata_register.h"
#include "models/sparsity/prune.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::Word;

rc::Gen<DataType> any_type() {
  return rc::gen::element(DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kS8);
}

/// Storage words of `type`: any bit pattern (NaN, infinity, subnormals, both zeros), and often
/// zeros and small integers, so that ties and under-full groups happen.
rc::Gen<Word> any_word(DataType type) {
  const Word mask = 0xFFFFFFFFU >> (32 - numerics::storage_bits(type));
  const Word negative_zero = numerics::info(type).is_float() ? numerics::from_double(-0.0, type) : 0;
  return rc::gen::weightedOneOf<Word>(
      {{4, rc::gen::map(rc::gen::arbitrary<Word>(), [mask](Word bits) { return bits & mask; })},
       {3, rc::gen::map(rc::gen::inRange(-3, 4), [type](int value) { return numerics::from_double(value, type); })},
       {2, rc::gen::element(Word{0}, negative_zero)}});
}

base::Matrix<Word> any_matrix(DataType type, std::size_t rows, std::size_t cols) {
  const auto elements = *rc::gen::container<std::vector<Word>>(rows * cols, any_word(type));
  base::Matrix<Word> matrix(rows, cols);
  std::copy(elements.begin(), elements.end(), matrix.data());
  return matrix;
}

/// One to eight rows, up to eight groups of four.
base::Matrix<Word> any_small_matrix(DataType type) {
  const auto rows = *rc::gen::inRange<std::size_t>(1, 9);
  const auto groups = *rc::gen::inRange<std::size_t>(0, 9);
  return any_matrix(type, rows, 4 * groups);
}

/// Metadata of whole blocks of 32 rows and whole tiles of the deepest instruction.
base::Matrix<std::uint8_t> any_metadata() {
  const auto rows = 32 * *rc::gen::inRange<std::size_t>(1, 4);
  const auto groups = 16 * *rc::gen::inRange<std::size_t>(1, 4);
  const auto codes =
      *rc::gen::container<std::vector<std::uint8_t>>(rows * groups, rc::gen::inRange<std::uint8_t>(0, 16));
  base::Matrix<std::uint8_t> nibbles(rows, groups);
  std::copy(codes.begin(), codes.end(), nibbles.data());
  return nibbles;
}

void expect_round_trip(const MetadataForm& form) {
  const base::Matrix<std::uint8_t> nibbles = any_metadata();
  const base::Matrix<std::uint32_t> words = pack_metadata(nibbles, form);
  RC_ASSERT(unpack_metadata({words.data(), words.size()}, nibbles.rows(), nibbles.cols(), form) == nibbles);
}

/// One of the two depths of mma.sp for `type`.
int any_depth(DataType type) {
  const int shallow = 256 / numerics::storage_bits(type);
  return *rc::gen::element(shallow, 2 * shallow);
}

TEST(SparsityProperties, PrunedMatricesSurviveCompressionBitForBit) {
  EXPECT_TRUE(rc::check([] {
    const DataType type = *any_type();
    const base::Matrix<Word> pruned = prune_by_magnitude(any_small_matrix(type), type);
    const CompressedMatrix compressed = compress(pruned, type);
    RC_ASSERT(compressed.compressed_k() * 2 == pruned.cols());
    RC_ASSERT(decompress(compressed) == pruned);
  }));
}

TEST(SparsityProperties, CompressionWritesOnlyOrderedValidIndices) {
  EXPECT_TRUE(rc::check([] {
    const DataType type = *any_type();
    const base::Matrix<Word> pruned = prune_by_magnitude(any_small_matrix(type), type);
    const CompressedMatrix compressed = compress(pruned, type);
    for (std::size_t i = 0; i < compressed.nibbles.size(); ++i) {
      const std::uint8_t nibble = compressed.nibbles.data()[i];
      RC_ASSERT(is_valid_nibble(nibble, compressed.pattern));
      RC_ASSERT((nibble & 3) < (nibble >> 2));
    }
  }));
}

TEST(SparsityProperties, CompressionRefusesExactlyTheMatricesThatAreNotLegal) {
  EXPECT_TRUE(rc::check([] {
    const DataType type = *any_type();
    const base::Matrix<Word> dense = any_small_matrix(type);
    const bool legal = !find_violation(dense, type, hardware_pattern(type));
    if (legal) {
      compress(dense, type);
    } else {
      RC_ASSERT_THROWS_AS(compress(dense, type), base::InputError);
    }
  }));
}

TEST(SparsityProperties, PruningIsIdempotent) {
  EXPECT_TRUE(rc::check([] {
    const DataType type = *any_type();
    const Pattern pattern =
        *rc::gen::element(Pattern{2, 4, 1}, Pattern{1, 4, 1}, Pattern{1, 2, 1}, Pattern{4, 4, 2}, Pattern{3, 4, 1});
    const base::Matrix<Word> pruned = prune_by_magnitude(any_small_matrix(type), type, pattern);
    RC_ASSERT(prune_by_magnitude(pruned, type, pattern) == pruned);
  }));
}

TEST(SparsityProperties, PruningKeepsNothingSmallerThanWhatItDrops) {
  EXPECT_TRUE(rc::check([] {
    const DataType type = *any_type();
    const Pattern pattern = hardware_pattern(type);
    const base::Matrix<Word> dense = any_small_matrix(type);
    const base::Matrix<Word> pruned = prune_by_magnitude(dense, type);
    RC_ASSERT(!find_violation(pruned, type, pattern));
    const auto size = static_cast<std::size_t>(pattern.group);
    for (std::size_t row = 0; row < dense.rows(); ++row) {
      for (std::size_t start = 0; start < dense.cols(); start += size) {
        double smallest_kept = INFINITY;
        double largest_dropped = 0;
        for (std::size_t i = start; i < start + size; ++i) {
          const double magnitude = std::fabs(numerics::to_double(dense(row, i), type));
          if (pruned(row, i) != 0) {
            RC_ASSERT(pruned(row, i) == dense(row, i));
            smallest_kept = std::fmin(smallest_kept, magnitude);
          } else if (!std::isnan(magnitude)) {
            largest_dropped = std::fmax(largest_dropped, magnitude);
          }
        }
        RC_ASSERT(smallest_kept >= largest_dropped);
      }
    }
  }));
}

TEST(SparsityProperties, ReorderedMetadataRoundTrips) {
  EXPECT_TRUE(rc::check([] { expect_round_trip({*any_type(), MetadataOrder::kCutlass}); }));
}

TEST(SparsityProperties, LaneMetadataRoundTripsForEveryInstructionAndSelector) {
  EXPECT_TRUE(rc::check([] {
    const DataType type = *any_type();
    const int depth = any_depth(type);
    const int selector = *rc::gen::inRange(0, metadata_register_format(type, depth).selectors());
    expect_round_trip({type, MetadataOrder::kLanes, depth, selector});
  }));
}

}  // namespace
}  // namespace sptc::sparsity
