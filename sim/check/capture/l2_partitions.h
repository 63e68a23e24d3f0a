// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace sptc::check::capture {

/// Cycles that an SM waits for a line that is in the L2.
struct LineTime {
  long long sm = 0, line = 0;
  double cycles = 0;
};

/// Two groups of SMs and two of lines: where both are of the same side, the line is near.
struct L2Partitions {
  std::size_t sms_of_one_side = 0, sms = 0, lines = 0;
  double near_cycles = 0, far_cycles = 0;  ///< means
  /// Share of the pairs of SM and line whose time is on the side that the groups say, after the
  /// means of the SM and of the line: about 0.6 in noise.
  double fitting = 0;

  /// Whether the groups are there: nine in ten pairs fit, and far is 5 % or more beyond near.
  bool seen() const { return fitting >= 0.9 && far_cycles >= 1.05 * near_cycles; }
};

/// The best two groups: signs of the first singular vectors of the times without their means.
/// Nothing where fewer than four SMs or lines were measured, or a pair is missing.
std::optional<L2Partitions> find_partitions(const std::vector<LineTime>& times);

}  // namespace sptc::check::capture
