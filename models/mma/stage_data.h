// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::mma {

// What the stages of a tensor core hand on: the 16 x 8 results of one step, eight columns side by
// side (models/mma/stages.h).

inline constexpr int kRows = 16;             ///< rows of A and D of an instruction
inline constexpr int kCols = 8;              ///< columns of B and D
inline constexpr int kMaxStepProducts = 16;  ///< largest L (s8)
// Extents of an instruction: the hardware's have 32 and 64 (sparse s8); designs of one's own may
// have more.
inline constexpr int kMaxCompressedK = 128;  ///< elements of A per row
inline constexpr int kMaxLogicalK = 256;     ///< rows of B
inline constexpr int kMaxAWords = 32;        ///< 32-bit words per row of A
inline constexpr int kMaxBWords = 128;       ///< 32-bit words per column of B

/// Exponent of a zero operand: so far down that no product with it wins the maximum. With it the
/// zero rule of the arithmetic (zeros never take part) needs no special case.
inline constexpr std::int16_t kZeroExponent = -(1 << 13);

/// Classes that a significand and an exponent cannot express.
enum SpecialFlag : std::uint8_t {
  kFlagNan = 1,
  kFlagPositiveInfinity = 2,
  kFlagNegativeInfinity = 4,
};

/// A rows x cols array of numbers: (signed significand) * 2^(exponent - fraction bits of the
/// format). Operands of up to 11 significand bits fit 16-bit lanes; accumulators need 32.
template <int Rows, int Cols, typename Lane = std::int16_t>
struct Numbers {
  alignas(64) Lane significand[Rows][Cols];
  alignas(64) Lane exponent[Rows][Cols];
  alignas(64) std::uint8_t flags[Rows][Cols];  ///< SpecialFlag; meaningful only where has_special
  bool has_special = false;
};

/// Accumulator operand of one step: C, or the result of the step before.
using Accumulators = Numbers<kRows, kCols, std::int32_t>;

/// Raw registers of one instruction, put in matrix order: 32-bit words along K.
struct OperandWords {
  std::uint32_t a[kRows][kMaxAWords];  ///< row-major; the hardware's have 16 or 32 bytes per row
  std::uint32_t b[kCols][kMaxBWords];  ///< column-major; 16, 32 or 64 bytes per column
  std::uint32_t c[kRows][kCols];       ///< one accumulator per word
  std::uint8_t nibbles[kRows][16];     ///< sparse: metadata per row and group; unset past its groups
  /// Where in its group each kept element stands, of a pattern of one's own instead of nibbles.
  std::uint8_t indices[kRows][kMaxCompressedK];
};

/// Wire fetch -> selector: decoded operands of one instruction.
struct FetchedOperands {
  Numbers<kRows, kMaxCompressedK> a;
  Numbers<kMaxLogicalK, kCols> b;
  Accumulators c;
  std::uint8_t nibbles[kRows][16];  ///< as in OperandWords
  std::uint8_t indices[kRows][kMaxCompressedK];
};

/// Wire selector -> multipliers: the operands of one step, one B operand per multiplier.
struct SelectedOperands {
  Numbers<kRows, kMaxStepProducts> a;
  Numbers<kRows * kMaxStepProducts, kCols> b;   ///< [row * L + t][column]
  std::uint8_t b_row[kRows][kMaxStepProducts];  ///< which row of B each multiplier got: the
                                                ///< selector's decision
};

/// Wire multipliers -> alignment: exact products, the accumulator, and the largest exponent of each
/// result.
struct Products {
  alignas(64) std::int32_t significand[kRows * kMaxStepProducts][kCols];
  alignas(64) std::int16_t exponent[kRows * kMaxStepProducts][kCols];
  Accumulators accumulator;
  alignas(64) std::int32_t max_exponent[kRows][kCols];
  alignas(64) std::uint8_t special[kRows][kCols];  ///< union of SpecialFlag over the terms
  bool has_special = false;
};

/// Wire adders -> rounding: aligned addends in units of 2^(max_exponent - F) and their exact sum.
/// Addend L is the accumulator.
struct AlignedSums {
  alignas(64) std::int32_t addend[kRows * (kMaxStepProducts + 1)][kCols];
  alignas(64) std::int64_t sum[kRows][kCols];
  alignas(64) std::int32_t max_exponent[kRows][kCols];
  alignas(64) std::uint8_t special[kRows][kCols];
  bool has_special = false;
};

/// Wire rounding -> write-back, and back to the multipliers: result words of one step.
struct RoundedResults {
  std::uint32_t word[kRows][kCols];
};

}  // namespace sptc::mma
