// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <string>

namespace sptc::sparsity {

/// N:M structured sparsity along K: of every `group` consecutive elements of a row at most `kept`
/// are non-zero, chosen in runs of `run` neighbours (4-bit types keep pairs: 4:8 as 2 of 4 pairs).
struct Pattern {
  int kept = 2;
  int group = 4;
  int run = 1;

  auto operator<=>(const Pattern&) const = default;

  int candidates() const { return group / run; }  ///< M of the choice that one index makes
  int choices() const { return kept / run; }      ///< indices per group
  /// Bits of metadata per group: an index for each choice. 1:2 is stored as 2:4 of half elements,
  /// as mma.sp of tf32 has it.
  int metadata_bits() const;
  std::string name() const { return std::to_string(kept) + ":" + std::to_string(group); }
};

/// The multiplexer in front of a multiplier: `inputs` candidates, of which `kept` multipliers that
/// stand side by side share the same. An element of tf32 takes the places of two, as mma.sp of tf32
/// has it, whose 1:2 is 2:4 of half elements.
struct SelectorWidth {
  int inputs = 4;
  int kept = 2;
};

/// The pattern that mma.sp of `type` executes: 2:4 for 16- and 8-bit types, 1:2 for tf32 (PTX ISA,
/// mma.sp).
Pattern hardware_pattern(numerics::DataType type);

}  // namespace sptc::sparsity
