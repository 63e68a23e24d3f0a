// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/sweep_table.h"

#include <cstddef>
#include <vector>

namespace sptc::sweep {

/// A row that is on the Pareto front of its workload for some values of the constants that energies
/// and areas depend on, within their ranges.
struct FrontRow {
  std::size_t row = 0;
  bool stated = false;   ///< it is for the values that the energy files state
  bool certain = false;  ///< it is for all values
};

/// Of every workload, in the order of pareto_front(). Two rows are compared with the same values of
/// all constants that they share. No row is certain that another one, at other constants than the
/// stated ones, may beat. Where the results name no constants, all rows are stated and certain.
std::vector<FrontRow> front_within_ranges(const SweepTable& table,
                                          const std::vector<const SweepColumn*>& objectives);

/// Rows of the front of one workload that are equal in all objectives: what differs between them,
/// axes above all, changes nothing.
struct FrontGroup {
  std::vector<std::size_t> rows;
  bool stated = false, certain = false;
};

/// In the order in which the first of each stands in `front`.
std::vector<FrontGroup> equal_rows(const SweepTable& table,
                                   const std::vector<const SweepColumn*>& objectives,
                                   const std::vector<FrontRow>& front);

}  // namespace sptc::sweep
