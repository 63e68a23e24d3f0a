// SPDX-License-Identifier: Apache-2.0
#include "models/mma/dot_step.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "models/base/error.h"
#include "models/sparsity/compress.h"

namespace sptc::mma {
namespace {

using numerics::FloatFormat;
using numerics::Unpacked;
using numerics::Word;

// One addend of a step: (-1)^negative * significand * 2^(exponent - fraction_bits). A product of two numbers in [1,2)
// lies in [1,4): it is not normalised.
struct Term {
  bool negative;
  std::uint64_t significand;
  int exponent;
  int fraction_bits;
};

struct StepTerms {
  std::vector<Term> finite;
  bool nan = false;
  bool positive_infinity = false;
  bool negative_infinity = false;

  void add_infinity(bool negative) { (negative ? negative_infinity : positive_infinity) = true; }

  void add_product(const Unpacked& a, const Unpacked& b, int fraction_bits) {
    using Class = Unpacked::Class;
    const bool infinite = a.kind == Class::kInfinity || b.kind == Class::kInfinity;
    if (a.kind == Class::kNan || b.kind == Class::kNan ||
        (infinite && (a.is_zero() || b.is_zero()))) {
      nan = true;
    } else if (infinite) {
      add_infinity(a.negative != b.negative);
    } else {
      finite.push_back({a.negative != b.negative, std::uint64_t{a.significand} * b.significand,
                        a.exponent + b.exponent, fraction_bits});
    }
  }

