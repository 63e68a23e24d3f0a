// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/reports/sweep_report.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/csv.h"
#include "sim/sweep/analysis/cost_front.h"
#include "sim/sweep/analysis/sweep_table.h"
#include "sim/sweep/execution/resimulation.h"
#include "sim/sweep/space/sweep_spec.h"
#include "sim/sweep/store/sweep_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

namespace sptc::sweep::reports {
namespace {

constexpr std::size_t kMaxFrontRows = 60;
constexpr std::size_t kMaxReasons = 20;

std::string csv(const analysis::SweepTable& table) {
  std::string text;
  for (const analysis::SweepColumn& column : table.columns) {
    text += (text.empty() ? "" : ",") + io::csv_field(column.name);
  }
  text += "\r\n";
  for (std::size_t row = 0; row < table.rows; ++row) {
    bool first = true;
    for (const analysis::SweepColumn& column : table.columns) {
      text += (first ? "" : ",") + io::csv_field(table.text(column, row));
      first = false;
    }
    text += "\r\n";
  }
  return text;
}

std::string markdown_cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '|' ? "\\|" : c == '\n' ? "; " : c == '<' ? "&lt;" : std::string(1, c);
  }
  return base::escaped(result);
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += " " + markdown_cell(cell) + " |";
  }
  return line + "\n";
}

std::string markdown_header(const std::vector<std::string>& cells) {
  std::string rule = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    rule += "---|";
  }
  return markdown_row(cells) + rule + "\n";
}

std::string sensitivity_section(const analysis::SweepTable& table) {
  const std::vector<analysis::Sensitivity> all = analysis::sensitivities(table);
  if (all.empty()) {
    return {};
  }
  std::string text =
      "\n## Sensitivity\n\nRatio of the largest to the smallest figure where only this axis "
      "differs: 1 is no effect.\n\n" +
      markdown_header({"axis", "figure", "typical ratio", "largest", "best at", "groups"});
  std::vector<std::string> tied;
  for (const analysis::Sensitivity& one : all) {
    if (one.groups > 0) {
      text += markdown_row(
          {one.axis->name, one.figure->name, fmt::format("{:.4g}", one.typical_ratio),
           fmt::format("{:.4g}", one.largest_ratio),
           one.largest_ratio > 1 ? one.best_value : "no effect", std::to_string(one.groups)});
    } else if (std::find(tied.begin(), tied.end(), one.axis->name) == tied.end() &&
               std::none_of(all.begin(), all.end(), [&](const analysis::Sensitivity& other) {
                 return other.axis == one.axis && other.groups > 0;
               })) {
      tied.push_back(one.axis->name);
    }
  }
  if (!tied.empty()) {
    text += "\nNever changing alone: ";
    for (std::size_t i = 0; i < tied.size(); ++i) {
      text += (i == 0 ? "" : ", ") + markdown_cell(tied[i]);
    }
    text += ".\n";
  }
  return text;
}

/// How many points cannot be on the front, for they lack an objective; "" where none does.
std::string without_objectives(const analysis::SweepTable& table,
                               const std::vector<const analysis::SweepColumn*>& objectives) {
  std::size_t count = 0;
  std::set<std::string> lacking, architectures;
  const analysis::SweepColumn* const arch = table.find("arch");
  for (std::size_t row = 0; row < table.rows; ++row) {
    bool lacks = false;
    for (const analysis::SweepColumn* objective : objectives) {
      if (table.done(row) && std::isnan(objective->numbers[row])) {
        lacking.insert(objective->name);
        lacks = true;
      }
    }
    count += lacks ? 1 : 0;
    if (lacks && arch != nullptr) {
      architectures.insert(table.text(*arch, row));
    }
  }
  return count == 0 ? ""
                    : fmt::format("Not among them: {} point{} without {} (arch {}).\n\n", count,
                                  count == 1 ? "" : "s", fmt::join(lacking, ", "),
                                  fmt::join(architectures, ", "));
}

/// A total, and where the ranges of the constants leave it.
std::string with_range(const analysis::SweepTable& table, const analysis::SweepColumn& column,
                       std::size_t row) {
  std::string text = fmt::format("{:.6g}", column.numbers[row]);
  if (const auto [low, high] = analysis::range_of(table, column); low != nullptr) {
    text += fmt::format(" ({:.4g} to {:.4g})", low->numbers[row], high->numbers[row]);
  }
  return text;
}

