// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "sim/check/kernel/mismatch_region.h"
#include "sim/check/kernel/region_trial.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sptc::check::kernel {

/// A place of D that differs, and what is wrong there.
struct LocatedFault {
  Region region;
  std::optional<RegionFault> fault;  ///< nothing: nothing explains all of its elements
};

/// All places of D that differ.
struct FaultLocation {
  std::vector<LocatedFault> places;

  /// Whether every wrong element is explained.
  bool is_complete() const;
  /// The causes, each once, with "+" between.
  std::string causes() const;
};

/// The places alone, as few as tell where D differs.
FaultLocation find_places(const WrongElements& wrong);

/// The places with what explains each, bit for bit: all together where one fault does, else one by
/// one. `target`: whose other arithmetic counts as a fault of a place that is not all of D.
FaultLocation locate_faults(const WrongKernel& kernel, const mma::Target& target);

/// "rows 64 to 127 x columns 32 to 63 (tile [1, 1] of 64 x 32)".
std::string place_text(const Region& region, const KernelData& data);
/// "rows 64 to 127 x columns 32 to 63: D lacks k 96 to 127", places with one fault together.
std::string text_of(const FaultLocation& location, const KernelData& data);

}  // namespace sptc::check::kernel
