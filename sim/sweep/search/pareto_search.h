// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/search/gaussian_process.h"
#include "sim/sweep/space/plan.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

namespace sptc::sweep::search {

/// Costs of a point, less is better; none where it failed or lacks one.
using Costs = std::vector<double>;

/// Chooses the points of a plan that is a search, so that they hold the Pareto front of each
/// workload. The first batch is a Latin hypercube. Later ones would push the known front furthest
/// if they cost half a standard deviation less than a Gaussian process expects. This is the maximin
/// improvement of Svenson and Santner, Computational Statistics and Data Analysis 94, 2016. Equal
/// plans and costs give equal points, whatever the budget.
class ParetoSearch {
 public:
  /// `plan` outlives it.
  explicit ParetoSearch(const space::SweepPlan& plan);

  /// Positions of points that were not asked for yet; none at the end. At most `most`.
  std::vector<std::uint64_t> next(std::size_t most);

  /// What the points of the last next() cost, in their order.
  void tell(std::span<const Costs> costs);

 private:
  /// The points of one workload.
  struct Front {
    std::vector<std::uint64_t> positions;  ///< all that were asked for
    std::vector<Design> designs;           ///< of each
    std::vector<Costs> costs;              ///< of each that was told
    std::vector<GaussianProcess> models;   ///< of each cost
    std::size_t tuned = 0;                 ///< points from which the models were tuned
  };
  std::vector<std::uint64_t> first_points() const;
  std::vector<std::uint64_t> batch(Front& front, std::size_t workload);
  std::vector<std::uint64_t> candidates(const Front& front, std::size_t workload);
  void learn(Front& front, const std::vector<std::vector<double>>& known) const;
  void add_neighbours(const Front& front, std::vector<std::uint64_t>& found) const;
  void ask(Front& front, std::uint64_t position);
  Design design(std::uint64_t position) const;

  const space::SweepPlan& plan_;
  std::vector<DesignAxis> axes_;
  std::vector<std::size_t> varied_;  ///< which axis of the plan each of axes_ is
  std::vector<Front> fronts_;        ///< of each workload
  std::vector<std::pair<std::size_t, std::size_t>> asked_;  ///< workload and place; not told yet
  std::unordered_set<std::uint64_t> known_;                 ///< positions that were asked for
  std::uint64_t drawn_ = 0;                                 ///< elements of SweepPlan::drawn()
};

}  // namespace sptc::sweep::search
