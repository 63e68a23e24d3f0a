// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/kernel/fault_location.h"
#include "sim/check/kernel/kernel_file.h"
#include "sim/check/kernel/kernel_model.h"
#include "sim/check/kernel/mismatch_region.h"
#include "sim/check/kernel/word_comparison.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::kernel {

/// Why D differs.
struct Explanation {
  std::string cause;           ///< one word: of Alternative or LocalFault; two of them with "+"
  std::string text;            ///< in words
  std::size_t mismatches = 0;  ///< that remain over all of D; 0: it fits bit for bit
};

/// The first element of D, row by row, that differs.
struct FirstMismatch {
  std::size_t row = 0;
  std::size_t column = 0;
  std::string observed;  ///< hexadecimal
  std::string computed;
  std::optional<std::uint64_t> ulps;  ///< nothing: NaN or infinity is involved
};

/// Metadata to which PTX gives no meaning: equal indices, of tf32 what names no half, and of
/// .sp::ordered_metadata indices that do not rise. D is then what a plain multiplexer selects.
struct InvalidMetadata {
  std::size_t nibbles = 0;  ///< how many are invalid
  std::size_t of = 0;       ///< of how many
  std::size_t row = 0;      ///< of the first one, row by row
  std::size_t group = 0;
  std::uint8_t nibble = 0;
};

/// Elements of D that differ, and by how many units in the last place.
struct Population {
  std::size_t elements = 0;
  std::optional<std::uint64_t> least_ulps, most_ulps;  ///< nothing: all are NaN or infinite

  void add(std::optional<std::uint64_t> ulps);
};

/// The wrong elements of D: those that another order of the same sum may explain, and those that
/// are off by more than any order can be.
struct ErrorPopulations {
  Population rounding, beyond;
  WrongElements beyond_rounding;  ///< where those are

  bool are_two() const { return rounding.elements > 0 && beyond.elements > 0; }
};

/// What came of comparing D of a kernel with what it is said to be.
struct KernelDiagnosis {
  WordComparison comparison;
  std::optional<InvalidMetadata> invalid_metadata;  ///< nothing: all of it is valid
  std::optional<FirstMismatch> first;
  WrongElements wrong;                 ///< empty: all of D is equal
  FaultLocation location;              ///< where D differs, and what explains single places
  std::vector<Explanation> fitting;    ///< bit for bit, likeliest first; this data tells no more
  std::optional<Explanation> nearest;  ///< where none fits: the one that leaves fewest mismatches
  FaultLocation rest;                  ///< what the nearest leaves: places, and what explains some
  ErrorPopulations populations;        ///< where none fits: of the wrong elements
  FaultLocation beyond_rounding;       ///< where both are there: the places of the larger errors
  std::size_t tried = 0;               ///< alternatives, alone and in pairs

  bool bit_exact() const { return comparison.mismatches == 0; }
};

/// Computes D as `declared` says, compares every word, and where words differ looks for what
/// explains all of them. Tried are a flipped bit, and changes of the model, alone and in pairs.
/// Tried are also faults of places of D: parts of K that they lack, rows and tiles that stand
/// elsewhere, metadata of other rows; and these on top of the change that explains most, where it
/// explains half. `threads` of the host. Throws InputError where the operands
/// cannot be read as declared.
KernelDiagnosis crosscheck_kernel(const KernelData& data, const KernelModel& declared,
                                  const mma::Target& target, int threads);

std::string kernel_text(const KernelCase& kernel, const KernelDiagnosis& diagnosis);
std::string kernel_json(const KernelCase& kernel, const KernelDiagnosis& diagnosis);

/// D in characters, of which each stands for a rectangle of elements; empty where none of them
/// would say "equal".
std::string map_text(const KernelDiagnosis& diagnosis);

enum class MapFormat { kSvg, kPng };
/// By the ending of `path`. Throws InputError where it is neither .svg nor .png.
MapFormat map_format(std::string_view path);

/// The same as an image: where D differs, what is explained in another colour. The SVG names the
/// places, too.
std::string map_image(const KernelCase& kernel, const KernelDiagnosis& diagnosis, MapFormat format);

}  // namespace sptc::check::kernel
