// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/analysis/sweep_table.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sptc::sweep::analysis {

/// What an axis of a sample does to a figure, whatever the other axes are.
struct VarianceShare {
  const SweepColumn* axis = nullptr;
  const SweepColumn* figure = nullptr;
  std::size_t rows = 0;
  /// The first-order Sobol index: the part of the variance of the figure's logarithm that the axis
  /// explains alone, less what chance explains. 0 where chance explains as much (1 in 100).
  double share = 0;
  double ratio = 1;  ///< of the worst to the best mean over the values of the axis
  /// The value with the best mean; of those that half a percent or two standard errors do not part
  /// from it, a tie. Values of an axis that has many are ranges. Empty where the share is 0.
  std::string best_value;
};

/// Whether the rows are points drawn at random, so that few differ in one axis alone.
bool is_sample(const SweepTable& table);

/// Of every axis of a sample on every objective and the speed-up, from the rows alone. It is the
/// given-data estimator of Plischke, Borgonovo and Smith, European Journal of Operational Research
/// 226, 2013, without its bias. The mean of each workload is taken off. There is none where
/// is_sample() is false.
std::vector<VarianceShare> variance_shares(const SweepTable& table);

}  // namespace sptc::sweep::analysis
