// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/power_accuracy.h"

#include "sim/compare/times/statistics.h"

#include <cmath>
#include <vector>

namespace sptc::compare::times {
namespace {

constexpr double kShareOfLimit = 0.97;
constexpr double kIntensity = 800;
constexpr double kAveragedUs = 1e6;

bool is_at_cap(const Measurement& row) {
  const auto m = static_cast<double>(row.launch.shape.m);
  const auto n = static_cast<double>(row.launch.shape.n);
  const auto k = static_cast<double>(row.launch.shape.k);
  return row.launch.power_limit_w && *row.power_w >= kShareOfLimit * *row.launch.power_limit_w &&
         m * n * k / (m * k + k * n + m * n) > kIntensity;
}

}  // namespace

bool has_steady_power(const Measurement& row) {
  const std::optional<kernels::Repetition>& repetition = row.launch.repetition;
  return row.power_w &&
         (!repetition || (repetition->warmup + repetition->repeat) * row.time_us >= kAveragedUs);
}

std::optional<PowerAccuracy> measure_power(std::span<const Comparison> rows) {
  std::vector<double> errors;
  std::vector<double> signed_errors;
  std::vector<double> energy_errors;
  std::vector<double> energy_ratios;
  for (const Comparison& row : rows) {
    const Measurement& measured = row.measured;
    const Prediction& simulated = row.simulated;
    if (!has_steady_power(measured) || !simulated.power_w) {
      continue;
    }
    signed_errors.push_back(100 * (*simulated.power_w / *measured.power_w - 1));
    errors.push_back(std::abs(signed_errors.back()));
    if (is_at_cap(measured)) {
      // Of the same operations, so that joules compare as joules per operation do.
      energy_ratios.push_back(*simulated.energy_uj / (*measured.power_w * measured.time_us));
      energy_errors.push_back(100 * std::abs(energy_ratios.back() - 1));
    }
  }
  if (errors.empty()) {
    return std::nullopt;
  }
  PowerAccuracy accuracy;
  accuracy.count = static_cast<std::int64_t>(errors.size());
  accuracy.mape_percent = mean(errors);
  accuracy.bias_percent = mean(signed_errors);
  accuracy.at_cap_count = static_cast<std::int64_t>(energy_ratios.size());
  if (!energy_ratios.empty()) {
    accuracy.energy_per_flop_error_percent = mean(energy_errors);
    accuracy.energy_per_flop_median_ratio = quantile(energy_ratios, 0.5);
  }
  return accuracy;
}

}  // namespace sptc::compare::times
