// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sptc::compare::times {

/// Mean of `values`, of which there is one at least.
double mean(std::span<const double> values);

/// Value below which `share` of `values` lie, interpolated; there is one value at least.
double quantile(std::vector<double> values, double share);

/// Value and weight.
using Weighted = std::pair<double, double>;

/// The value beyond which half of the weight lies on either side: sum(weight * |value - x|) is
/// least there. At least one value; weights are positive.
double weighted_median(std::vector<Weighted> values);

/// Pearson's; nothing where one of both does not vary.
std::optional<double> correlation(std::span<const double> x, std::span<const double> y);

}  // namespace sptc::compare::times
