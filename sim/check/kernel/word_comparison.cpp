// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/word_comparison.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/numerics/float_format.h"

#include <bit>
#include <cmath>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Unpacked;
using numerics::Word;

/// Larger than any distance of finite 32-bit words.
constexpr double kSpecialLog2 = 33;

/// The place of a finite float among the numbers of its format.
std::int64_t ordinal(Word word, const numerics::FloatFormat& format) {
  const int sign_bit = format.storage_bits() - 1;
  const std::int64_t magnitude = word & ((Word{1} << sign_bit) - 1);
  return (word >> sign_bit & 1) != 0 ? -magnitude - 1 : magnitude;
}

/// 0: 0; 1: 1; 2: 2; 3..4: 3; 5..8: 4.
std::size_t bucket_of(std::uint64_t distance) {
  return distance <= 1 ? distance : 1 + static_cast<std::size_t>(std::bit_width(distance - 1));
}

}  // namespace

std::optional<std::uint64_t> ulp_distance(Word x, Word y, DataType type) {
  if (x == y) {
    return 0;
  }
  std::int64_t apart = 0;
  if (const auto& format = numerics::info(type).format) {
    const auto is_finite = [&](Word word) {
      return numerics::unpack(word, *format).kind == Unpacked::Class::kFinite;
    };
    if (!is_finite(x) || !is_finite(y)) {
      return std::nullopt;
    }
    apart = ordinal(x, *format) - ordinal(y, *format);
  } else {
    apart = numerics::to_integer(x, type) - numerics::to_integer(y, type);
  }
  return static_cast<std::uint64_t>(apart < 0 ? -apart : apart);
}

WordComparison compare_words(const base::Matrix<Word>& computed, const base::Matrix<Word>& observed,
                             DataType type) {
  base::ensure(computed.rows() == observed.rows() && computed.cols() == observed.cols(),
               "compare_words: other extents");
  WordComparison result;
  result.elements = computed.size();
  double sum = 0;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const Word x = computed.data()[i];
    const Word y = observed.data()[i];
    result.mismatches += x != y ? 1 : 0;
    const auto distance = ulp_distance(x, y, type);
    if (!distance) {
      ++result.special;
      sum += kSpecialLog2;
      continue;
    }
    sum += std::log2(1.0 + static_cast<double>(*distance));
    const std::size_t bucket = bucket_of(*distance);
    while (result.histogram.size() <= bucket) {
      const std::size_t next = result.histogram.size();
      const std::uint64_t to = next <= 1 ? next : std::uint64_t{1} << (next - 1);
      result.histogram.push_back({next <= 1 ? to : (to >> 1) + 1, to, 0});
    }
    ++result.histogram[bucket].elements;
  }
  result.mean_log2_ulps = result.elements == 0 ? 0 : sum / static_cast<double>(result.elements);
  return result;
}

}  // namespace sptc::check::kernel
