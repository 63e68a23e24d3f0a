// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/base/random.h"
#include "models/mma/dot_step.h"
#include "models/mma/instruction.h"
#include "models/mma/stages.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace sptc::mma {

/// All m16n8 instructions of sm_80 for the operand types that the data path takes, dense and
/// sparse, with 16 and 32 bytes of A per row.
inline std::vector<MmaInstruction> ampere_instructions() {
  using numerics::DataType;
  std::vector<MmaInstruction> all;
  for (const bool sparse : {false, true}) {
    for (const int share : {2, 1}) {
      for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kS8}) {
        all.push_back(gemm_instruction(type, sparse));
        all.back().shape.k /= share;
      }
      all.push_back(all[all.size() - 4]);
      all.back().accumulator = DataType::kF16;
    }
  }
  return all;
}

/// The matrices of one instruction, storage words.
struct MmaOperands {
  base::Matrix<numerics::Word> a;      ///< [16, compressed k]
  base::Matrix<numerics::Word> b;      ///< [k, 8]
  base::Matrix<numerics::Word> c;      ///< [16, 8]
  base::Matrix<std::uint8_t> nibbles;  ///< [16, groups]; sparse only

  explicit MmaOperands(const MmaInstruction& instruction)
      : a(kRows, static_cast<std::size_t>(instruction.compressed_k())),
        b(static_cast<std::size_t>(instruction.shape.k), kCols),
        c(kRows, kCols) {
    if (instruction.sparse) {
      const auto group = sparsity::hardware_pattern(instruction.a_type).group;
      nibbles = base::Matrix<std::uint8_t>(kRows, b.rows() / static_cast<std::size_t>(group), 0b0100);
    }
  }

  std::vector<numerics::Word> b_column(std::size_t col) const {
    std::vector<numerics::Word> column(b.rows());
    for (std::size_t k = 0; k < b.rows(); ++k) {
      column[k] = b(k, col);
    }
    return column;
  }
};

/// The operands in matrix order, as the operand fetch delivers them.
inline OperandWords operand_words(const MmaInstruction& instruction, const MmaOperands& operands) {
  OperandWords words;
  std::memset(&words, 0, sizeof(words));
  const auto bits = static_cast<std::size_t>(numerics::storage_bits(instruction.a_type));
  const std::size_t per_word = 32 / bits;
  const numerics::Word mask = bits == 32 ? ~0U : (1U << bits) - 1;
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t k = 0; k < operands.a.cols(); ++k) {
      words.a[i][k / per_word] |= (operands.a(i, k) & mask) << (k % per_word * bits);
    }
    for (std::size_t j = 0; j < kCols; ++j) {
      words.c[i][j] = operands.c(i, j);
    }
    for (std::size_t g = 0; g < operands.nibbles.cols(); ++g) {
      words.nibbles[i][g] = operands.nibbles(i, g);
    }
  }
  for (std::size_t j = 0; j < kCols; ++j) {
    for (std::size_t k = 0; k < operands.b.rows(); ++k) {
      words.b[j][k / per_word] |= (operands.b(k, j) & mask) << (k % per_word * bits);
    }
  }
  return words;
}

/// D through the stages of the data path.
inline base::Matrix<numerics::Word> run_stages(const StepContext& context, const OperandWords& words) {
  FetchedOperands fetched;
  SelectedOperands selected;
  Products products;
  AlignedSums sums;
  RoundedResults results;
  decode_operands(context, words, fetched);
  Accumulators accumulator = fetched.c;
  for (int step = 0; step < context.steps; ++step) {
    if (step > 0) {
      decode_accumulators(context, results, accumulator);
    }
    select_operands(context, fetched, step, selected);
    multiply(context, selected, accumulator, products);
    align_and_add(context, products, sums);
    round_sums(context, sums, results);
  }
  base::Matrix<numerics::Word> d(kRows, kCols);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kCols; ++j) {
      d(i, j) = results.word[i][j];
    }
  }
  return d;
}

