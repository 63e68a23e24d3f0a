// SPDX-License-Identifier: Apache-2.0
#include "sim/report/fitted_name.h"
#include "sim/report/scaled.h"
#include "sim/report/wrapped.h"
#include "sim/run/what_if.h"
#include "sim/side_by_side/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sptc::side_by_side {
namespace {

constexpr std::size_t kWidth = 100;

std::string or_none(double value, std::string (*text)(double)) {
  return value > 0 ? text(value) : "n/a";
}

std::string watts(double value) {
  return fmt::format("{:.0f}", value);
}

std::string times(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "n/a";
}

constexpr const char* kRow =
    "{:>2}  {:<12} {:<15} {:>8} {:>8} {:>6} {:>7} {:>8} {:>8} {:>8} {:>6}\n";

std::string point_row(std::size_t number, const ComparedPoint& point) {
  const ComparedFigures& total = point.total;
  return fmt::format(
      kRow, number, report::fitted_name(point.dims, 12), report::fitted_name(point.board, 15),
      or_none(total.dense_us, report::scaled_time), or_none(total.sparse_us, report::scaled_time),
      times(total.gain()), or_none(total.dense_w, watts), or_none(total.sparse_w, watts),
      or_none(total.dense_uj, report::scaled_energy),
      or_none(total.sparse_uj, report::scaled_energy), times(total.per_watt()));
}

std::string layer_cell(const ComparedFigures& figures) {
  const auto gain = figures.gain();
  const int bound = gain ? figures.sparse_bound : figures.dense_bound;
  const std::string_view name =
      bound < 0 ? std::string_view() : run::kResourceNames[static_cast<std::size_t>(bound)].column;
  return fmt::format(" {:>6} {:<7}", gain ? times(gain) : "-", name);
}

/// Layers by points, as many points beside each other as fit.
std::string layers(const BoardComparison& comparison) {
  constexpr std::size_t kAtOnce = 5;
  std::string out;
  for (std::size_t first = 0; first < comparison.points.size(); first += kAtOnce) {
    const std::size_t last = std::min(first + kAtOnce, comparison.points.size());
    out += fmt::format("\n{:<24}", "gain, bound by");
    for (std::size_t p = first; p < last; ++p) {
      out += fmt::format(" {:>6}        ", p + 1);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
    for (std::size_t i = 0; i < comparison.operations.size(); ++i) {
      std::string row = fmt::format("{:<24}", report::fitted_name(comparison.operations[i], 24));
      for (std::size_t p = first; p < last; ++p) {
        const auto& operations = comparison.points[p].operations;
        row += i < operations.size() ? layer_cell(operations[i])
                                     : fmt::format(" {:>6} {:<7}", "n/a", "");
      }
      row.erase(row.find_last_not_of(' ') + 1);
      out += row + "\n";
    }
  }
  return out;
}

}  // namespace

std::string comparison_text(const BoardComparison& comparison) {
  std::string out = report::wrapped(comparison_verdict(comparison), kWidth) + "\n";
  out += fmt::format(kRow, "", "", "board", "dense", "sparse", "gain", "dense W", "sparse W",
                     "dense", "sparse", "/ watt");
  std::set<std::string> reasons;
  for (std::size_t i = 0; i < comparison.points.size(); ++i) {
    const ComparedPoint& point = comparison.points[i];
    out += point_row(i + 1, point);
    for (const std::string* reason : {&point.failure, &point.no_sparse, &point.no_energy}) {
      if (!reason->empty()) {
        reasons.insert(*reason);
      }
    }
  }
  out += layers(comparison);
  for (const std::string& reason : reasons) {
    out += "n/a: " + reason + "\n";
  }
  return out + "GEMMs only; 'run' says more of each point.\n";
}

}  // namespace sptc::side_by_side
