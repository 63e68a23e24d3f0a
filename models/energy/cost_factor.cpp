// SPDX-License-Identifier: Apache-2.0
#include "models/energy/cost_factor.h"

#include "models/base/error.h"

namespace sptc::energy {
namespace {

/// The values of the factors, each at an end, at which the sum of `amounts` is least. Factors are
/// positive, so each is best at one end whatever is above it.
std::vector<double> least_corner(std::span<const CostFactor> factors, std::vector<double> amounts) {
  std::vector<double> corner(factors.size());
  for (std::size_t i = factors.size(); i-- > 0;) {
    const CostFactor& factor = factors[i];
    corner[i] = amounts[i] > 0 ? factor.low : factor.high;
    if (factor.under >= 0) {
      amounts[static_cast<std::size_t>(factor.under)] += corner[i] * amounts[i];
    }
  }
  return corner;
}

double sum_at(std::span<const CostFactor> factors, const std::vector<double>& values, std::vector<double> amounts) {
  double sum = 0;
  for (std::size_t i = factors.size(); i-- > 0;) {
    const int under = factors[i].under;
    (under < 0 ? sum : amounts[static_cast<std::size_t>(under)]) += values[i] * amounts[i];
  }
  return sum;
}

std::vector<double> copy_of(std::span<const double> amounts) {
  return {amounts.begin(), amounts.end()};
}

double least_sum(std::span<const CostFactor> factors, const std::vector<double>& amounts) {
  return sum_at(factors, least_corner(factors, amounts), amounts);
}

/// Dinkelbach's iteration: the ratio falls from corner to corner until none is below it.
double least_ratio(std::span<const CostFactor> factors, const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> stated(factors.size(), 1);
  double ratio = sum_at(factors, stated, a) / sum_at(factors, stated, b);
  while (true) {
    std::vector<double> excess(a);
    for (std::size_t i = 0; i < excess.size(); ++i) {
      excess[i] -= ratio * b[i];
    }
    const std::vector<double> corner = least_corner(factors, std::move(excess));
    const double lower = sum_at(factors, corner, a) / sum_at(factors, corner, b);
    if (!(lower < ratio)) {
      return ratio;
    }
    ratio = lower;
  }
}

}  // namespace

Bounds sum_bounds(std::span<const CostFactor> factors, std::span<const double> amounts) {
  base::ensure(factors.size() == amounts.size(), "energy: one amount for each factor");
  std::vector<double> negative(amounts.size());
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    negative[i] = -amounts[i];
  }
  return {least_sum(factors, copy_of(amounts)), -least_sum(factors, negative)};
}

Bounds ratio_bounds(std::span<const CostFactor> factors, std::span<const double> a, std::span<const double> b) {
  base::ensure(factors.size() == a.size() && a.size() == b.size(), "energy: one amount for each factor");
  return {least_ratio(factors, copy_of(a), copy_of(b)), 1 / least_ratio(factors, copy_of(b), copy_of(a))};
}

}  // namespace sptc::energy
