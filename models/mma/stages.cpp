// SPDX-License-Identifier: Apache-2.0
#include "models/mma/stages.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "models/base/vector_clones.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/compress.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

namespace sptc::mma {
namespace {

using numerics::DataType;
using numerics::FloatFormat;

// |value| * 2^left, then cut to the right by `right` (any size), sign put back.
inline std::int32_t cut_magnitude(std::int32_t value, int left, std::int32_t right) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value >> 31);
  const std::uint32_t magnitude = (static_cast<std::uint32_t>(value) ^ sign) - sign;
  const std::uint32_t cut = (magnitude << left) >> std::min(right, 31);
  return static_cast<std::int32_t>((cut ^ sign) - sign);
}

// Flags of the product of two operands of which at least one is special.
inline std::uint8_t product_flags(std::uint8_t a, std::uint8_t b, bool a_zero, bool b_zero, bool negative_a,
                                  bool negative_b) {
  if (((a | b) & kFlagNan) != 0 || (a != 0 && b == 0 && b_zero) || (b != 0 && a == 0 && a_zero)) {
    return kFlagNan;
  }
  return negative_a != negative_b ? kFlagNegativeInfinity : kFlagPositiveInfinity;
}

void mark_specials(const StepContext& context, const SelectedOperands& selected, const Accumulators& accumulator,
                   Products& products) {
  const int width = context.rules.products_per_step;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kCols; ++j) {
      std::uint8_t flags = accumulator.has_special ? accumulator.flags[i][j] : std::uint8_t{0};
      for (int t = 0; t < width; ++t) {
        const std::uint8_t a = selected.a.has_special ? selected.a.flags[i][t] : std::uint8_t{0};
        const int b_index = i * width + t;
        const std::uint8_t b = selected.b.has_special ? selected.b.flags[b_index][j] : std::uint8_t{0};
        if ((a | b) != 0) {
          const std::int32_t a_value = selected.a.significand[i][t];
          const std::int32_t b_value = selected.b.significand[b_index][j];
          flags |= product_flags(a, b, a_value == 0, b_value == 0, a_value < 0 || a == kFlagNegativeInfinity,
                                 b_value < 0 || b == kFlagNegativeInfinity);
        }
      }
      products.special[i][j] = flags;
    }
  }
}

std::uint32_t special_word(std::uint8_t flags, const FloatFormat& output) {
  constexpr std::uint8_t kBothInfinities = kFlagPositiveInfinity | kFlagNegativeInfinity;
  if ((flags & kFlagNan) != 0 || (flags & kBothInfinities) == kBothInfinities) {
    return numerics::canonical_nan(output);
  }
  return numerics::infinity(output, (flags & kFlagNegativeInfinity) != 0);
}

base::InputError not_executed(const MmaInstruction& instruction, const StepRules& rules) {
  return base::InputError("--fidelity datapath does not execute " + instruction.ptx_name() + " with this arithmetic (" +
                          std::to_string(rules.products_per_step) + " products per step" +
                          (rules.lowered_fp8 ? ", lowered to f16" : "") + ")");
}

bool has_data_path_shape(const MmaInstruction& instruction) {
  const auto words = [&](int elements) { return elements * numerics::storage_bits(instruction.a_type) / 32; };
  return instruction.shape.m == kRows && instruction.shape.n == kCols &&
         instruction.compressed_k() <= kMaxCompressedK && instruction.shape.k <= kMaxLogicalK &&
         words(instruction.compressed_k()) <= kMaxAWords && words(instruction.shape.k) <= kMaxBWords;
}

bool has_data_path_arithmetic(const MmaInstruction& instruction, const StepRules& rules) {
  constexpr std::array kTypes{DataType::kF16,  DataType::kBf16, DataType::kTf32,
                              DataType::kE4m3, DataType::kE5m2, DataType::kS8};
  const bool known_type = instruction.a_type == instruction.b_type &&
                          std::find(kTypes.begin(), kTypes.end(), instruction.a_type) != kTypes.end();
  return known_type && instruction.family == MmaFamily::kMma && !instruction.scales && !instruction.satfinite &&
         rules.zero_rule == ZeroRule::kIgnore && rules.products_per_step <= kMaxStepProducts;
}

/// Throws InputError for arithmetic that the wires between the stages do not carry.
void require_data_path(const MmaInstruction& instruction, const StepRules& rules) {
  if (!has_data_path_shape(instruction)) {
    throw base::InputError("--fidelity datapath simulates m16n8 instructions with at most " +
                           std::to_string(kMaxLogicalK) + " rows and " + std::to_string(kMaxBWords * 4) +
                           " bytes per column of B, not " + instruction.ptx_name());
  }
  if (!has_data_path_arithmetic(instruction, rules)) {
    throw not_executed(instruction, rules);
  }
}