  void add_accumulator(const Unpacked& c, int fraction_bits) {
    if (c.kind == Unpacked::Class::kNan) {
      nan = true;
    } else if (c.kind == Unpacked::Class::kInfinity) {
      add_infinity(c.negative);
    } else {
      finite.push_back({c.negative, c.significand, c.exponent, fraction_bits});
    }
  }
};

// NaN, 0*Inf and Inf-Inf give the canonical NaN; else any infinity wins.
std::optional<Word> special_result(const StepTerms& terms, const FloatFormat& output) {
  if (terms.nan || (terms.positive_infinity && terms.negative_infinity)) {
    return numerics::canonical_nan(output);
  }
  if (terms.positive_infinity || terms.negative_infinity) {
    return numerics::infinity(output, terms.negative_infinity);
  }
  return std::nullopt;
}

// Zeros take no part in the choice of the largest exponent.
std::optional<int> largest_exponent(const StepTerms& terms, const StepRules& rules) {
  std::optional<int> largest = std::nullopt;
  for (const Term& term : terms.finite) {
    if (term.significand != 0) {
      largest = std::max(largest.value_or(term.exponent), term.exponent);
    }
  }
  if (largest && rules.exponent_floor) {
    largest = std::max(*largest, *rules.exponent_floor);
  }
  return largest;
}

// The magnitude in units of 2^(largest - F), cut toward zero.
std::int64_t aligned(const Term& term, int largest, int fraction_bits) {
  const int shift = fraction_bits - term.fraction_bits - (largest - term.exponent);
  std::uint64_t magnitude = 0;
  if (shift >= 0) {
    magnitude = term.significand << shift;
  } else if (-shift <= 63) {
    magnitude = term.significand >> -shift;
  }
  return term.negative ? -static_cast<std::int64_t>(magnitude)
                       : static_cast<std::int64_t>(magnitude);
}

// sum * 2^unit_exponent in the output format, rounded once; gradual underflow, overflow to infinity, zero is +0.
Word rounded(std::int64_t sum, int unit_exponent, const FloatFormat& output,
             OutputRounding rounding) {
  if (sum == 0) {
    return 0;
  }
  const bool negative = sum < 0;
  const auto magnitude = static_cast<std::uint64_t>(negative ? -sum : sum);
  const int top = static_cast<int>(std::bit_width(magnitude)) - 1 + unit_exponent;
  const int exponent = std::max(top, output.min_exponent());
  const int dropped = exponent - output.mantissa_bits - unit_exponent;
  std::uint64_t quotient = 0;
  if (dropped <= 0) {
    quotient = magnitude << -dropped;
  } else if (dropped <= 63) {
    quotient = magnitude >> dropped;
    const std::uint64_t remainder = magnitude - (quotient << dropped);
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    if (rounding == OutputRounding::kNearestEven &&
        (remainder > half || (remainder == half && (quotient & 1) != 0))) {
      ++quotient;
    }
  }
  if (quotient == 0) {
    return 0;  // a negative sum that underflows gives +0 too
  }
  // The exponent field stands above the mantissa field, so a carry out of the quotient renormalises by itself.
  const auto field_base = static_cast<std::uint64_t>(exponent - output.min_exponent());
  const std::uint64_t word = (field_base << output.mantissa_bits) + quotient;
  const Word infinity = numerics::infinity(output, false);
  const Word sign = Word{negative} << (output.storage_bits() - 1);
  return sign | static_cast<Word>(std::min<std::uint64_t>(word, infinity));
}

Word integer_step(std::span<const Word> a, std::span<const Word> b, Word c) {
  std::uint32_t sum = c;  // exact mod 2^32
  for (std::size_t k = 0; k < a.size(); ++k) {
    const int product = static_cast<std::int8_t>(a[k] & 0xFF) * static_cast<std::int8_t>(b[k] & 0xFF);
    sum += static_cast<std::uint32_t>(product);
  }
  return sum;
}

}  // namespace

Word dot_step(std::span<const Word> a, std::span<const Word> b, Word c,
              const MmaInstruction& instruction, const StepRules& rules) {
  ensure(a.size() == b.size(), "dot_step: a and b differ in length");
  if (rules.is_integer()) {
    return integer_step(a, b, c);
  }
  const FloatFormat& a_format = *numerics::info(instruction.a_type).format;
  const FloatFormat& b_format = *numerics::info(instruction.b_type).format;
  const FloatFormat& output = *numerics::info(rules.output).format;

  StepTerms terms;
  terms.finite.reserve(a.size() + 1);
  for (std::size_t k = 0; k < a.size(); ++k) {
    terms.add_product(unpack(a[k], a_format), unpack(b[k], b_format),
                      a_format.mantissa_bits + b_format.mantissa_bits);
  }
  terms.add_accumulator(unpack(c, output), output.mantissa_bits);

  if (const auto special = special_result(terms, output)) {
    return *special;
  }
  const auto largest = largest_exponent(terms, rules);
  if (!largest) {
    return 0;
  }
  std::int64_t sum = 0;
  for (const Term& term : terms.finite) {
    sum += aligned(term, *largest, rules.fraction_bits);
  }
  return rounded(sum, *largest - rules.fraction_bits, output, rules.rounding);
}

Word dense_dot(std::span<const Word> a_row, std::span<const Word> b_column, Word c,
               const MmaInstruction& instruction, const StepRules& rules) {
  ensure(a_row.size() == b_column.size(), "dense_dot: row and column differ in length");
  const auto step = static_cast<std::size_t>(rules.products_per_step);
  for (std::size_t k = 0; k < a_row.size(); k += step) {
    const std::size_t count = std::min(step, a_row.size() - k);
    c = dot_step(a_row.subspan(k, count), b_column.subspan(k, count), c, instruction, rules);
  }
  return c;
}

Word sparse_dot(std::span<const Word> a_row, std::span<const std::uint8_t> nibbles,
                std::span<const Word> b_column, Word c, const MmaInstruction& instruction,
                const StepRules& rules) {
  const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  const auto group = static_cast<std::size_t>(pattern.group);
  ensure(a_row.size() == nibbles.size() * kept && b_column.size() == nibbles.size() * group,
         "sparse_dot: row, metadata and column do not fit together");
  std::vector<Word> selected(a_row.size());
  for (std::size_t t = 0; t < a_row.size(); ++t) {
    const std::size_t g = t / kept;
    const int position =
        sparsity::selected_position(nibbles[g], static_cast<int>(t % kept), pattern);
    selected[t] = b_column[g * group + static_cast<std::size_t>(position)];
  }
  return dense_dot(a_row, selected, c, instruction, rules);
}

}  // namespace sptc::mma
