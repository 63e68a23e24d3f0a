// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/analysis/variance_share.h"

#include "sim/sweep/analysis/tie.h"
#include "sim/sweep/space/sweep_spec.h"

#include <boost/math/distributions/fisher_f.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace sptc::sweep::analysis {
namespace {

constexpr std::size_t kLeastInBin = 8;  // rows, before values become ranges
constexpr std::size_t kMostBins = 32;
constexpr double kChance = 0.01;
constexpr double kStandardErrors = 2;

/// Rows whose values of an axis are equal, or lie in one range.
struct Bin {
  std::string first, last;  ///< lowest and highest value
  double sum = 0;
  std::size_t rows = 0;

  double mean() const { return sum / static_cast<double>(rows); }
  std::string text() const { return first == last ? first : first + " to " + last; }
};

double key_of(const SweepColumn& column, std::size_t row) {
  return column.numeric ? column.numbers[row] : column.codes[row];
}

/// Logarithms of a figure of `rows`, less the mean of the workload.
std::vector<double> logarithms(const SweepTable& table, const SweepColumn& figure,
                               const std::vector<std::size_t>& rows) {
  const SweepColumn* const workload = table.find("workload");
  const auto of = [&](std::size_t row) { return workload == nullptr ? 0 : key_of(*workload, row); };
  std::map<double, std::pair<double, double>> sums;
  for (const std::size_t row : rows) {
    auto& [sum, count] = sums[of(row)];
    sum += std::log(figure.numbers[row]);
    ++count;
  }
  std::vector<double> result;
  for (const std::size_t row : rows) {
    const auto& [sum, count] = sums[of(row)];
    result.push_back(std::log(figure.numbers[row]) - sum / count);
  }
  return result;
}

/// `rows`, with `values`, by their value of `axis`.
std::vector<Bin> bins_of(const SweepTable& table, const SweepColumn& axis,
                         const std::vector<std::size_t>& rows, const std::vector<double>& values) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return key_of(axis, rows[a]) < key_of(axis, rows[b]);
  });
  std::set<double> distinct;
  for (const std::size_t row : rows) {
    distinct.insert(key_of(axis, row));
  }
  const std::size_t most = std::clamp<std::size_t>(rows.size() / kLeastInBin, 2, kMostBins);
  const bool ranges = axis.numeric && distinct.size() > most;
  std::vector<Bin> bins;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t row = rows[order[i]];
    const bool same = i > 0 && key_of(axis, rows[order[i - 1]]) == key_of(axis, row);
    const bool full = !ranges || i * most / order.size() >= bins.size();
    if (bins.empty() || (!same && full)) {
      bins.push_back({table.text(axis, row), {}, 0, 0});
    }
    Bin& bin = bins.back();
    bin.last = table.text(axis, row);
    bin.sum += values[order[i]];
    ++bin.rows;
  }
  return bins;
}

/// The best bin, or a tie of those that nothing parts from it.
std::string best_of(const std::vector<Bin>& bins, bool more, double within) {
  const auto worse = [&](const Bin& a, const Bin& b) {
    return more ? a.mean() < b.mean() : a.mean() > b.mean();
  };
  const Bin& best = *std::max_element(bins.begin(), bins.end(), worse);
  std::vector<const Bin*> tied;
  for (const Bin& bin : bins) {
    const double error = std::sqrt(
        within * (1 / static_cast<double>(bin.rows) + 1 / static_cast<double>(best.rows)));
    if (&bin == &best ||
        std::abs(bin.mean() - best.mean()) <= std::max(std::log(kTie), kStandardErrors * error)) {
      tied.push_back(&bin);
    }
  }
  if (tied.size() == 1) {
    return best.text();
  }
  const bool values =
      std::all_of(tied.begin(), tied.end(), [](const Bin* bin) { return bin->first == bin->last; });
  return tie_text(tied.front()->first, tied.back()->last, tied.size() == 2 && values);
}

VarianceShare share_of(const SweepTable& table, const SweepColumn& axis,
                       const SweepColumn& figure) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (table.done(row) && figure.numbers[row] > 0) {
      rows.push_back(row);
    }
  }
  VarianceShare result{&axis, &figure, rows.size(), 0, 1, {}};
  const std::vector<double> values = logarithms(table, figure, rows);
  const std::vector<Bin> bins = bins_of(table, axis, rows, values);
  if (bins.size() < 2 || rows.size() <= bins.size()) {
    return result;
  }
  double total = 0;
  for (const double value : values) {
    total += value * value;  // their mean is 0
  }
  double between = 0;
  for (const Bin& bin : bins) {
    between += bin.sum * bin.mean();
  }
  const auto free = static_cast<double>(bins.size() - 1);
  const auto rest = static_cast<double>(rows.size() - bins.size());
  const double within = std::max(0.0, total - between) / rest;
  if (!(between > 1e-18 * static_cast<double>(rows.size()))) {
    return result;
  }
  if (within > 0) {
    const boost::math::fisher_f chance(free, rest);
    if (boost::math::cdf(boost::math::complement(chance, between / free / within)) > kChance) {
      return result;
    }
  }
  const auto [least, most] = std::minmax_element(
      bins.begin(), bins.end(), [](const Bin& a, const Bin& b) { return a.mean() < b.mean(); });
  result.share = std::max(0.0, (between - free * within) / total);
  result.ratio = std::exp(most->mean() - least->mean());
  result.best_value = best_of(bins, figure.more_is_better(), within);
  return result;
}

bool has_random_axis(const nlohmann::json& axes) {
  if (!axes.is_array()) {
    return false;
  }
  return std::any_of(axes.begin(), axes.end(), [](const nlohmann::json& axis) {
    return axis.is_object() &&
           (axis.contains("random") || (axis.contains("zip") && has_random_axis(axis.at("zip"))));
  });
}

}  // namespace

bool is_sample(const SweepTable& table) {
  const auto spec = nlohmann::json::parse(table.entries.text("spec"), nullptr, false);
  if (const auto kind = space::sample_kind(spec)) {
    return !space::is_search(*kind);
  }
  const auto axes = spec.find("axes");
  return axes != spec.end() && has_random_axis(*axes);
}

std::vector<VarianceShare> variance_shares(const SweepTable& table) {
  std::vector<VarianceShare> result;
  if (!is_sample(table)) {
    return result;
  }
  std::vector<const SweepColumn*> figures = default_objectives(table);
  if (const SweepColumn* const speedup = table.find_total("speedup")) {
    figures.push_back(speedup);
  }
  for (const SweepColumn& axis : table.columns) {
    if (axis.role != SweepColumn::Role::kAxis || axis.name == "workload" || table.rows == 0) {
      continue;
    }
    bool varies = false;
    for (std::size_t row = 1; row < table.rows; ++row) {
      varies = varies || key_of(axis, row) != key_of(axis, 0);
    }
    for (std::size_t i = 0; varies && i < figures.size(); ++i) {
      result.push_back(share_of(table, axis, *figures[i]));
    }
  }
  return result;
}

}  // namespace sptc::sweep::analysis