// One sum in units of 2^unit_exponent to a word of the output format.
inline std::uint32_t round_sum(std::int64_t sum, int unit_exponent, const FloatFormat& output, std::uint32_t infinity,
                               bool nearest_even) {
  const std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  if (magnitude == 0) {
    return 0;
  }
  const int exponent = std::max(static_cast<int>(std::bit_width(magnitude)) - 1 + unit_exponent, output.min_exponent());
  const int dropped = exponent - output.mantissa_bits - unit_exponent;
  std::uint64_t kept = 0;
  if (dropped <= 0) {
    kept = magnitude << -dropped;
  } else if (dropped < 64) {
    kept = magnitude >> dropped;
    if (nearest_even) {
      const std::uint64_t guard = (magnitude >> (dropped - 1)) & 1;
      const bool sticky = (magnitude & ((std::uint64_t{1} << (dropped - 1)) - 1)) != 0;
      kept += guard & static_cast<std::uint64_t>(sticky || (kept & 1) != 0);
    }
  }
  if (kept == 0) {
    return 0;
  }
  const std::uint64_t word =
      kept + (static_cast<std::uint64_t>(exponent - output.min_exponent()) << output.mantissa_bits);
  const std::uint32_t sign = sum < 0 ? 1U << (output.storage_bits() - 1) : 0U;
  return sign | static_cast<std::uint32_t>(std::min<std::uint64_t>(word, infinity));
}

}  // namespace

StepContext::StepContext(const MmaInstruction& which, const StepRules& step_rules)
    : instruction(which), rules(step_rules) {
  require_data_path(instruction, rules);
  operand_bits = rules.lowered_fp8 ? 16 : numerics::storage_bits(instruction.a_type);
  steps = instruction.compressed_k() / rules.products_per_step;
  base::ensure(steps * rules.products_per_step == instruction.compressed_k(),
               "StepContext: depth is no multiple of the step");
  if (!rules.is_integer()) {
    const FloatFormat& operand = *numerics::info(instruction.a_type).format;
    product_shift = rules.fraction_bits - 2 * operand.mantissa_bits;
    accumulator_shift = rules.fraction_bits - numerics::info(rules.output).format->mantissa_bits;
    // Addends are 32-bit lanes: 2 integer bits, F fraction bits and the sign. Operands are 16-bit
    // lanes.
    base::ensure(rules.fraction_bits > 0 && rules.fraction_bits <= 28 && operand.mantissa_bits <= 14,
                 "StepContext: operands or products do not fit their wires");
  }
}

bool StepContext::carries(const MmaInstruction& which, const StepRules& step_rules) {
  return has_data_path_shape(which) && has_data_path_arithmetic(which, step_rules);
}

StepContext StepContext::timing_only(const MmaInstruction& which, int step_bytes) {
  StepContext context;
  context.instruction = which;
  context.rules.output = which.accumulator;
  // A dot unit narrower than an element takes longer for each, one by one.
  const int products = std::max(1, step_bytes * 8 / numerics::storage_bits(which.a_type));
  const bool one_pass = context.rules.is_f64() || products > which.compressed_k();
  context.rules.products_per_step = one_pass ? which.compressed_k() : products;
  context.operand_bits = numerics::storage_bits(which.a_type);
  context.steps = static_cast<int>(base::ceil_div(which.compressed_k(), context.rules.products_per_step));
  return context;
}

void StepContext::require_values() const {
  if (rules.lowered_fp8) {
    throw not_executed(instruction, rules);
  }
}

SPTC_VECTOR_CLONES
void select_operands(const StepContext& context, const FetchedOperands& fetched, int step, SelectedOperands& selected) {
  const int width = context.rules.products_per_step;
  const int first = step * width;
  const bool sparse = context.instruction.sparse;
  const bool by_indices = context.instruction.pattern.has_value();
  const sparsity::Pattern pattern = context.instruction.sparse_pattern();
  const sparsity::SelectionTable positions(context.instruction.a_type);
  const int log2_kept = std::countr_zero(positions.kept);  // of the hardware's patterns, which are all powers of two
  selected.a.has_special = fetched.a.has_special;
  selected.b.has_special = fetched.b.has_special;
  for (int i = 0; i < kRows; ++i) {
    for (int t = 0; t < width; ++t) {
      const int k = first + t;
      int b_row = k;
      if (by_indices) {
        b_row = k / pattern.kept * pattern.group + fetched.indices[i][k];
      } else if (sparse) {
        const int group = k >> log2_kept;
        const int slot = k & (pattern.kept - 1);
        b_row = group * pattern.group + positions.position[fetched.nibbles[i][group]][slot];
      }
      selected.b_row[i][t] = static_cast<std::uint8_t>(b_row);
      selected.a.significand[i][t] = fetched.a.significand[i][k];
      selected.a.exponent[i][t] = fetched.a.exponent[i][k];
      std::memcpy(selected.b.significand[i * width + t], fetched.b.significand[b_row],
                  sizeof(selected.b.significand[0]));
      std::memcpy(selected.b.exponent[i * width + t], fetched.b.exponent[b_row], sizeof(selected.b.exponent[0]));
      if (fetched.a.has_special) {
        selected.a.flags[i][t] = fetched.a.flags[i][k];
      }
      if (fetched.b.has_special) {
        std::memcpy(selected.b.flags[i * width + t], fetched.b.flags[b_row], kCols);
      }
    }
  }
}

