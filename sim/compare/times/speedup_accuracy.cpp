// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/speedup_accuracy.h"

#include "sim/compare/times/statistics.h"

#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace sptc::compare::times {
namespace {

constexpr double kLoss = 0.95;
constexpr double kSurelyLoss = 0.90;
constexpr double kSurelyNoLoss = 1.00;

struct Speedup {
  double measured = 0, simulated = 0;
};

/// Sparsity, and of sparse launches the algorithm and the layout by which their kernel was taken.
using Path = std::tuple<std::string, kernels::Algorithm, kernels::OperandLayout>;

/// Logarithms of the times of one launch, which may have been measured more than once.
struct LogTimes {
  std::vector<double> measured, simulated;
};

std::string l2_name(const kernels::L2State& l2) {
  return l2.kind == kernels::L2State::Kind::kRotate ? "rotate" : l2.name();
}

SpeedupFigures figures_of(const std::vector<Speedup>& speedups) {
  SpeedupFigures figures;
  figures.count = static_cast<std::int64_t>(speedups.size());
  std::vector<double> log_measured;
  std::vector<double> log_simulated;
  std::vector<double> errors;
  std::vector<Weighted> by_relative_error;
  for (const Speedup& r : speedups) {
    log_measured.push_back(std::log(r.measured));
    log_simulated.push_back(std::log(r.simulated));
    errors.push_back(100 * std::abs(r.simulated / r.measured - 1));
    by_relative_error.emplace_back(r.measured, 1 / r.measured);
    const bool called = r.simulated < kLoss;
    figures.losses_measured += r.measured < kSurelyLoss ? 1 : 0;
    figures.losses_called += r.measured < kSurelyLoss && called ? 1 : 0;
    figures.false_losses += r.measured > kSurelyNoLoss && called ? 1 : 0;
  }
  const double constant = weighted_median(by_relative_error);
  std::vector<double> errors_of_constant;
  errors_of_constant.reserve(speedups.size());
  for (const Speedup& r : speedups) {
    errors_of_constant.push_back(100 * std::abs(constant / r.measured - 1));
  }
  figures.measured_geomean = std::exp(mean(log_measured));
  figures.simulated_geomean = std::exp(mean(log_simulated));
  figures.mean_error_percent = mean(errors);
  figures.constant_error_percent = mean(errors_of_constant);
  figures.log_correlation = correlation(log_measured, log_simulated);
  return figures;
}

}  // namespace

std::optional<SpeedupAccuracy> measure_speedups(std::span<const Comparison> rows) {
  std::map<decltype(MeasuredLaunch().gain_key()), std::map<Path, LogTimes>> launches;
  for (const Comparison& row : rows) {
    const MeasuredLaunch& launch = row.measured.launch;
    if (!launch.makes_gain()) {
      continue;
    }
    // The path of a dense launch is all that its library has to offer.
    const Path path = launch.pattern ? Path(launch.sparsity(), launch.conditions.algorithm,
                                            launch.conditions.layout)
                                     : Path(launch.sparsity(), {}, {});
    LogTimes& times = launches[launch.gain_key()][path];
    times.measured.push_back(std::log(row.measured.time_us));
    times.simulated.push_back(std::log(row.simulated.time_us));
  }
  const Path dense(MeasuredLaunch().sparsity(), {}, {});
  std::vector<Speedup> all;
  std::map<std::tuple<numerics::DataType, kernels::Algorithm, std::string>, std::vector<Speedup>>
      by;
  for (const auto& [common, by_path] : launches) {
    const auto base = by_path.find(dense);
    if (base == by_path.end()) {
      continue;
    }
    for (const auto& [path, times] : by_path) {
      if (path != dense) {
        all.push_back({std::exp(mean(base->second.measured) - mean(times.measured)),
                       std::exp(mean(base->second.simulated) - mean(times.simulated))});
        by[{std::get<numerics::DataType>(common), std::get<kernels::Algorithm>(path),
            l2_name(std::get<kernels::L2State>(common))}]
            .push_back(all.back());
      }
    }
  }
  if (all.empty()) {
    return std::nullopt;
  }
  SpeedupAccuracy accuracy{figures_of(all), {}};
  for (const auto& [kind, speedups] : by) {
    const auto& [dtype, algorithm, l2] = kind;
    accuracy.by.push_back({dtype, algorithm, l2, figures_of(speedups)});
  }
  return accuracy;
}

}  // namespace sptc::compare::times