/// What rows that share a place on the front have in `column`: one value, or which. Of their
/// positions the first.
std::string cell_of_all(const analysis::SweepTable& table, const analysis::SweepColumn& column,
                        const std::vector<std::size_t>& rows) {
  using Role = analysis::SweepColumn::Role;
  constexpr std::size_t kMostNamed = 3;
  if (column.role == Role::kPosition) {
    return table.text(column, rows.front());
  }
  if (column.role == Role::kTotal) {
    const auto [low, high] = std::minmax_element(rows.begin(), rows.end(), [&](auto a, auto b) {
      return column.numbers[a] < column.numbers[b];
    });
    return column.numbers[*low] < column.numbers[*high]
               ? fmt::format("{:.6g} to {:.6g}", column.numbers[*low], column.numbers[*high])
               : with_range(table, column, rows.front());
  }
  std::map<double, std::string> values;  // of words in the order of their appearance
  for (const std::size_t row : rows) {
    values.emplace(column.numeric ? column.numbers[row] : column.codes[row],
                   table.text(column, row));
  }
  if (values.size() > kMostNamed) {
    const std::string count = fmt::format("{} values", values.size());
    return column.numeric ? fmt::format("{} to {} ({})", values.begin()->second,
                                        values.rbegin()->second, count)
                          : count;
  }
  std::string text;
  for (const auto& [key, value] : values) {
    text += (text.empty() ? "" : ", ") + value;
  }
  return text;
}

/// How many points are on the front, and how surely.
std::string count_text(const std::vector<analysis::FrontRow>& front, bool ranges) {
  const auto stated = std::count_if(front.begin(), front.end(),
                                    [](const analysis::FrontRow& one) { return one.stated; });
  if (!ranges) {
    return fmt::format("{} points.", stated);
  }
  const auto certain = std::count_if(front.begin(), front.end(),
                                     [](const analysis::FrontRow& one) { return one.certain; });
  return fmt::format(
      "{} points at the stated constants of energy and area. {} of them are on it for certain, "
      "wherever the constants lie in their ranges, and {} more are on it somewhere in them. Any "
      "two points are compared with the same constants.",
      stated, certain, static_cast<std::ptrdiff_t>(front.size()) - stated);
}

std::string front_section(const analysis::SweepTable& table) {
  const std::vector<const analysis::SweepColumn*> objectives = analysis::default_objectives(table);
  if (objectives.empty()) {
    return {};
  }
  std::vector<const analysis::SweepColumn*> shown;
  std::vector<std::string> names;
  for (const analysis::SweepColumn& column : table.columns) {
    const bool is_objective =
        std::find(objectives.begin(), objectives.end(), &column) != objectives.end();
    if (column.role == analysis::SweepColumn::Role::kPosition ||
        column.role == analysis::SweepColumn::Role::kAxis || is_objective ||
        column.name == "speedup") {
      shown.push_back(&column);
      names.push_back(column.name);
    }
  }
  std::string goals;
  for (const analysis::SweepColumn* objective : objectives) {
    goals += fmt::format("{}{} {}", goals.empty() ? "" : ", ",
                         objective->more_is_better() ? "most" : "least", objective->name);
  }
  std::vector<analysis::FrontRow> front = analysis::front_within_ranges(table, objectives);
  std::stable_partition(front.begin(), front.end(),
                        [](const analysis::FrontRow& one) { return one.stated; });
  const std::vector<analysis::FrontGroup> groups = analysis::equal_rows(table, objectives, front);
  const bool ranges = !table.costs.sets.empty();
  const bool share = groups.size() < front.size();
  if (share) {
    names.insert(names.begin() + 1, "points");
  }
  if (ranges) {
    names.emplace_back("on the front");
  }
  std::string text =
      fmt::format("\n## Pareto front\n\nPer workload: {}. {}{}\n\n", goals,
                  count_text(front, ranges),
                  share ? fmt::format(" Points that are equal in these figures share one of {} "
                                      "rows, which tells the values that make no difference.",
                                      groups.size())
                        : "") +
      without_objectives(table, objectives) + markdown_header(names);
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxFrontRows); ++i) {
    const analysis::FrontGroup& group = groups[i];
    std::vector<std::string> cells;
    for (const analysis::SweepColumn* column : shown) {
      cells.push_back(cell_of_all(table, *column, group.rows));
    }
    if (share) {
      cells.insert(cells.begin() + 1, std::to_string(group.rows.size()));
    }
    if (ranges) {
      cells.emplace_back(group.certain  ? "for certain"
                         : group.stated ? "at the stated constants"
                                        : "at other constants");
    }
    text += markdown_row(cells);
  }
  if (groups.size() > kMaxFrontRows) {
    text += fmt::format("\n{} more in the CSV.\n", groups.size() - kMaxFrontRows);
  }
  return text;
}

