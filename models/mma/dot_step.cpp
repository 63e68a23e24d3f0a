// SPDX-License-Identifier: Apache-2.0
#include "models/mma/dot_step.h"

#include "models/base/error.h"
#include "models/mma/lowered_fp8.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/numerics/float_format.h"
#include "models/sparsity/compress.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace sptc::mma {
namespace {

using numerics::FloatFormat;
using numerics::Unpacked;
using numerics::Word;

// One addend of a step: (-1)^negative * significand * 2^(exponent - fraction_bits). A product of
// two numbers in [1,2) lies in [1,4): it is not normalised.
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

  void add_product(const Unpacked& a, const Unpacked& b, int fraction_bits, int scale) {
    using Class = Unpacked::Class;
    const bool infinite = a.kind == Class::kInfinity || b.kind == Class::kInfinity;
    if (a.kind == Class::kNan || b.kind == Class::kNan ||
        (infinite && (a.is_zero() || b.is_zero()))) {
      nan = true;
    } else if (infinite) {
      add_infinity(a.negative != b.negative);
    } else {
      finite.push_back({a.negative != b.negative, std::uint64_t{a.significand} * b.significand,
                        a.exponent + b.exponent + scale, fraction_bits});
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

// MMA-Sim gives a zero of any format the exponent -126.
Unpacked operand(Word bits, const FloatFormat& format, ZeroRule zero_rule) {
  constexpr int kMmaSimZeroExponent = -126;
  Unpacked value = unpack(bits, format);
  if (zero_rule == ZeroRule::kMmaSim && value.is_zero()) {
    value.exponent = kMmaSimZeroExponent;
  }
  return value;
}

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

std::optional<int> largest_exponent(const StepTerms& terms, const StepRules& rules) {
  std::optional<int> largest = std::nullopt;
  for (const Term& term : terms.finite) {
    if (term.significand != 0 || rules.zero_rule == ZeroRule::kMmaSim) {
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
  if (term.significand == 0) {
    return 0;  // zero times a large number may stand above the largest exponent: no shift
  }
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

// sum * 2^unit_exponent in the output format, rounded once; gradual underflow, overflow to
// infinity, zero is +0.
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
  // The exponent field stands above the mantissa field, so a carry out of the quotient renormalises
  // by itself.
  const auto field_base = static_cast<std::uint64_t>(exponent - output.min_exponent());
  const std::uint64_t word = ((field_base << output.mantissa_bits) + quotient)
                             << output.discarded_low_bits;
  const Word infinity = numerics::infinity(output, false);
  const Word sign = Word{negative} << (output.storage_bits() - 1);
  return sign | static_cast<Word>(std::min<std::uint64_t>(word, infinity));
}

// What the step rounds to: e8m13 is f32 without its low fraction bits.
FloatFormat rounding_format(const FloatFormat& output, int cleared_bits) {
  FloatFormat format = output;
  format.mantissa_bits -= cleared_bits;
  format.discarded_low_bits += cleared_bits;
  return format;
}

std::uint64_t fused_multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  constexpr std::uint64_t kQuietBit = std::uint64_t{1} << 51;
  constexpr std::uint64_t kInvalid = 0xFFF8'0000'0000'0000;
  const double sum =
      std::fma(std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c));
  if (!std::isnan(sum)) {
    return std::bit_cast<std::uint64_t>(sum);
  }
  for (const std::uint64_t operand : {b, c, a}) {
    if (std::isnan(std::bit_cast<double>(operand))) {
      return operand | kQuietBit;
    }
  }
  return kInvalid;
}

}  // namespace

Word accumulator_word(Word c, const MmaInstruction& instruction) {
  const numerics::DataType type = instruction.c_type();
  return type == instruction.accumulator
             ? c
             : numerics::from_double(numerics::to_double(c, type), instruction.accumulator);
}

StepTrace trace_step(std::span<const Word> a, std::span<const Word> b, Word c,
                     const MmaInstruction& instruction, const StepRules& rules, int scale,
                     std::vector<Addend>* addends) {
  base::ensure(a.size() == b.size(), "trace_step: a and b differ in length");
  base::ensure(!rules.is_integer() && !rules.is_f64(), "trace_step: neither integers nor f64");
  const FloatFormat& a_format = *numerics::info(instruction.a_type).format;
  const FloatFormat& b_format = *numerics::info(instruction.b_type).format;
  const FloatFormat& output = *numerics::info(rules.output).format;

  StepTerms terms;
  terms.finite.reserve(a.size() + 1);
  for (std::size_t k = 0; k < a.size(); ++k) {
    terms.add_product(operand(a[k], a_format, rules.zero_rule),
                      operand(b[k], b_format, rules.zero_rule),
                      a_format.mantissa_bits + b_format.mantissa_bits, scale);
  }
  terms.add_accumulator(operand(c, output, rules.zero_rule), output.mantissa_bits);

  StepTrace trace;
  if (const auto special = special_result(terms, output)) {
    trace.result = *special;
    return trace;
  }
  trace.largest_exponent = largest_exponent(terms, rules);
  for (const Term& term : terms.finite) {
    const std::int64_t addend =
        trace.largest_exponent ? aligned(term, *trace.largest_exponent, rules.fraction_bits) : 0;
    trace.sum += addend;
    if (addends != nullptr) {
      addends->push_back({term.negative, term.significand, term.exponent - term.fraction_bits,
                          term.exponent, addend});
    }
  }
  if (!trace.largest_exponent) {
    return trace;
  }
  trace.result = rounded(trace.sum, *trace.largest_exponent - rules.fraction_bits,
                         rounding_format(output, rules.cleared_output_bits), rules.rounding);
  return trace;
}

Word integer_dot(std::span<const Word> a, std::span<const Word> b, Word c,
                 const MmaInstruction& instruction) {
  base::ensure(a.size() == b.size(), "integer_dot: a and b differ in length");
  std::int64_t sum = numerics::to_integer(c, numerics::DataType::kS32);
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (instruction.a_type == numerics::DataType::kB1) {
      const bool is_and = instruction.bit_operation == BitOperation::kAnd;
      sum += std::popcount(is_and ? a[k] & b[k] : a[k] ^ b[k]);
    } else {
      sum += numerics::to_integer(a[k], instruction.a_type) *
             numerics::to_integer(b[k], instruction.b_type);
    }
  }
  if (instruction.satfinite) {
    using Limits = std::numeric_limits<std::int32_t>;
    sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  }
  return static_cast<Word>(sum);
}

Word dot_step(std::span<const Word> a, std::span<const Word> b, Word c,
              const MmaInstruction& instruction, const StepRules& rules) {
  return rules.is_integer() ? integer_dot(a, b, c, instruction)
                            : trace_step(a, b, c, instruction, rules).result;
}

Word dense_dot(std::span<const Word> a_row, std::span<const Word> b_column, Word c,
               const MmaInstruction& instruction, const StepRules& rules) {
  base::ensure(a_row.size() == b_column.size(), "dense_dot: row and column differ in length");
  if (rules.lowered_fp8) {
    return lowered_fp8_dot(a_row, b_column, c, instruction, rules);
  }
  c = accumulator_word(c, instruction);
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
  base::ensure(a_row.size() == nibbles.size() * kept && b_column.size() == nibbles.size() * group,
               "sparse_dot: row, metadata and column do not fit together");
  std::vector<Word> selected(a_row.size());
  for (std::size_t t = 0; t < a_row.size(); ++t) {
    const std::size_t g = t / kept;
    const auto b = [&](int position) {
      return b_column[g * group + static_cast<std::size_t>(position)];
    };
    selected[t] = sparsity::selected_word(b, nibbles[g], static_cast<int>(t % kept), pattern);
  }
  return dense_dot(a_row, selected, c, instruction, rules);
}

Word block_scaled_dot(std::span<const Word> a_row, std::span<const Word> b_column,
                      std::span<const Word> a_scales, std::span<const Word> b_scales, Word c,
                      const MmaInstruction& instruction, const StepRules& rules) {
  base::ensure(rules.products_per_step == kScaleBlock, "block_scaled_dot: a step has one scale");
  base::ensure(a_row.size() == b_column.size() && a_row.size() == a_scales.size() * kScaleBlock &&
                   a_scales.size() == b_scales.size(),
               "block_scaled_dot: rows, columns and scales do not fit together");
  for (std::size_t block = 0; block < a_scales.size(); ++block) {
    const auto a_scale = numerics::scale_exponent(a_scales[block]);
    const auto b_scale = numerics::scale_exponent(b_scales[block]);
    if (!a_scale || !b_scale) {
      c = numerics::canonical_nan(*numerics::info(rules.output).format);
      continue;
    }
    const std::size_t k = block * kScaleBlock;
    c = trace_step(a_row.subspan(k, kScaleBlock), b_column.subspan(k, kScaleBlock), c, instruction,
                   rules, *a_scale + *b_scale)
            .result;
  }
  return c;
}

std::uint64_t f64_dot(std::span<const std::uint64_t> a_row, std::span<const std::uint64_t> b_column,
                      std::uint64_t c) {
  base::ensure(a_row.size() == b_column.size(), "f64_dot: row and column differ in length");
  for (std::size_t k = 0; k < a_row.size(); ++k) {
    c = fused_multiply_add(a_row[k], b_column[k], c);
  }
  return c;
}

}  // namespace sptc::mma
