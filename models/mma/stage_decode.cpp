// SPDX-License-Identifier: Apache-2.0
// The first stage: registers in matrix order, taken apart into significands and exponents.
#include "models/base/vector_clones.h"
#include "models/mma/stages.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace sptc::mma {
namespace {

using numerics::DataType;
using numerics::FloatFormat;

// Branch-free unpack of one finite word; specials only raise `special`.
struct FloatDecoder {
  explicit FloatDecoder(const FloatFormat& format)
      : format_(format),
        field_mask_((1U << format.exponent_bits) - 1),
        mantissa_mask_((1U << format.mantissa_bits) - 1) {}

  std::uint32_t field(std::uint32_t word) const {
    return (word >> (format_.discarded_low_bits + format_.mantissa_bits)) & field_mask_;
  }
  bool is_special(std::uint32_t word) const { return field(word) == field_mask_; }

  template <typename Lane>
  void decode(std::uint32_t word, Lane& significand, Lane& exponent) const {
    const std::uint32_t bits = word >> format_.discarded_low_bits;
    const std::uint32_t exponent_field = field(word);
    const std::uint32_t magnitude = (bits & mantissa_mask_) | (exponent_field != 0 ? 1U << format_.mantissa_bits : 0U);
    const bool negative = ((bits >> (format_.storage_bits() - 1 - format_.discarded_low_bits)) & 1) != 0;
    const auto value = static_cast<std::int32_t>(magnitude);
    significand = static_cast<Lane>(negative ? -value : value);
    const std::int32_t unbiased =
        static_cast<std::int32_t>(exponent_field) - format_.bias() + (exponent_field == 0 ? 1 : 0);
    exponent = static_cast<Lane>(magnitude == 0 ? kZeroExponent : unbiased);
  }

  std::uint8_t flags(std::uint32_t word) const {
    const numerics::Unpacked value = numerics::unpack(word, format_);
    switch (value.kind) {
      case numerics::Unpacked::Class::kNan:
        return kFlagNan;
      case numerics::Unpacked::Class::kInfinity:
        return value.negative ? kFlagNegativeInfinity : kFlagPositiveInfinity;
      case numerics::Unpacked::Class::kFinite:
        break;
    }
    return 0;
  }

 private:
  FloatFormat format_;
  std::uint32_t field_mask_;
  std::uint32_t mantissa_mask_;
};

// Decodes words(row, col) into `numbers`. Specials become zeros with flags.
template <typename Numbers, typename WordAt>
inline __attribute__((always_inline)) void decode_floats(const FloatFormat& format, int rows, int cols, WordAt word_at,
                                                         Numbers& numbers) {
  const FloatDecoder decoder(format);
  bool special = false;
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) {
      const std::uint32_t word = word_at(r, c);
      special |= decoder.is_special(word);
      decoder.decode(word, numbers.significand[r][c], numbers.exponent[r][c]);
    }
  }
  numbers.has_special = special;
  if (!special) {
    return;
  }
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) {
      const std::uint8_t flags = decoder.flags(word_at(r, c));
      numbers.flags[r][c] = flags;
      if (flags != 0) {
        numbers.significand[r][c] = 0;
        numbers.exponent[r][c] = kZeroExponent;
      }
    }
  }
}

template <typename Numbers, typename WordAt>
inline __attribute__((always_inline)) void decode_integers(bool signed_bytes, int rows, int cols, WordAt word_at,
                                                           Numbers& numbers) {
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) {
      const std::uint32_t word = word_at(r, c);
      using Lane = std::remove_reference_t<decltype(numbers.significand[r][c])>;
      numbers.significand[r][c] = signed_bytes ? static_cast<std::int8_t>(word & 0xFF) : static_cast<Lane>(word);
      numbers.exponent[r][c] = 0;
    }
  }
  numbers.has_special = false;
}

// Elements of storage type Raw packed in words, `row_words` words to a line. Lines are rows, or
// columns if `transposed`.
template <typename Raw, typename Numbers, typename Decode>
inline __attribute__((always_inline)) void decode_packed(int rows, int cols, const std::uint32_t* words, int row_words,
                                                         bool transposed, Decode decode, Numbers& numbers) {
  constexpr int kMaxLines = std::max(kRows, kCols);
  constexpr int kLineElements = kMaxBWords * 4 / sizeof(Raw);
  Raw lines[kMaxLines][kLineElements];
  const std::size_t used = static_cast<std::size_t>(transposed ? rows : cols) * sizeof(Raw);
  for (int line = 0; line < (transposed ? cols : rows); ++line) {
    std::memcpy(lines[line], words + line * row_words, used);
  }
  if (transposed) {
    decode(
        rows, cols, [&](int r, int c) { return std::uint32_t{lines[c][r]}; }, numbers);
  } else {
    decode(
        rows, cols, [&](int r, int c) { return std::uint32_t{lines[r][c]}; }, numbers);
  }
}

template <typename Numbers>
inline __attribute__((always_inline)) void decode_operand(DataType type, int rows, int cols, const std::uint32_t* words,
                                                          int row_words, bool transposed, Numbers& numbers) {
  const auto floats = [&](int r, int c, auto word_at, auto& out) {
    decode_floats(*numerics::info(type).format, r, c, word_at, out);
  };
  const auto integers = [&](int r, int c, auto word_at, auto& out) {
    decode_integers(numerics::storage_bits(type) == 8, r, c, word_at, out);
  };
  switch (numerics::storage_bits(type)) {
    case 8:
      if (numerics::info(type).is_float()) {
        decode_packed<std::uint8_t>(rows, cols, words, row_words, transposed, floats, numbers);
      } else {
        decode_packed<std::uint8_t>(rows, cols, words, row_words, transposed, integers, numbers);
      }
      break;
    case 16:
      decode_packed<std::uint16_t>(rows, cols, words, row_words, transposed, floats, numbers);
      break;
    default:
      decode_packed<std::uint32_t>(rows, cols, words, row_words, transposed, floats, numbers);
      break;
  }
}

template <typename Numbers>
inline __attribute__((always_inline)) void decode_accumulator_words(DataType type, const std::uint32_t (*words)[kCols],
                                                                    Numbers& numbers) {
  const auto word_at = [words](int r, int c) { return words[r][c]; };
  if (numerics::info(type).is_float()) {
    decode_floats(*numerics::info(type).format, kRows, kCols, word_at, numbers);
  } else {
    decode_integers(false, kRows, kCols, word_at, numbers);
  }
}

}  // namespace

SPTC_VECTOR_CLONES
void decode_operands(const StepContext& context, const OperandWords& words, FetchedOperands& fetched) {
  const MmaInstruction& instruction = context.instruction;
  decode_operand(instruction.a_type, kRows, instruction.compressed_k(), &words.a[0][0], kMaxAWords, false, fetched.a);
  decode_operand(instruction.b_type, instruction.shape.k, kCols, &words.b[0][0], kMaxBWords, true, fetched.b);
  decode_accumulator_words(instruction.accumulator, words.c, fetched.c);
  if (instruction.pattern) {
    std::memcpy(fetched.indices, words.indices, sizeof(fetched.indices));
  } else if (instruction.sparse) {
    std::memcpy(fetched.nibbles, words.nibbles, sizeof(fetched.nibbles));
  }
}

SPTC_VECTOR_CLONES
void decode_accumulators(const StepContext& context, const RoundedResults& words, Accumulators& accumulators) {
  decode_accumulator_words(context.instruction.accumulator, words.word, accumulators);
}

}  // namespace sptc::mma
