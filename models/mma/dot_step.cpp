// SPDX-License-Identifier: Apache-2.0
#include "models/mma/dot_step.h"

#include "models/base/error.h"
#include "models/mma/lowered_fp8.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/compress.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
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
    if (a.kind == Class::kNan || b.kind == Class::kNan || (infinite && (a.is_zero() || b.is_zero()))) {
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
Unpacked with_zero_rule(Unpacked value, ZeroRule zero_rule) {
  constexpr int kMmaSimZeroExponent = -126;
  if (zero_rule == ZeroRule::kMmaSim && value.is_zero()) {
    value.exponent = kMmaSimZeroExponent;
  }
  return value;
}

Unpacked operand(Word bits, const FloatFormat& format, ZeroRule zero_rule) {
  return with_zero_rule(unpack(bits, format), zero_rule);
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
  return term.negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
}

// sum * 2^unit_exponent in the output format, rounded once; gradual underflow, overflow to
// infinity, zero is +0.
Word rounded(std::int64_t sum, int unit_exponent, const FloatFormat& output, OutputRounding rounding) {
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
    if (rounding == OutputRounding::kNearestEven && (remainder > half || (remainder == half && (quotient & 1) != 0))) {
      ++quotient;
    }
  }
  if (quotient == 0) {
    return 0;  // a negative sum that underflows gives +0 too
  }
  // The exponent field stands above the mantissa field, so a carry out of the quotient renormalises
  // by itself.
  const auto field_base = static_cast<std::uint64_t>(exponent - output.min_exponent());
  const std::uint64_t word = ((field_base << output.mantissa_bits) + quotient) << output.discarded_low_bits;
  const Word infinity = numerics::infinity(output, false);
  const Word sign = Word{negative} << (output.storage_bits() - 1);
  return sign | static_cast<Word>(std::min<std::uint64_t>(word, infinity));
}

Word rounded(std::int64_t sum, int largest_exponent, const StepRules& rules) {
  FloatFormat format = *numerics::info(rules.output).format;
  format.mantissa_bits -= rules.cleared_output_bits;  // e8m13 is f32 without its low fraction bits
  format.discarded_low_bits += rules.cleared_output_bits;
  return rounded(sum, largest_exponent - rules.fraction_bits, format, rules.rounding);
}

std::uint64_t fused_multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  constexpr std::uint64_t kQuietBit = std::uint64_t{1} << 51;
  constexpr std::uint64_t kInvalid = 0xFFF8'0000'0000'0000;
  const double sum = std::fma(std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c));
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
  return type == instruction.accumulator ? c
                                         : numerics::from_double(numerics::to_double(c, type), instruction.accumulator);
}

StepTrace trace_step(std::span<const Word> a, std::span<const Word> b, Word c, const MmaInstruction& instruction,
                     const StepRules& rules, int scale, std::vector<Addend>* addends) {
  base::ensure(a.size() == b.size(), "trace_step: a and b differ in length");
  base::ensure(!rules.is_integer() && !rules.is_f64(), "trace_step: neither integers nor f64");
  const FloatFormat& a_format = *numerics::info(instruction.a_type).format;
  const FloatFormat& b_format = *numerics::info(instruction.b_type).format;
  const FloatFormat& output = *numerics::info(rules.output).format;

  StepTerms terms;
  terms.finite.reserve(a.size() + 1);
  for (std::size_t k = 0; k < a.size(); ++k) {
    terms.add_product(operand(a[k], a_format, rules.zero_rule), operand(b[k], b_format, rules.zero_rule),
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
      addends->push_back({term.negative, term.significand, term.exponent - term.fraction_bits, term.exponent, addend});
    }
  }
  if (!trace.largest_exponent) {
    return trace;
  }
  trace.result = rounded(trace.sum, *trace.largest_exponent, rules);
  return trace;
}

Word integer_dot(std::span<const Word> a, std::span<const Word> b, Word c, const MmaInstruction& instruction) {
  base::ensure(a.size() == b.size(), "integer_dot: a and b differ in length");
  std::int64_t sum = numerics::to_integer(c, numerics::DataType::kS32);
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (instruction.a_type == numerics::DataType::kB1) {
      const bool is_and = instruction.bit_operation == BitOperation::kAnd;
      sum += std::popcount(is_and ? a[k] & b[k] : a[k] ^ b[k]);
    } else {
      sum += numerics::to_integer(a[k], instruction.a_type) * numerics::to_integer(b[k], instruction.b_type);
    }
  }
  if (instruction.satfinite) {
    using Limits = std::numeric_limits<std::int32_t>;
    sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  }
  return static_cast<Word>(sum);
}

Word dot_step(std::span<const Word> a, std::span<const Word> b, Word c, const MmaInstruction& instruction,
              const StepRules& rules) {
  return rules.is_integer() ? integer_dot(a, b, c, instruction) : trace_step(a, b, c, instruction, rules).result;
}

