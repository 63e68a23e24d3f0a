// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/decision.h"
#include "sim/compare/points.h"
#include "sim/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <string>
#include <utility>

namespace sptc::compare {
namespace {

std::string or_none(double value, std::string (*text)(double)) {
  return value > 0 ? text(value) : "n/a";
}

std::string watts(double value) {
  return fmt::format("{:.0f}", value);
}

std::string times(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}x", *ratio) : "n/a";
}

constexpr const char* kRow = "{:>2}  {:<12} {:<15} {:>8} {:>8} {:>6} {:>7} {:>8} {:>8} {:>8} {:>6}\n";

std::string point_row(std::size_t number, const ComparedPoint& point) {
  const ComparedFigures& total = point.total;
  return fmt::format(kRow, number, report::fitted_name(point.dims, 12), report::fitted_name(point.board, 15),
                     or_none(total.dense.us, report::scaled_time), or_none(total.sparse.us, report::scaled_time),
                     times(total.gain()), or_none(total.dense.watts, watts), or_none(total.sparse.watts, watts),
                     or_none(total.dense.uj, report::scaled_energy), or_none(total.sparse.uj, report::scaled_energy),
                     times(total.per_watt()));
}

std::string layer_cell(const ComparedFigures& figures) {
  if (figures.dense.us == 0 && figures.sparse.us == 0) {
    return fmt::format(" {:>6} {:<7}", "n/a", "");
  }
  const auto gain = figures.gain();
  return fmt::format(" {:>6} {:<7}", gain ? times(gain) : "-",
                     bound_name((gain ? figures.sparse : figures.dense).bound, &run::ResourceName::column));
}

/// Gains that were measured on shapes like the layer, and simulated on the same shapes.
std::string measured_cell(const ComparedFigures& figures) {
  return figures.measured_shapes == 0 ? fmt::format(" {:>14}", "-")
                                      : fmt::format(" {:>5.2f}|{:<4.2f} {:<3}", figures.measured_gain,
                                                    figures.simulated_gain, figures.measured_shapes);
}

bool is_measured(const BoardComparison& comparison, std::size_t operation) {
  return std::ranges::any_of(comparison.points, [operation](const ComparedPoint& point) {
    return operation < point.operations.size() && point.operations[operation].measured_shapes > 0;
  });
}

/// Layers by points, as many points beside each other as fit; those that `is_shown`.
template <typename Cell, typename IsShown>
std::string layers(const BoardComparison& comparison, const char* title, Cell cell, IsShown is_shown) {
  constexpr std::size_t kAtOnce = 5;
  std::string out;
  for (std::size_t first = 0; first < comparison.points.size(); first += kAtOnce) {
    const std::size_t last = std::min(first + kAtOnce, comparison.points.size());
    std::string head = fmt::format("\n{:<24}", title);
    for (std::size_t p = first; p < last; ++p) {
      head += fmt::format(" {:>6}        ", p + 1);
    }
    out += report::line_of(head);
    for (std::size_t i = 0; i < comparison.operations.size(); ++i) {
      if (!is_shown(i)) {
        continue;
      }
      std::string row = fmt::format("{:<24}", report::fitted_layer(comparison.operations[i], 24));
      for (std::size_t p = first; p < last; ++p) {
        const auto& operations = comparison.points[p].operations;
        row += i < operations.size() ? cell(operations[i]) : fmt::format(" {:>6} {:<7}", "n/a", "");
      }
      out += report::line_of(row);
    }
  }
  return out;
}

/// Under which conditions those were measured.
std::string conditions_text(const BoardComparison& comparison) {
  std::set<std::string> lines;
  for (const ComparedPoint& point : comparison.points) {
    lines.insert(point.measured_conditions.begin(), point.measured_conditions.end());
  }
  std::string out;
  for (const std::string& line : lines) {
    out += report::wrapped("measured: " + line, report::kTextWidth);
  }
  return out + "\n";
}

/// Times of two saved results, and the second over the first.
std::string changes(const BoardComparison& comparison) {
  static constexpr const char* kChange = "{:<24} {:>10} {:>10} {:>7}   {:>10} {:>10} {:>7}\n";
  const auto row = [](const std::string& name, const ComparedFigures& a, const ComparedFigures& b) {
    const auto ratio = [](double before, double after) {
      return before > 0 && after > 0 ? fmt::format("{:.3f}x", after / before) : std::string("n/a");
    };
    const auto us = [](double value) { return or_none(value, report::scaled_time); };
    return fmt::format(kChange, report::fitted_layer(name, 24), us(a.dense.us), us(b.dense.us),
                       ratio(a.dense.us, b.dense.us), us(a.sparse.us), us(b.sparse.us),
                       ratio(a.sparse.us, b.sparse.us));
  };
  const ComparedPoint& first = comparison.points.front();
  const ComparedPoint& second = comparison.points.back();
  std::string out = "\n" + fmt::format(kChange, "", "dense 1", "dense 2", "2 / 1", "sparse 1", "sparse 2", "2 / 1");
  for (std::size_t i = 0; i < comparison.operations.size(); ++i) {
    out += row(comparison.operations[i], first.operations[i], second.operations[i]);
  }
  return out + row(comparison.is_end_to_end() ? "one inference" : "all GEMMs", first.total, second.total);
}

}  // namespace

std::string evidence_text(const BoardComparison& comparison) {
  std::string out;
  std::set<std::pair<std::string, std::string>> told;
  for (const ComparedPoint& point : comparison.points) {
    if (!point.evidence.empty() && told.emplace(point.board, point.type).second) {
      const std::string type = point.type.empty() ? "" : ", " + point.type;
      out += report::wrapped(fmt::format("evidence, {}{}: {}", point.board, type, point.evidence), report::kTextWidth);
    }
  }
  return out;
}

std::string comparison_text(const BoardComparison& comparison) {
  if (comparison.is_of_types()) {
    return decision_text(comparison);
  }
  std::string out = report::wrapped(comparison_verdict(comparison), report::kTextWidth);
  out += comparison.made_by.empty() ? "\n" : "Numbers: " + comparison.made_by + ".\n\n";
  out += fmt::format(kRow, "", "", "board", "dense", "sparse", "gain", "dense W", "sparse W", "dense J", "sparse J",
                     "/ watt");
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
  for (std::size_t i = 0; i < comparison.points.size(); ++i) {
    if (const std::string& why = comparison.points[i].does_not_fit; !why.empty()) {
      out += report::wrapped(fmt::format("{} {}", i + 1, why), report::kTextWidth);
    }
  }
  if (comparison.is_of_two_results()) {
    out += changes(comparison);
  }
  out += layers(comparison, "gain, bound by", layer_cell, [](std::size_t) { return true; });
  const auto measured = [&](std::size_t i) { return is_measured(comparison, i); };
  if (std::ranges::any_of(std::views::iota(std::size_t{0}, comparison.operations.size()), measured)) {
    out += layers(comparison, "gain measured|simulated", measured_cell, measured) +
           report::wrapped("The third number counts the measured shapes that have m, n and k within 2x of the layer.",
                           report::kTextWidth) +
           conditions_text(comparison);
  }
  for (const std::string& reason : reasons) {
    out += "n/a: " + reason + "\n";
  }
  out += evidence_text(comparison);
  const std::string scope = comparison.is_end_to_end()
                                ? fmt::format("Figures of points: {}. Layers: GEMMs only", comparison.scope)
                                : comparison.scope;
  return out + report::wrapped(scope + "; -: stays dense." +
                                   (comparison.points.front().file.empty() ? " 'run' says more of each point." : ""),
                               report::kTextWidth);
}

}  // namespace sptc::compare
