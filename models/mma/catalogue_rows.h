// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"

#include <array>
#include <span>
#include <string_view>

namespace sptc::mma {

/// A and B types that one row of the catalogue stands for.
enum class TypePairs {
  kF16,
  kBf16,
  kTf32,
  kF64,
  kEightBit,   ///< s8 and u8, each operand on its own
  kFourBit,    ///< s4 and u4
  kXor,        ///< b1
  kAnd,        ///< b1
  kFp8,        ///< e4m3 and e5m2
  kNarrow,     ///< e4m3, e5m2, e3m2, e2m3, e2m1 where at least one has 6 or 4 bits
  kScaled,     ///< the same five, any two, with the scales of mxf8f6f4
  kScaledFp4,  ///< e2m1 with the scales of mxf4, and with each kind that mxf4nvf4 has
};

/// Columns of SASS names.
inline constexpr std::size_t kSassColumns = 7;  // sm_70, 75, 80, 89, 90, 100, 120

/// One row: an instruction, and what each target makes of it. In a name, {A} and {B} stand for the
/// types, {A8} and {B8} for their 8-bit counterparts, {N} for n. "-": the target has no such
/// instruction; "+": it has, under a name that is not published; "software": it runs as a routine
/// without tensor cores.
struct CatalogueRow {
  MmaFamily family;
  MmaShape shape;  ///< n: the smallest
  int max_n;
  int n_step;
  bool sparse;
  TypePairs types;
  numerics::DataType accumulator;
  numerics::DataType addend;
  bool saturates;  ///< has a .satfinite form, whose SASS name ends with ".SAT" where it is one
                   ///< instruction
  std::array<std::string_view, kSassColumns> sass;
};

std::span<const CatalogueRow> catalogue_rows();

}  // namespace sptc::mma