Word dense_dot(std::span<const Word> a_row, std::span<const Word> b_column, Word c, const MmaInstruction& instruction,
               const StepRules& rules) {
  base::ensure(a_row.size() == b_column.size(), "dense_dot: row and column differ in length");
  base::ensure(rules.scaled_window == ScaledWindow::kNone, "dense_dot: scales are missing");
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

Word sparse_dot(std::span<const Word> a_row, std::span<const std::uint8_t> nibbles, std::span<const Word> b_column,
                Word c, const MmaInstruction& instruction, const StepRules& rules) {
  const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  const auto group = static_cast<std::size_t>(pattern.group);
  base::ensure(a_row.size() == nibbles.size() * kept && b_column.size() == nibbles.size() * group,
               "sparse_dot: row, metadata and column do not fit together");
  std::vector<Word> selected(a_row.size());
  for (std::size_t t = 0; t < a_row.size(); ++t) {
    const std::size_t g = t / kept;
    const auto b = [&](int position) { return b_column[g * group + static_cast<std::size_t>(position)]; };
    selected[t] = sparsity::selected_word(b, nibbles[g], static_cast<int>(t % kept), pattern);
  }
  return dense_dot(a_row, selected, c, instruction, rules);
}

namespace {

// The operands of one step with block scales, those taken apart.
struct ScaledOperands {
  std::span<const Word> a, b;
  std::span<const Unpacked> a_scales, b_scales;
  BlockScales scales;

  bool has_nan_scale() const {
    const auto is_nan = [](const Unpacked& scale) { return scale.kind == Unpacked::Class::kNan; };
    return std::any_of(a_scales.begin(), a_scales.end(), is_nan) ||
           std::any_of(b_scales.begin(), b_scales.end(), is_nan);
  }
};

// Products of e2m1 that stand side by side under one pair of scales, added exactly.
struct ScaledGroup {
  Term sum;                    // its exponent is that of the scales
  std::optional<int> largest;  // exponent of the largest product; nothing: all are zero
};

ScaledGroup scaled_group(const ScaledOperands& of, std::size_t first, std::size_t width) {
  const FloatFormat& format = *numerics::info(numerics::DataType::kE2m1).format;
  const std::size_t block = first / static_cast<std::size_t>(of.scales.block);
  const Unpacked& a_scale = of.a_scales[block];
  const Unpacked& b_scale = of.b_scales[block];
  const int scale = a_scale.exponent + b_scale.exponent;
  ScaledGroup group{};
  std::int64_t sum = 0;
  for (std::size_t k = first; k < first + width; ++k) {
    const Unpacked a = unpack(of.a[k], format);
    const Unpacked b = unpack(of.b[k], format);
    const int exponent = a.exponent + b.exponent;  // of e2m1 none is negative
    const std::int64_t product = std::int64_t{a.significand * b.significand * a_scale.significand * b_scale.significand}
                                 << exponent;
    sum += a.negative != b.negative ? -product : product;
    if (product != 0) {
      group.largest = std::max(group.largest, std::optional(scale + exponent));
    }
  }
  group.sum = {sum < 0, static_cast<std::uint64_t>(std::abs(sum)), scale,
               2 * (format.mantissa_bits + mantissa_bits(of.scales.type))};
  return group;
}

std::vector<ScaledGroup> scaled_groups(const ScaledOperands& of, std::size_t width) {
  std::vector<ScaledGroup> groups;
  for (std::size_t k = 0; k < of.a.size(); k += width) {
    groups.push_back(scaled_group(of, k, width));
  }
  return groups;
}

Word scaled_sum(std::span<const ScaledGroup> groups, const Term& c, int window, const StepRules& rules) {
  std::int64_t sum = aligned(c, window, rules.fraction_bits);
  for (const ScaledGroup& group : groups) {
    sum += aligned(group.sum, window, rules.fraction_bits);
  }
  return rounded(sum, window, rules);
}

// The sum of a step with ue8m0 scales on B200 in which a product stands above C. A group that C
// reaches is cut as if C had the window. Where scales are so small that C is 0 and the result
// subnormal, groups below 2^-174 are lost, unless the result is 0 with them.
Word mxf4_sum_of_b200(std::span<const ScaledGroup> groups, const Term& c, int window, const StepRules& rules) {
  constexpr int kLostExponent = -174;
  const int lost_bits = std::clamp(kLostExponent - (window - rules.fraction_bits), 0, 62);
  std::int64_t sum = aligned(c, window, rules.fraction_bits);
  std::int64_t lost = 0;
  for (const ScaledGroup& group : groups) {
    const bool c_reaches = c.significand != 0 && c.exponent >= group.largest;
    const int coarser = c_reaches ? std::max(c.exponent - window, 0) : 0;  // at most 3
    const std::int64_t addend =
        aligned(group.sum, window + coarser, rules.fraction_bits) * (std::int64_t{1} << coarser);
    sum += addend;
    lost += std::abs(addend) >> lost_bits == 0 ? addend : 0;
  }
  const Word whole = rounded(sum, window, rules);
  return whole == 0 ? whole : rounded(sum - lost, window, rules);
}

// One step of mxf4 or mxf4nvf4. Sf-tensor has the units max(R - 39, S - 35) and eC - 35, where R
// and S are the largest exponents of products and of scales. A product of e2m1 stands at most 4
// above its scales, so that they are S - F and eC - F. An exponent that is missing is below all.
Word scaled_fp4_step(const ScaledOperands& of, Word c, const StepRules& rules) {
  constexpr std::size_t kGroup = 16;
  constexpr std::size_t kShortGroup = 4;
  const FloatFormat& output = *numerics::info(rules.output).format;
  const Unpacked addend = operand(c, output, rules.zero_rule);
  if (of.has_nan_scale() || addend.kind == Unpacked::Class::kNan) {
    return numerics::canonical_nan(output);
  }
  if (addend.kind == Unpacked::Class::kInfinity) {
    return c;  // products of e2m1 have none
  }
  const bool all_take_part = rules.zero_rule == ZeroRule::kMmaSim;
  const std::vector<ScaledGroup> groups = scaled_groups(of, kGroup);
  std::optional<int> scales = std::nullopt;
  std::optional<int> products = std::nullopt;
  for (const ScaledGroup& group : groups) {
    if (group.largest || all_take_part) {
      scales = std::max(scales, std::optional(group.sum.exponent));
    }
    products = std::max(products, group.largest);
  }
  const Term term{addend.negative, addend.significand, addend.exponent, output.mantissa_bits};
  const bool of_b200 = rules.scaled_window == ScaledWindow::kTcgen05;
  const bool has_c = addend.significand != 0 || all_take_part;
  if (has_c && addend.exponent >= (of_b200 ? products : scales)) {
    return scaled_sum(groups, term, addend.exponent, rules);
  }
  if (!scales) {
    return 0;
  }
  if (of_b200 && of.scales.type == numerics::ScaleType::kUe8m0) {
    return mxf4_sum_of_b200(groups, term, *scales, rules);
  }
  return scaled_sum(of_b200 ? scaled_groups(of, kShortGroup) : groups, term, *scales, rules);
}

// One step of mxf8f6f4, over one block.
Word scaled_step(const ScaledOperands& of, Word c, const MmaInstruction& instruction, const StepRules& rules) {
  if (of.has_nan_scale()) {
    return numerics::canonical_nan(*numerics::info(rules.output).format);
  }
  const int scale = of.a_scales.front().exponent + of.b_scales.front().exponent;
  return trace_step(of.a, of.b, c, instruction, rules, scale).result;
}

std::vector<Unpacked> unpack_scales(std::span<const Word> scales, const BlockScales& kind, ZeroRule zero_rule) {
  std::vector<Unpacked> result;
  for (const Word scale : scales) {
    result.push_back(with_zero_rule(numerics::unpack_scale(scale, kind.type), zero_rule));
  }
  return result;
}

}  // namespace

Word block_scaled_dot(std::span<const Word> a_row, std::span<const Word> b_column, std::span<const Word> a_scales,
                      std::span<const Word> b_scales, Word c, const MmaInstruction& instruction,
                      const StepRules& rules) {
  base::ensure(instruction.scales.has_value(), "block_scaled_dot: without scales");
  const BlockScales& scales = *instruction.scales;
  const auto block = static_cast<std::size_t>(scales.block);
  const auto step = static_cast<std::size_t>(rules.products_per_step);
  const bool is_fp4 = rules.scaled_window != ScaledWindow::kNone;
  base::ensure(is_fp4 ? step % block == 0 : step == block, "block_scaled_dot: a step is no number of blocks");
  base::ensure(a_row.size() == b_column.size() && a_row.size() % step == 0 && a_row.size() == a_scales.size() * block &&
                   a_scales.size() == b_scales.size(),
               "block_scaled_dot: rows, columns and scales do not fit together");
  const std::vector<Unpacked> of_a = unpack_scales(a_scales, scales, rules.zero_rule);
  const std::vector<Unpacked> of_b = unpack_scales(b_scales, scales, rules.zero_rule);
  for (std::size_t k = 0; k < a_row.size(); k += step) {
    const ScaledOperands operands{a_row.subspan(k, step), b_column.subspan(k, step),
                                  std::span(of_a).subspan(k / block, step / block),
                                  std::span(of_b).subspan(k / block, step / block), scales};
    c = is_fp4 ? scaled_fp4_step(operands, c, rules) : scaled_step(operands, c, instruction, rules);
  }
  return c;
}

std::uint64_t f64_dot(std::span<const std::uint64_t> a_row, std::span<const std::uint64_t> b_column, std::uint64_t c) {
  base::ensure(a_row.size() == b_column.size(), "f64_dot: row and column differ in length");
  for (std::size_t k = 0; k < a_row.size(); ++k) {
    c = fused_multiply_add(a_row[k], b_column[k], c);
  }
  return c;
}

}  // namespace sptc::mma
