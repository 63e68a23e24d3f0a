// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/region_trial.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sptc::compare::kernel {

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

/// The bound of an element is proved: the terms and partial sums of any order are at most |a_i|
/// |b_j| (Cauchy and Schwarz), |C| and the bias. Of each step all of L + 1 addends and the sum lose
/// less than a unit of the accumulator, in both D, and the conversion to D's type a unit of that.
/// Integer sums are exact.
ErrorPopulations error_populations(const WrongKernel& kernel);

}  // namespace sptc::compare::kernel
