// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/accuracy.h"

#include "models/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sptc::sim {
namespace {

constexpr std::size_t kWorst = 10;
// Fewer rows do not tell a trend from noise.
constexpr std::size_t kRowsForBaseline = 32;

/// Value below which `share` of the sorted `values` lie, interpolated.
double quantile(const std::vector<double>& values, double share) {
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  const double part = at - static_cast<double>(low);
  return values[low] * (1 - part) + values[high] * part;
}

std::optional<double> correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / count;
    mean_y += y[i] / count;
  }
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

void add_baseline(std::span<const Comparison> rows, Accuracy& accuracy) {
  std::vector<roofline::TimedGemm> measured;
  for (const Comparison& row : rows) {
    measured.push_back({row.measured.shape, row.measured.time_us});
  }
  const roofline::FittedRoofline baseline = roofline::fit_roofline(measured);
  std::vector<double> of_measured;
  std::vector<double> of_simulated;
  double error = 0;
  for (const Comparison& row : rows) {
    const double time = baseline.time_us(row.measured.shape);
    of_measured.push_back(std::log(row.measured.time_us / time));
    of_simulated.push_back(std::log(row.simulated_us / time));
    error += std::abs(time / row.measured.time_us - 1);
  }
  accuracy.baseline = baseline;
  accuracy.baseline_mape_percent = 100 * error / static_cast<double>(rows.size());
  accuracy.residual_correlation = correlation(of_measured, of_simulated);
}

std::vector<AccuracyBand> bands_of(std::span<const Comparison> rows) {
  std::vector<AccuracyBand> bands;
  std::int64_t largest = 0;
  for (const Comparison& row : rows) {
    largest = std::max(largest, row.measured.shape.n);
  }
  constexpr std::int64_t kFirst = 64;
  constexpr std::int64_t kFactor = 4;
  std::int64_t n_min = 1;
  for (std::int64_t n_max = kFirst; n_min <= largest; n_min = n_max + 1, n_max *= kFactor) {
    AccuracyBand band{n_min, n_max, 0, 0, 0};
    for (const Comparison& row : rows) {
      if (row.measured.shape.n >= n_min && row.measured.shape.n <= n_max) {
        ++band.count;
        band.mape_percent += 100 * std::abs(row.error());
        band.bias_percent += 100 * row.error();
      }
    }
    if (band.count > 0) {
      band.mape_percent /= static_cast<double>(band.count);
      band.bias_percent /= static_cast<double>(band.count);
      bands.push_back(band);
    }
  }
  return bands;
}

}  // namespace

Accuracy measure_accuracy(std::span<const Comparison> rows) {
  ensure(!rows.empty(), "no measurement to compare with");
  Accuracy accuracy;
  accuracy.count = static_cast<std::int64_t>(rows.size());
  std::vector<double> errors;
  for (const Comparison& row : rows) {
    errors.push_back(100 * std::abs(row.error()));
    accuracy.bias_percent += 100 * row.error() / static_cast<double>(rows.size());
    accuracy.mape_percent += errors.back() / static_cast<double>(rows.size());
  }
  std::sort(errors.begin(), errors.end());
  accuracy.median_ape_percent = quantile(errors, 0.5);
  accuracy.p90_ape_percent = quantile(errors, 0.9);
  if (rows.size() >= kRowsForBaseline) {
    add_baseline(rows, accuracy);
  }
  accuracy.bands = bands_of(rows);
  accuracy.worst.assign(rows.begin(), rows.end());
  const std::size_t shown = std::min(kWorst, rows.size());
  std::partial_sort(accuracy.worst.begin(),
                    accuracy.worst.begin() + static_cast<std::ptrdiff_t>(shown),
                    accuracy.worst.end(), [](const Comparison& a, const Comparison& b) {
                      return std::abs(a.error()) > std::abs(b.error());
                    });
  accuracy.worst.resize(shown);
  return accuracy;
}

}  // namespace sptc::sim