/// D by the plain arithmetic, one element after the other.
inline base::Matrix<numerics::Word> run_plain(const StepContext& context, const MmaOperands& operands) {
  base::Matrix<numerics::Word> d(kRows, kCols);
  for (std::size_t j = 0; j < kCols; ++j) {
    const std::vector<numerics::Word> column = operands.b_column(j);
    for (std::size_t i = 0; i < kRows; ++i) {
      d(i, j) = context.instruction.sparse
                    ? sparse_dot(operands.a.row(i), operands.nibbles.row(i), column, operands.c(i, j),
                                 context.instruction, context.rules)
                    : dense_dot(operands.a.row(i), column, operands.c(i, j), context.instruction, context.rules);
    }
  }
  return d;
}

/// What random words look like.
enum class WordKind {
  kUniformBits,  ///< any pattern, NaN and infinity included
  kNarrow,       ///< exponents within 8 of zero: everything overlaps in the alignment
  kTiny,         ///< subnormals, zeros of both signs and the smallest normals
  kHuge,         ///< the two topmost finite exponents
  kSprinkled,    ///< narrow, with one zero, NaN, infinity or subnormal in eight
};
inline constexpr std::array kWordKinds{WordKind::kUniformBits, WordKind::kNarrow, WordKind::kTiny, WordKind::kHuge,
                                       WordKind::kSprinkled};

inline numerics::Word random_word(numerics::DataType type, WordKind kind, std::uint64_t bits) {
  const auto& info = numerics::info(type);
  constexpr int kWordBits = std::numeric_limits<numerics::Word>::digits;
  const auto storage_mask =
      static_cast<numerics::Word>((std::uint64_t{1} << std::min(info.storage_bits, kWordBits)) - 1);
  const auto raw = static_cast<numerics::Word>(bits) & storage_mask;
  if (!info.is_float() || info.storage_bits > kWordBits || kind == WordKind::kUniformBits) {
    return raw;
  }
  const numerics::FloatFormat& format = *info.format;
  const int shift = format.mantissa_bits + format.discarded_low_bits;
  const numerics::Word field_mask = ((1U << format.exponent_bits) - 1) << shift;
  const auto with_field = [&](int field) { return (raw & ~field_mask) | static_cast<numerics::Word>(field) << shift; };
  const int choice = static_cast<int>((bits >> 40) & 0xF);
  switch (kind) {
    case WordKind::kTiny:
      return choice < 2 ? raw & ~(field_mask | (field_mask - 1) | ((1U << shift) - 1))
                        : with_field(choice < 10 ? 0 : 1 + choice % 2);
    case WordKind::kHuge:
      return with_field(2 * format.bias() - choice % 2);
    case WordKind::kSprinkled:
      if (((bits >> 48) & 7) == 0) {
        return choice < 3   ? with_field(0) & ~((1U << shift) - 1)
               : choice < 6 ? with_field(2 * format.bias() + 1)
               : choice < 9 ? with_field(2 * format.bias() + 1) & ~((1U << shift) - 1)
                            : with_field(0);
      }
      [[fallthrough]];
    default:
      return with_field(format.bias() + choice - 8);
  }
}

/// Random operands; of each multiplication, A and B are of kind `kind`, C of `c_kind`. Metadata is
/// any of the legal nibbles.
inline MmaOperands random_operands(const MmaInstruction& instruction, WordKind kind, WordKind c_kind,
                                   const base::RandomStream& random) {
  MmaOperands operands(instruction);
  std::uint64_t index = 0;
  const auto fill = [&](base::Matrix<numerics::Word>& matrix, numerics::DataType type, WordKind of) {
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      matrix.data()[i] = random_word(type, of, random.bits(index++));
    }
  };
  fill(operands.a, instruction.a_type, kind);
  fill(operands.b, instruction.b_type, kind);
  fill(operands.c, instruction.accumulator, c_kind);
  constexpr std::array<std::uint8_t, 6> kPairs{0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
  constexpr std::array<std::uint8_t, 2> kHalves{0b0100, 0b1110};
  const bool halves = instruction.a_type == numerics::DataType::kTf32;
  for (std::size_t i = 0; i < operands.nibbles.size(); ++i) {
    operands.nibbles.data()[i] =
        halves ? kHalves[random.below(index++, kHalves.size())] : kPairs[random.below(index++, kPairs.size())];
  }
  return operands;
}

}  // namespace sptc::mma
