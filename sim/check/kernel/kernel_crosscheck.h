// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/kernel/fault_location.h"
#include "sim/check/kernel/kernel_file.h"

namespace sptc::check::kernel {

/// Why D differs: the cause of a Hypothesis, several of them with "+", and its words.
struct Explanation {
  std::string cause, text;
  std::size_t mismatches = 0;  ///< that remain over all of D; 0: it fits bit for bit
};

/// The first element of D, row by row, that differs.
struct FirstMismatch {
  std::size_t row = 0, column = 0;
  std::string observed, computed;     ///< hexadecimal
  std::optional<std::uint64_t> ulps;  ///< nothing: NaN or infinity is involved
};

/// Metadata to which PTX gives no meaning: equal indices, of tf32 what names no half, and of .sp::ordered_metadata
/// indices that do not rise. D is then what a plain multiplexer selects.
struct InvalidMetadata {
  std::size_t nibbles = 0;         ///< how many are invalid
  std::size_t of = 0;              ///< of how many
  std::size_t row = 0, group = 0;  ///< of the first one, row by row
  std::uint8_t nibble = 0;
};

/// What came of comparing D of a kernel with what it is said to be.
struct KernelDiagnosis {
  WordComparison comparison;
  std::optional<InvalidMetadata> invalid_metadata;  ///< nothing: all of it is valid
  std::optional<FirstMismatch> first;
  Tolerance tolerance;                ///< as given
  std::size_t tolerated = 0;          ///< mismatches within it
  WrongElements wrong;                ///< beyond the tolerance; empty: all of D is equal
  base::Matrix<std::uint8_t> digits;  ///< of the distance in ulps of wrong elements; kNoDigits: NaN or infinity; 0: not
                                      ///< wrong
  FaultLocation location;             ///< where D differs, and what explains single places
  std::vector<Explanation> fitting;   ///< bit for bit, likeliest first; this data tells no more
  bool may_be_chance = false;         ///< too few words differ to tell a fitting one from the others that were tried
  std::optional<Explanation> nearest;  ///< where none fits: the one that leaves fewest mismatches
  FaultLocation rest;                  ///< what the nearest leaves: places, and what explains some
  ErrorPopulations populations;        ///< where none fits: of the wrong elements
  FaultLocation
      beyond_rounding;    ///< the places of the larger errors, and what explains some as far as rounding lets tell
  std::size_t tried = 0;  ///< changes of the whole kernel, alone and in pairs

  static constexpr std::uint8_t kNoDigits = 255;
  bool bit_exact() const { return comparison.mismatches == 0; }
  /// Whether nothing differs by more than the tolerance.
  bool is_right() const { return comparison.mismatches == tolerated; }
  /// Whether all wrong elements may be of another order of the same sums.
  bool may_be_order() const {
    return fitting.empty() && populations.rounding.elements > 0 && populations.beyond.elements == 0;
  }
};

/// Computes D as `declared` says, compares every word, and where words differ by more than `tolerance` looks for what
/// explains all of them: changes of the whole kernel, alone and in pairs; faults of places of D (locate_faults); these
/// on top of the change that explains most; and where nothing fits, faults that stand out against the rounding of an
/// unknown order. `threads` of the host. Throws InputError where the operands cannot be read as declared.
KernelDiagnosis crosscheck_kernel(const KernelData& data, const KernelModel& declared, const mma::Target& target,
                                  int threads, const Tolerance& tolerance = {});

/// Where in a kernel to look for `cause`, a sentence; empty: it is not known.
std::string_view advice(std::string_view cause);

/// D in cells of height x width elements, powers of two; of two populations of errors the larger ones.
struct MismatchMap {
  std::size_t height = 1, width = 1;
  bool by_size = false;               ///< no cause is known: `digits` say more than `cells`
  base::Matrix<std::uint8_t> cells;   ///< 0: equal; 1, 2: some, all elements differ; 3, 4: and why is known
  base::Matrix<std::uint8_t> digits;  ///< the most of KernelDiagnosis::digits
};
/// The smallest cells of which so many rows and columns cover D. D must not be bit-exact.
MismatchMap mismatch_map(const KernelDiagnosis& diagnosis, std::size_t most_rows, std::size_t most_columns);
/// The same in characters; empty where none of them would say "equal".
std::string map_text(const KernelDiagnosis& diagnosis);

/// What the kernel is, whether D is right, where it differs and why: lines, all but the first as "label: words".
std::string answer_text(const KernelCase& kernel, const KernelDiagnosis& diagnosis);
/// The answer, the map, and how many elements are off by how much.
std::string kernel_text(const KernelCase& kernel, const KernelDiagnosis& diagnosis);
std::string kernel_json(const KernelCase& kernel, const KernelDiagnosis& diagnosis);

}  // namespace sptc::check::kernel
