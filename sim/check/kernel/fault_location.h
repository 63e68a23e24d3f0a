// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/kernel/trial.h"

namespace sptc::check::kernel {

/// What explains every wrong element of a place, bit for bit; see Hypothesis.
struct RegionFault {
  std::string cause, text;
  bool names_place = false;
};

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
  bool has_fault() const;
  /// Calls `visit(row, column)` for the elements of every place that is explained.
  template <typename Visit>
  void each_explained(const Visit& visit) const {
    for (const LocatedFault& place : places) {
      if (place.fault) {
        place.region.selection().each(visit);
      }
    }
  }
  /// The causes, each once, with "+" between.
  std::string causes() const;
};
/// "rows 64 to 127 x columns 32 to 63: D lacks k 96 to 127", places with one fault together.
std::string text_of(const FaultLocation& location, const KernelData& data);

/// The places alone, as few as tell where D differs.
FaultLocation find_places(const WrongElements& wrong);

/// A hypothesis that holds at a place, and where it acts.
struct Found {
  Region region;
  Hypothesis hypothesis;
  Region reach;
};

/// Proposes places from the wrong elements of `kernel`, tries the hypotheses of families() on each, cheap ones first,
/// takes what one explains out of `kernel.wrong` and goes on with the rest, until nothing is explained any more.
/// `found`: where to add what was.
FaultLocation locate_faults(WrongKernel& kernel, std::vector<Found>* found = nullptr);

/// The same for square tiles of a guessed size, of which each may have an order of its sums of its own. No place unless
/// all wrong elements are explained.
FaultLocation locate_orders(WrongKernel& kernel);

/// Every change of the whole kernel that its families propose; each has a model.
std::vector<Hypothesis> kernel_changes(const Trial& trial);

}  // namespace sptc::check::kernel
