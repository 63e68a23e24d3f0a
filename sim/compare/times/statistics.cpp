// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/statistics.h"

#include "models/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace sptc::compare::times {

double mean(std::span<const double> values) {
  base::ensure(!values.empty(), "the mean of nothing");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double share) {
  base::ensure(!values.empty(), "a quantile of nothing");
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  const double part = at - static_cast<double>(low);
  return values[low] * (1 - part) + values[high] * part;
}

double weighted_median(std::vector<Weighted> values) {
  base::ensure(!values.empty(), "the median of nothing");
  std::sort(values.begin(), values.end());
  double rest = 0;
  for (const Weighted& value : values) {
    rest += value.second;
  }
  const double half = rest / 2;
  for (const Weighted& value : values) {
    rest -= value.second;
    if (rest <= half) {
      return value.first;
    }
  }
  return values.back().first;
}

std::optional<double> correlation(std::span<const double> x, std::span<const double> y) {
  base::ensure(x.size() == y.size(), "a correlation of unequal numbers of values");
  if (x.empty()) {
    return std::nullopt;
  }
  const double mean_x = mean(x);
  const double mean_y = mean(y);
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (xx == 0 || yy == 0) {
    return std::nullopt;
  }
  return xy / std::sqrt(xx * yy);
}

}  // namespace sptc::compare::times
