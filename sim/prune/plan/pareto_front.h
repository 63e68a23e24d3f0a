// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sptc::prune::plan {

/// Something to take or to leave: what it gains, above 0, and what it loses, which may be negative.
struct Choice {
  std::int64_t gain = 0;
  double loss = 0;
};

/// A set of choices of which no other loses less and gains as much, or gains more and loses as little.
struct ParetoPoint {
  std::int64_t gain = 0;
  double loss = 0;
  std::vector<std::size_t> taken;  ///< in rising order
};

struct ParetoFront {
  std::vector<ParetoPoint> points;  ///< by rising gain and rising loss
  /// 0: the front is exact. Else for each set there is a point that gains as much and loses at most this more.
  double resolution = 0;
};

/// The front of all sets of `choices`, whose gains and losses add up: a 0/1 knapsack for every capacity at once. Sets
/// that another dominates are dropped choice by choice; where more than `most` are left, the losses are divided into as
/// many steps and of each step the set with the highest gain stays.
ParetoFront pareto_front(std::span<const Choice> choices, std::size_t most = std::size_t{1} << 15);

/// The last point that loses at most `loss`, and the first that gains at least `gain`; null where there is none.
const ParetoPoint* within_loss(const ParetoFront& front, double loss);
const ParetoPoint* with_gain(const ParetoFront& front, std::int64_t gain);

}  // namespace sptc::prune::plan