SPTC_VECTOR_CLONES
void multiply(const StepContext& context, const SelectedOperands& selected, const Accumulators& accumulator,
              Products& products) {
  const int width = context.rules.products_per_step;
  const std::int32_t floor = context.rules.exponent_floor.value_or(std::numeric_limits<std::int32_t>::min());
  for (int i = 0; i < kRows; ++i) {
    std::int32_t largest[kCols];
    SPTC_LANES
    for (int j = 0; j < kCols; ++j) {
      largest[j] = std::max(accumulator.exponent[i][j], floor);
    }
    for (int t = 0; t < width; ++t) {
      const std::int32_t a = selected.a.significand[i][t];
      const std::int32_t a_exponent = selected.a.exponent[i][t];
      const int index = i * width + t;
      SPTC_LANES
      for (int j = 0; j < kCols; ++j) {
        const std::int32_t exponent = a_exponent + selected.b.exponent[index][j];
        products.significand[index][j] = a * selected.b.significand[index][j];
        products.exponent[index][j] = static_cast<std::int16_t>(exponent);
        largest[j] = std::max(largest[j], exponent);
      }
    }
    std::memcpy(products.max_exponent[i], largest, sizeof(largest));
  }
  std::memcpy(products.accumulator.significand, accumulator.significand, sizeof(accumulator.significand));
  std::memcpy(products.accumulator.exponent, accumulator.exponent, sizeof(accumulator.exponent));
  products.has_special = selected.a.has_special || selected.b.has_special || accumulator.has_special;
  if (products.has_special) {
    mark_specials(context, selected, accumulator, products);
  }
}

SPTC_VECTOR_CLONES
void align_and_add(const StepContext& context, const Products& products, AlignedSums& sums) {
  const int width = context.rules.products_per_step;
  const int product_left = std::max(context.product_shift, 0);
  const int product_right = std::max(-context.product_shift, 0);
  const int c_left = std::max(context.accumulator_shift, 0);
  const int c_right = std::max(-context.accumulator_shift, 0);
  for (int i = 0; i < kRows; ++i) {
    const std::int32_t* largest = products.max_exponent[i];
    std::int64_t sum[kCols];
    std::int32_t* c_addend = sums.addend[i * (kMaxStepProducts + 1) + width];
    SPTC_LANES
    for (int j = 0; j < kCols; ++j) {
      const std::int32_t distance = largest[j] - products.accumulator.exponent[i][j] + c_right;
      c_addend[j] = cut_magnitude(products.accumulator.significand[i][j], c_left, distance);
      sum[j] = c_addend[j];
    }
    for (int t = 0; t < width; ++t) {
      const int index = i * width + t;
      std::int32_t* addend = sums.addend[i * (kMaxStepProducts + 1) + t];
      SPTC_LANES
      for (int j = 0; j < kCols; ++j) {
        const std::int32_t distance = largest[j] - products.exponent[index][j] + product_right;
        addend[j] = cut_magnitude(products.significand[index][j], product_left, distance);
        sum[j] += addend[j];
      }
    }
    std::memcpy(sums.sum[i], sum, sizeof(sum));
  }
  std::memcpy(sums.max_exponent, products.max_exponent, sizeof(sums.max_exponent));
  sums.has_special = products.has_special;
  if (products.has_special) {
    std::memcpy(sums.special, products.special, sizeof(sums.special));
  }
}

SPTC_VECTOR_CLONES
void round_sums(const StepContext& context, const AlignedSums& sums, RoundedResults& results) {
  if (context.rules.is_integer()) {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kCols; ++j) {
        results.word[i][j] = static_cast<std::uint32_t>(sums.sum[i][j]);
      }
    }
    return;
  }
  const FloatFormat full = *numerics::info(context.rules.output).format;
  // An output of fewer fraction bits is rounded as a shorter format and stored with zeros below.
  const int cleared = context.rules.cleared_output_bits;
  const FloatFormat output{full.exponent_bits, full.mantissa_bits - cleared};
  const std::uint32_t infinity = numerics::infinity(output, false);
  const bool nearest_even = context.rules.rounding == OutputRounding::kNearestEven;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kCols; ++j) {
      results.word[i][j] = round_sum(sums.sum[i][j], sums.max_exponent[i][j] - context.rules.fraction_bits, output,
                                     infinity, nearest_even)
                           << cleared;
    }
  }
  if (sums.has_special) {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kCols; ++j) {
        if (sums.special[i][j] != 0) {
          results.word[i][j] = special_word(sums.special[i][j], full);
        }
      }
    }
  }
}

}  // namespace sptc::mma