/// What SystemC says of the front, where it simulated it again.
std::string again_section(const analysis::SweepTable& table) {
  const std::vector<execution::SimulatedAgain> points = execution::simulated_again(table);
  if (points.empty()) {
    return {};
  }
  const auto count = [&](auto holds) { return std::count_if(points.begin(), points.end(), holds); };
  std::string text = fmt::format(
      "\n## Simulated again\n\nSystemC simulated {} points on the front or within {:.0f} % of it. "
      "{} of them differ from the closed form by more than {:.0f} % in an objective. {} of the {} "
      "that are on the front are beaten by another one of these points in SystemC.\n\n",
      points.size(), 100 * execution::kFidelitiesAgree,
      count([](const auto& one) { return one.differs; }), 100 * execution::kFidelitiesAgree,
      count([](const auto& one) { return one.was_on_front && one.is_beaten; }),
      count([](const auto& one) { return one.was_on_front; }));
  std::vector<std::string> names{"position"};
  for (const analysis::SweepColumn& column : table.columns) {
    if (column.role == analysis::SweepColumn::Role::kAxis) {
      names.push_back(column.name);
    }
  }
  const std::string first = analysis::default_objectives(table).front()->name;
  std::vector<std::string> header = names;
  header.insert(header.end(), {first, "by SystemC", "difference", "on the front", "in SystemC"});
  text += markdown_header(header);
  for (std::size_t i = 0; i < std::min(points.size(), kMaxFrontRows); ++i) {
    const execution::SimulatedAgain& one = points[i];
    std::vector<std::string> cells;
    cells.reserve(header.size());
    for (const std::string& name : names) {
      cells.push_back(table.text(*table.find(name), one.row));
    }
    const double closed_form = table.find_total(first)->numbers[one.row];
    cells.insert(
        cells.end(),
        {fmt::format("{:.6g}", closed_form), fmt::format("{:.6g}", closed_form * one.time_ratio),
         fmt::format("{:+.1f} %{}", 100 * (one.time_ratio - 1), one.differs ? " (differs)" : ""),
         one.was_on_front ? "yes" : "near it", one.is_beaten ? "beaten" : "not beaten"});
    text += markdown_row(cells);
  }
  if (points.size() > kMaxFrontRows) {
    text += fmt::format("\n{} more in the CSV.\n", points.size() - kMaxFrontRows);
  }
  return text;
}

std::string failure_section(const analysis::SweepTable& table) {
  const analysis::SweepColumn* reason = table.find("reason");
  std::map<std::string, std::size_t> counts;
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (!table.done(row)) {
      ++counts[table.text(*reason, row)];
    }
  }
  if (counts.empty()) {
    return {};
  }
  std::vector<std::pair<std::size_t, std::string>> ordered;
  ordered.reserve(counts.size());
  for (const auto& [text, count] : counts) {
    ordered.emplace_back(count, text);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = "\n## Failures\n\n" + markdown_header({"points", "reason"});
  for (std::size_t i = 0; i < std::min(ordered.size(), kMaxReasons); ++i) {
    text += markdown_row({std::to_string(ordered[i].first), ordered[i].second});
  }
  return text;
}

std::string markdown(const analysis::SweepTable& table) {
  const store::SweepEntries& entries = table.entries;
  std::string text = "# " + markdown_cell(entries.text("name")) + "\n\n";
  if (!entries.description.empty()) {
    text += markdown_cell(entries.description) + "\n\n";
  }
  const auto spec = nlohmann::json::parse(entries.text("spec"), nullptr, false);
  text += fmt::format("{} points, {} failed; {}; sptcsim {}, sweep {}.\n", table.rows,
                      table.failures, space::made_by(spec), entries.text("version"),
                      entries.text("digest").substr(0, 12));
  if (table.missing > 0) {
    text += fmt::format("\nNot whole: {} points of the sweep are missing.\n", table.missing);
  }
  text += sensitivity_section(table) + front_section(table) + again_section(table) +
          failure_section(table);
  if (const auto assumed = entries.texts.find("assumed"); assumed != entries.texts.end()) {
    text += "\n## Assumed parameters\n\n" + markdown_cell(assumed->second) + "\n";
  }
  return text;
}

}  // namespace

SweepReportFormat parse_sweep_report_format(std::string_view word) {
  static constexpr std::array<std::string_view, 3> kNames{"csv", "markdown", "html"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == word) {
      return static_cast<SweepReportFormat>(i);
    }
  }
  throw base::InputError("unknown --format " + base::unknown_name(word, kNames));
}

std::string sweep_report(const analysis::SweepTable& table, SweepReportFormat format,
                         const std::string& command) {
  switch (format) {
    case SweepReportFormat::kCsv:
      return csv(table);
    case SweepReportFormat::kHtml:
      return html_report(table, command);
    case SweepReportFormat::kMarkdown:
      break;
  }
  return markdown(table);
}

std::string sweep_report(const std::filesystem::path& results, SweepReportFormat format,
                         const std::string& command) {
  return sweep_report(analysis::read_sweep_table(results), format, command);
}

bool is_spec_of(const std::filesystem::path& results, const std::filesystem::path& file) {
  using nlohmann::json;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return false;  // what is read of a pipe is gone
  }
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const json content = json::parse(text.str(), nullptr, false);
  return content.is_object() &&
         content == json::parse(store::open_sweep(results).value(
                                    "SELECT value FROM sweep WHERE key = 'spec'"),
                                nullptr, false);
}

}  // namespace sptc::sweep::reports
