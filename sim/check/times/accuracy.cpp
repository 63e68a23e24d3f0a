// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/accuracy.h"

#include "models/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::check::times {
namespace {

constexpr std::size_t kWorst = 10;
// Fewer rows do not tell a trend from noise.
constexpr std::size_t kRowsForRoofline = 32;
constexpr double kAveragedUs = 1e6;  // of power
// Speed-ups.
constexpr double kLoss = 0.95;
constexpr double kSurelyLoss = 0.90;
constexpr double kSurelyNoLoss = 1.00;

// Statistics --------------------------------------------------------------------------------------

/// Mean of `values`, of which there is one at least.
double mean(std::span<const double> values) {
  base::ensure(!values.empty(), "the mean of nothing");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Value and weight.
using Weighted = std::pair<double, double>;

/// The value beyond which half of the weight lies on either side: sum(weight * |value - x|) is least there. At least
/// one value; weights are positive.
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

/// Pearson's; nothing where one of both does not vary.
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

// Times -------------------------------------------------------------------------------------------

using Rows = std::vector<const Comparison*>;

template <typename ErrorOf = double (Comparison::*)() const>
ErrorFigures errors_of(const Rows& rows, const ErrorOf& error_of = &Comparison::error) {
  ErrorFigures figures{static_cast<std::int64_t>(rows.size()), 0, 0};
  for (const Comparison* row : rows) {
    const double percent = 100 * std::invoke(error_of, *row) / static_cast<double>(rows.size());
    figures.mape_percent += std::abs(percent);
    figures.bias_percent += percent;
  }
  return figures;
}

double bytes_of(numerics::DataType type) {
  constexpr double kBits = 8;
  return numerics::storage_bits(type) / kBits;
}

roofline::GemmWork work_of(const MeasuredLaunch& launch) {
  const double stored =
      launch.pattern ? static_cast<double>(launch.pattern->pattern.kept) / launch.pattern->pattern.group : 1;
  const double operand = bytes_of(launch.dtype);
  return roofline::work_of(launch.shape, {stored * operand, operand, bytes_of(launch.type_of_d())});
}

/// Fits the roofline of `kind` and appends its errors in percent.
void fit(const Rows& rows, AccuracyOfKind& kind, std::vector<double>& all_errors) {
  if (rows.size() < kRowsForRoofline) {
    return;
  }
  std::vector<roofline::TimedGemm> measured;
  for (const Comparison* row : rows) {
    measured.push_back({work_of(row->measured.launch), row->measured.time_us});
  }
  kind.roofline = roofline::fit_roofline(measured);
  std::vector<double> errors;
  for (const roofline::TimedGemm& gemm : measured) {
    const double time_us = kind.roofline->time_us(gemm.work);
    errors.push_back(100 * std::abs(time_us / gemm.time_us - 1));
  }
  kind.roofline_mape_percent = mean(errors);
  all_errors.insert(all_errors.end(), errors.begin(), errors.end());
}

std::vector<Comparison> worst_of(std::span<const Comparison> rows) {
  std::vector<Comparison> worst(rows.begin(), rows.end());
  const auto end = worst.begin() + static_cast<std::ptrdiff_t>(std::min(kWorst, rows.size()));
  std::partial_sort(worst.begin(), end, worst.end(),
                    [](const Comparison& a, const Comparison& b) { return std::abs(a.error()) > std::abs(b.error()); });
  worst.erase(end, worst.end());
  return worst;
}

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
  const auto each = [&](const auto& figure) {
    std::vector<double> figures;
    std::ranges::transform(speedups, std::back_inserter(figures), figure);
    return figures;
  };
  const auto count = [&](const auto& is_counted) { return std::ranges::count_if(speedups, is_counted); };
  const auto surely_loses = [](const Speedup& r) { return r.measured < kSurelyLoss; };
  const std::vector<double> log_measured = each([](const Speedup& r) { return std::log(r.measured); });
  const std::vector<double> log_simulated = each([](const Speedup& r) { return std::log(r.simulated); });
  std::vector<Weighted> by_relative_error;
  for (const Speedup& r : speedups) {
    by_relative_error.emplace_back(r.measured, 1 / r.measured);
  }
  const double constant = weighted_median(by_relative_error);
  return {static_cast<std::int64_t>(speedups.size()),
          std::exp(mean(log_measured)),
          std::exp(mean(log_simulated)),
          mean(each([](const Speedup& r) { return 100 * std::abs(r.simulated / r.measured - 1); })),
          mean(each([&](const Speedup& r) { return 100 * std::abs(constant / r.measured - 1); })),
          correlation(log_measured, log_simulated),
          count(surely_loses),
          count([&](const Speedup& r) { return surely_loses(r) && r.simulated < kLoss; }),
          count([](const Speedup& r) { return r.measured > kSurelyNoLoss && r.simulated < kLoss; })};
}

}  // namespace

