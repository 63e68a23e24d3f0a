// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/element_source.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace sptc::hardware {
namespace {

using numerics::DataType;
using numerics::FloatFormat;
using numerics::SpecialEncoding;

constexpr std::array<std::string_view, 16> kNames{
    "uniform_bits", "normal", "narrow_exponents", "cancellation", "subnormal_zero", "inf_nan",  "overflow",
    "underflow",    "ties",   "zero_times_huge",  "nan_payloads", "unselected",     "extremes", "saturation",
    "unordered",    "invalid"};

FloatFormat format_of(DataType type) {
  return *numerics::info(type).format;
}

std::uint64_t all_ones(int bits) {
  return bits >= 64 ? ~0ULL : (1ULL << bits) - 1;
}

std::uint64_t sign_bit(const FloatFormat& format, bool negative) {
  return negative ? 1ULL << (format.storage_bits() - 1) : 0;
}

/// A float from its fields; bits that the format discards (tf32) come from `mantissa` too.
std::uint64_t compose(const FloatFormat& format, bool negative, int exponent_field, std::uint64_t mantissa) {
  const int low = format.mantissa_bits + format.discarded_low_bits;
  const int top = (1 << format.exponent_bits) - 1;
  const auto field = static_cast<std::uint64_t>(std::clamp(exponent_field, 0, top));
  return sign_bit(format, negative) | field << low | (mantissa & all_ones(low));
}

/// The largest exponent field of finite numbers.
int top_finite(const FloatFormat& format) {
  const int top = (1 << format.exponent_bits) - 1;
  return format.special == SpecialEncoding::kIeee ? top - 1 : top;
}

std::uint64_t value_bits(double value, DataType type) {
  return type == DataType::kF64 ? std::bit_cast<std::uint64_t>(value) : numerics::from_double(value, type);
}

std::uint64_t infinity_bits(const FloatFormat& format, bool negative) {
  const int low = format.mantissa_bits + format.discarded_low_bits;
  if (format.special != SpecialEncoding::kIeee) {
    return sign_bit(format, negative) | all_ones(format.storage_bits() - 1);  // e4m3: its NaN
  }
  return sign_bit(format, negative) | all_ones(format.exponent_bits) << low;
}

/// NaN with a random payload, quiet or signalling; e4m3 has one NaN and its negative.
std::uint64_t nan_bits(const FloatFormat& format, bool negative, std::uint64_t payload) {
  const int low = format.discarded_low_bits;
  const std::uint64_t fraction = std::max<std::uint64_t>(1, payload & all_ones(format.mantissa_bits));
  return format.special == SpecialEncoding::kIeee ? infinity_bits(format, negative) | fraction << low
                                                  : infinity_bits(format, negative);
}

struct IntegerRange {
  std::int64_t least, largest;
};

IntegerRange range_of(DataType type) {
  const int bits = numerics::storage_bits(type);
  if (type == DataType::kB1 || !numerics::info(type).is_signed) {
    return {0, (1LL << bits) - 1};
  }
  return {-(1LL << (bits - 1)), (1LL << (bits - 1)) - 1};
}

}  // namespace

std::string_view name(Category category) {
  return kNames.at(static_cast<std::size_t>(category));
}

bool applies(Category category, DataType type, bool sparse) {
  const bool is_float = numerics::info(type).is_float();
  switch (category) {
    case Category::kUniformBits:
      return true;
    case Category::kExtremes:
      return !is_float;
    case Category::kSaturation:
      return !is_float && type != DataType::kB1;
    case Category::kUnselected:
      return is_float && sparse;
    case Category::kUnordered:
      return sparse && type != DataType::kTf32;
    case Category::kInvalid:
      return sparse;
    default:
      return is_float;
  }
}

ElementSource::ElementSource(const mma::MmaInstruction& instruction, std::uint64_t seed)
    : instruction_(instruction), stream_(base::RandomStream(seed).fork(instruction.ptx_name())) {}

DataType ElementSource::type(Operand operand) const {
  return operand == Operand::kA   ? instruction_.a_type
         : operand == Operand::kB ? instruction_.b_type
                                  : instruction_.c_type();
}

ElementSource::Random ElementSource::random(Operand operand, const ElementPlace& place) const {
  constexpr std::uint64_t kExtent = 512;  // no matrix of an instruction is larger
  const std::uint64_t key =
      ((static_cast<std::uint64_t>(place.index) * 3 + static_cast<std::uint64_t>(operand)) * kExtent +
       static_cast<std::uint64_t>(place.row)) *
          kExtent +
      static_cast<std::uint64_t>(place.col);
  return {stream_.bits(key)};
}

std::uint64_t ElementSource::draw(Category category, Operand operand, const ElementPlace& place) const {
  const DataType type = this->type(operand);
  if (category == Category::kUniformBits) {
    return random(operand, place).bits & all_ones(numerics::storage_bits(type));
  }
  return numerics::info(type).is_float() ? draw_float(category, operand, place)
                                         : draw_integer(category, operand, place);
}

std::uint64_t ElementSource::conspicuous(const ElementPlace& place) const {
  const FloatFormat format = format_of(instruction_.b_type);
  Random random = this->random(Operand::kB, place);
  const bool negative = random.take(1) != 0;
  switch (random.take(2)) {
    case 0:
      return nan_bits(format, negative, random.bits);
    case 1:
      return compose(format, negative, top_finite(format), random.bits & 1);
    default:
      return infinity_bits(format, negative);
  }
}

