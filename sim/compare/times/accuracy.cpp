// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/accuracy.h"

#include "models/base/error.h"
#include "sim/compare/times/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>

namespace sptc::compare::times {
namespace {

constexpr std::size_t kWorst = 10;
// Fewer rows do not tell a trend from noise.
constexpr std::size_t kRowsForRoofline = 32;

using Rows = std::vector<const Comparison*>;

ErrorFigures errors_of(const Rows& rows) {
  ErrorFigures figures{static_cast<std::int64_t>(rows.size()), 0, 0};
  for (const Comparison* row : rows) {
    figures.mape_percent += 100 * std::abs(row->error()) / static_cast<double>(rows.size());
    figures.bias_percent += 100 * row->error() / static_cast<double>(rows.size());
  }
  return figures;
}

double bytes_of(numerics::DataType type) {
  constexpr double kBits = 8;
  return numerics::storage_bits(type) / kBits;
}

roofline::GemmWork work_of(const MeasuredLaunch& launch) {
  const double stored = launch.pattern ? static_cast<double>(launch.pattern->pattern.kept) /
                                             launch.pattern->pattern.group
                                       : 1;
  const double operand = bytes_of(launch.dtype);
  return roofline::work_of(launch.shape, {stored * operand, operand, bytes_of(launch.type_of_d())});
}

/// What the rooflines leave of the rows that have one.
struct Residuals {
  std::vector<double> errors, of_measured, of_simulated;
};

void fit(const Rows& rows, AccuracyOfKind& kind, Residuals& residuals) {
  if (rows.size() < kRowsForRoofline) {
    return;
  }
  std::vector<roofline::TimedGemm> measured;
  for (const Comparison* row : rows) {
    measured.push_back({work_of(row->measured.launch), row->measured.time_us});
  }
  kind.roofline = roofline::fit_roofline(measured);
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double time_us = kind.roofline->time_us(measured[i].work);
    errors.push_back(100 * std::abs(time_us / measured[i].time_us - 1));
    residuals.of_measured.push_back(std::log(measured[i].time_us / time_us));
    residuals.of_simulated.push_back(std::log(rows[i]->simulated.time_us / time_us));
  }
  kind.roofline_mape_percent = mean(errors);
  residuals.errors.insert(residuals.errors.end(), errors.begin(), errors.end());
}

void add_kinds(std::span<const Comparison> rows, Accuracy& accuracy) {
  // Dense before sparse.
  std::map<std::tuple<numerics::DataType, bool, std::string>, Rows> kinds;
  for (const Comparison& row : rows) {
    const MeasuredLaunch& launch = row.measured.launch;
    kinds[{launch.dtype, launch.pattern.has_value(), launch.sparsity()}].push_back(&row);
  }
  Residuals residuals;
  for (const auto& [kind, of_kind] : kinds) {
    accuracy.by.push_back({std::get<0>(kind), std::get<2>(kind), errors_of(of_kind), {}, {}});
    fit(of_kind, accuracy.by.back(), residuals);
  }
  if (!residuals.errors.empty()) {
    accuracy.baseline_mape_percent = mean(residuals.errors);
    accuracy.residual_correlation = correlation(residuals.of_measured, residuals.of_simulated);
  }
}

std::vector<AccuracyBand> bands_of(std::span<const Comparison> rows) {
  std::int64_t largest = 0;
  for (const Comparison& row : rows) {
    largest = std::max(largest, row.measured.launch.shape.n);
  }
  constexpr std::int64_t kFirst = 64;
  constexpr std::int64_t kFactor = 4;
  std::vector<AccuracyBand> bands;
  std::int64_t n_min = 1;
  for (std::int64_t n_max = kFirst; n_min <= largest; n_min = n_max + 1, n_max *= kFactor) {
    Rows inside;
    for (const Comparison& row : rows) {
      if (row.measured.launch.shape.n >= n_min && row.measured.launch.shape.n <= n_max) {
        inside.push_back(&row);
      }
    }
    if (!inside.empty()) {
      bands.push_back({n_min, n_max, errors_of(inside)});
    }
  }
  return bands;
}

std::vector<Comparison> worst_of(std::span<const Comparison> rows) {
  Rows order;
  for (const Comparison& row : rows) {
    order.push_back(&row);
  }
  const std::size_t shown = std::min(kWorst, rows.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [](const Comparison* a, const Comparison* b) {
                      return std::abs(a->error()) > std::abs(b->error());
                    });
  std::vector<Comparison> worst;
  for (std::size_t i = 0; i < shown; ++i) {
    worst.push_back(*order[i]);
  }
  return worst;
}

}  // namespace

Accuracy measure_accuracy(std::span<const Comparison> rows) {
  base::ensure(!rows.empty(), "no measurement to compare with");
  Accuracy accuracy;
  Rows all;
  std::vector<double> errors;
  for (const Comparison& row : rows) {
    all.push_back(&row);
    errors.push_back(100 * std::abs(row.error()));
  }
  accuracy.errors = errors_of(all);
  accuracy.median_ape_percent = quantile(errors, 0.5);
  accuracy.p90_ape_percent = quantile(errors, 0.9);
  add_kinds(rows, accuracy);
  accuracy.bands = bands_of(rows);
  accuracy.worst = worst_of(rows);
  return accuracy;
}

}  // namespace sptc::compare::times