Accuracy measure_accuracy(std::span<const Comparison> rows) {
  base::ensure(!rows.empty(), "no measurement to compare with");
  Accuracy accuracy;
  Rows all;
  std::map<std::tuple<numerics::DataType, bool, std::string>, Rows> kinds;  // dense before sparse
  for (const Comparison& row : rows) {
    const MeasuredLaunch& launch = row.measured.launch;
    all.push_back(&row);
    kinds[{launch.dtype, launch.pattern.has_value(), launch.sparsity()}].push_back(&row);
  }
  accuracy.errors = errors_of(all);
  std::vector<double> roofline_errors;
  for (const auto& [kind, of_kind] : kinds) {
    accuracy.by.push_back({std::get<0>(kind), std::get<2>(kind), errors_of(of_kind), {}, {}});
    fit(of_kind, accuracy.by.back(), roofline_errors);
  }
  if (!roofline_errors.empty()) {
    accuracy.baseline_mape_percent = mean(roofline_errors);
  }
  accuracy.worst = worst_of(rows);
  return accuracy;
}

std::vector<KernelAccuracy> measure_kernels(std::span<const Comparison> rows) {
  std::map<std::tuple<numerics::DataType, std::string, kernels::Algorithm>, Rows> kinds;
  for (const Comparison& row : rows) {
    const MeasuredLaunch& launch = row.measured.launch;
    if (row.recorded) {
      kinds[{launch.dtype, launch.sparsity(), launch.conditions.algorithm}].push_back(&row);
    }
  }
  std::vector<KernelAccuracy> result;
  for (const auto& [kind, of_kind] : kinds) {
    const auto& [dtype, sparsity, algorithm] = kind;
    KernelAccuracy figures{dtype, sparsity, algorithm, errors_of(of_kind), {}, 0, 0};
    figures.recorded =
        errors_of(of_kind, [](const Comparison& row) { return row.recorded->time_us / row.measured.time_us - 1; });
    for (const Comparison* row : of_kind) {
      const Prediction &chosen = row->simulated, &ran = *row->recorded;
      const bool same_tile = chosen.cta_tile.m == ran.cta_tile.m && chosen.cta_tile.n == ran.cta_tile.n;
      const bool same_cut = chosen.cluster_ctas == ran.cluster_ctas && chosen.split_k == ran.split_k;
      const double share = 100 / static_cast<double>(of_kind.size());
      figures.same_tile_percent += same_tile ? share : 0;
      figures.same_kernel_percent += same_tile && same_cut ? share : 0;
    }
    result.push_back(figures);
  }
  return result;
}

bool has_steady_power(const Measurement& row) {
  const std::optional<kernels::Repetition>& repetition = row.launch.repetition;
  return row.power_w && (!repetition || (repetition->warmup + repetition->repeat) * row.time_us >= kAveragedUs);
}

std::optional<ErrorFigures> measure_power(std::span<const Comparison> rows) {
  Rows steady;
  for (const Comparison& row : rows) {
    if (has_steady_power(row.measured) && row.simulated.power_w) {
      steady.push_back(&row);
    }
  }
  if (steady.empty()) {
    return std::nullopt;
  }
  return errors_of(steady, [](const Comparison& row) { return *row.simulated.power_w / *row.measured.power_w - 1; });
}

std::optional<SpeedupAccuracy> measure_speedups(std::span<const Comparison> rows) {
  std::map<decltype(MeasuredLaunch().gain_key()), std::map<Path, LogTimes>> launches;
  for (const Comparison& row : rows) {
    const MeasuredLaunch& launch = row.measured.launch;
    if (!launch.makes_gain()) {
      continue;
    }
    // The path of a dense launch is all that its library has to offer.
    const Path path = launch.pattern ? Path(launch.sparsity(), launch.conditions.algorithm, launch.conditions.layout)
                                     : Path(launch.sparsity(), {}, {});
    LogTimes& times = launches[launch.gain_key()][path];
    times.measured.push_back(std::log(row.measured.time_us));
    times.simulated.push_back(std::log(row.simulated.time_us));
  }
  const Path dense(MeasuredLaunch().sparsity(), {}, {});
  std::vector<Speedup> all;
  std::map<std::tuple<numerics::DataType, kernels::Algorithm, std::string>, std::vector<Speedup>> by;
  for (const auto& [common, by_path] : launches) {
    const auto base = by_path.find(dense);
    if (base == by_path.end()) {
      continue;
    }
    for (const auto& [path, times] : by_path) {
      if (path != dense) {
        all.push_back({std::exp(mean(base->second.measured) - mean(times.measured)),
                       std::exp(mean(base->second.simulated) - mean(times.simulated))});
        by[{std::get<kernels::OperandFormat>(common).type, std::get<kernels::Algorithm>(path),
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

}  // namespace sptc::check::times