/// Neighbours along k that cancel, or nearly so, over everything that one group may select.
std::uint64_t ElementSource::cancelling(Operand operand, const ElementPlace& place) const {
  const FloatFormat format = format_of(type(operand));
  if (operand == Operand::kC) {
    Random random = this->random(operand, place);
    const bool negative = random.take(1) != 0;
    return compose(format, negative, format.bias() - 2 - static_cast<int>(random.take(4)), random.bits);
  }
  const bool is_a = operand == Operand::kA;
  const int k = is_a ? place.col : place.row;
  const int span = is_a ? 2 : instruction_.sparse ? 4 : 2;
  ElementPlace pair = place;
  (is_a ? pair.col : pair.row) = k / span;
  Random random = this->random(operand, pair);
  const bool negative = (random.take(1) != 0) != (is_a && k % 2 == 1);
  const int field = format.bias() + static_cast<int>(random.take(2)) - 2;
  const bool nearly = random.take(2) == 0 && k % span == 1;
  return compose(format, negative, field, random.bits ^ (nearly ? 1ULL << format.discarded_low_bits : 0));
}

std::uint64_t ElementSource::draw_float(Category category, Operand operand, const ElementPlace& place) const {
  const DataType type = this->type(operand);
  const FloatFormat format = format_of(type);
  const bool is_c = operand == Operand::kC;
  Random random = this->random(operand, place);
  const bool negative = random.take(1) != 0;
  const auto narrow = [&] {
    const int field = format.bias() + static_cast<int>(random.take(1));
    return compose(format, negative, field, random.bits);
  };
  switch (category) {
    case Category::kNormal:
      return value_bits(stream_.normal(random.bits >> 8), type);
    case Category::kCancellation:
      return cancelling(operand, place);
    case Category::kSubnormalAndZero: {
      if (random.take(2) == 0) {
        return compose(format, negative, 0, 0);
      }
      const bool large = operand == Operand::kB && random.take(1) != 0;
      const int field = large ? top_finite(format) - static_cast<int>(random.take(3)) : 0;
      return compose(format, negative, field, random.bits);
    }
    case Category::kInfNan:
      if (random.take(4) == 0) {
        return random.take(1) != 0 ? infinity_bits(format, negative) : nan_bits(format, negative, random.bits);
      }
      return narrow();
    case Category::kOverflow: {
      const int field = top_finite(format) - static_cast<int>(random.take(1));
      // The product of two of these overflows; a C near the bound is carried over it.
      return compose(format, negative, is_c ? field : (format.bias() + field) / 2 + 1, random.bits);
    }
    case Category::kUnderflow: {
      const int field = static_cast<int>(random.take(3));
      if (is_c) {
        return compose(format, negative, field / 3, random.bits);
      }
      // Products near the smallest numbers of the accumulator, as far as the type goes.
      const FloatFormat accumulator = format_of(instruction_.accumulator);
      const int half = (accumulator.min_exponent() - accumulator.mantissa_bits / 2) / 2;
      return compose(format, negative, format.bias() + half + field - 3, random.bits);
    }
    case Category::kTies: {
      const double small = static_cast<double>(random.take(4)) - 8.0;
      const double large = std::ldexp(1.0, format.mantissa_bits + 1);
      return value_bits(is_c ? (negative ? -large : large) + 2.0 * small : small, type);
    }
    case Category::kZeroTimesHuge:
      if (operand == Operand::kB) {
        return compose(format, negative, top_finite(format), random.bits & 1);
      }
      return random.take(2) != 0 && !is_c
                 ? compose(format, negative, 0, 0)
                 : compose(format, negative, 1 + static_cast<int>(random.take(1)), random.bits);
    case Category::kNanPayloads:
      // One operand of three has the NaNs.
      if (static_cast<int>(operand) == static_cast<int>(place.index % 3) && random.take(3) == 0) {
        return nan_bits(format, negative, random.bits);
      }
      return narrow();
    default:
      return narrow();
  }
}

std::uint64_t ElementSource::draw_integer(Category category, Operand operand, const ElementPlace& place) const {
  const DataType type = this->type(operand);
  Random random = this->random(operand, place);
  const std::uint64_t mask = all_ones(numerics::storage_bits(type));
  const bool upper = random.take(1) != 0;
  if (operand == Operand::kC) {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    const auto distance = static_cast<std::int64_t>(random.take(16));
    const bool at_bound = category == Category::kSaturation;
    const std::int64_t value = at_bound ? (upper ? kLargest - distance : kLeast + distance) : distance - (1 << 15);
    return static_cast<std::uint64_t>(value) & mask;
  }
  const IntegerRange range = range_of(type);
  if (category == Category::kSaturation) {
    // The first half of k pushes over the bound, the second half comes back: a clamp in between
    // would show.
    const int depth = operand == Operand::kA ? instruction_.compressed_k() : instruction_.shape.k;
    const int k = operand == Operand::kA ? place.col : place.row;
    const bool largest = operand == Operand::kB || (k < depth / 2) == (place.row % 2 == 0);
    return static_cast<std::uint64_t>(largest ? range.largest : range.least) & mask;
  }
  if (category == Category::kExtremes) {
    return static_cast<std::uint64_t>(upper ? range.largest : range.least) & mask;
  }
  return random.bits & mask;
}

}  // namespace sptc::hardware
