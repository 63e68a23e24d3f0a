// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_report.h"

#include "models/base/text.h"
#include "sim/io/csv.h"
#include "sim/io/text_file.h"
#include "sim/sweep/resimulation.h"
#include "sim/workload/workload.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>

namespace sptc::sweep {
namespace {

constexpr std::size_t kMaxFrontRows = 60;
constexpr std::size_t kMaxReasons = 20;

std::string csv(const SweepTable& table) {
  std::string text;
  const auto add = [&](const auto& text_of) {
    for (const SweepColumn& column : table.columns) {
      text += io::csv_field(text_of(column)) + (&column == &table.columns.back() ? "\r\n" : ",");
    }
  };
  add([](const SweepColumn& column) { return column.name; });
  for (std::size_t row = 0; row < table.rows; ++row) {
    add([&](const SweepColumn& column) { return table.text(column, row); });
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

std::vector<std::string> names_of(const Columns& columns) {
  const auto names = std::views::transform(columns, &SweepColumn::name);
  return {names.begin(), names.end()};
}

std::string more_in_csv(std::size_t rows) {
  return rows > kMaxFrontRows ? fmt::format("\n{} more in the CSV.\n", rows - kMaxFrontRows) : "";
}

std::string sensitivity_section(const SweepTable& table) {
  const std::vector<Sensitivity> all = sensitivities(table);
  if (all.empty()) {
    return {};
  }
  std::string text =
      "\n## Sensitivity\n\nRatio of the largest to the smallest figure where only this axis differs: 1 is no "
      "effect.\n\n" +
      markdown_header({"axis", "figure", "typical ratio", "largest", "best at", "groups"});
  std::vector<std::string> tied;
  for (const Sensitivity& one : all) {
    if (one.groups > 0) {
      text += markdown_row({one.axis->name, one.figure->name, fmt::format("{:.4g}", one.typical_ratio),
                            fmt::format("{:.4g}", one.largest_ratio),
                            one.largest_ratio > 1 ? one.best_value : "no effect", std::to_string(one.groups)});
    } else if (std::ranges::count(tied, markdown_cell(one.axis->name)) == 0 &&
               std::ranges::none_of(
                   all, [&](const Sensitivity& other) { return other.axis == one.axis && other.groups > 0; })) {
      tied.push_back(markdown_cell(one.axis->name));
    }
  }
  return tied.empty() ? text : text + fmt::format("\nNever changing alone: {}.\n", fmt::join(tied, ", "));
}

/// How many points cannot be on the front, for they lack an objective; "" where none does.
std::string without_objectives(const SweepTable& table, const Columns& objectives) {
  std::size_t count = 0;
  std::set<std::string> lacking, architectures;
  const SweepColumn* const arch = table.find("arch");
  for (std::size_t row = 0; row < table.rows; ++row) {
    bool lacks = false;
    for (const SweepColumn* objective : objectives) {
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
                    : fmt::format("Not among them: {} point{} without {} (arch {}).\n\n", count, count == 1 ? "" : "s",
                                  fmt::join(lacking, ", "), fmt::join(architectures, ", "));
}

/// A total, and where the ranges of the constants leave it.
std::string with_range(const SweepTable& table, const SweepColumn& column, std::size_t row) {
  std::string text = fmt::format("{:.6g}", column.numbers[row]);
  if (const auto [low, high] = range_of(table, column); low != nullptr) {
    text += fmt::format(" ({:.4g} to {:.4g})", low->numbers[row], high->numbers[row]);
  }
  return text;
}

/// What rows that share a place on the front have in `column`. Of positions the first.
std::string cell_of_all(const SweepTable& table, const SweepColumn& column, const std::vector<std::size_t>& rows) {
  using Role = SweepColumn::Role;
  constexpr std::size_t kMostNamed = 3;
  if (column.role == Role::kPosition) {
    return table.text(column, rows.front());
  }
  if (column.role == Role::kTotal) {
    const auto [low, high] =
        std::ranges::minmax_element(rows, [&](auto a, auto b) { return column.numbers[a] < column.numbers[b]; });
    return column.numbers[*low] < column.numbers[*high]
               ? fmt::format("{:.6g} to {:.6g}", column.numbers[*low], column.numbers[*high])
               : with_range(table, column, rows.front());
  }
  std::map<double, std::string> values;  // of words in the order of their appearance
  for (const std::size_t row : rows) {
    values.emplace(column.numbers[row], table.text(column, row));
  }
  if (values.size() > kMostNamed) {
    const std::string count = fmt::format("{} values", values.size());
    return column.numeric ? fmt::format("{} to {} ({})", values.begin()->second, values.rbegin()->second, count)
                          : count;
  }
  return fmt::format("{}", fmt::join(std::views::values(values), ", "));
}

/// How many points are on the front, and how surely.
std::string count_text(const std::vector<FrontRow>& front, bool ranges) {
  const auto stated = std::ranges::count_if(front, [](const FrontRow& one) { return one.stated; });
  if (!ranges) {
    return fmt::format("{} points.", stated);
  }
  const auto certain = std::ranges::count_if(front, [](const FrontRow& one) { return one.certain; });
  return fmt::format(
      "{} points at the stated constants of energy and area. {} of them are on it for certain, wherever the constants "
      "lie in their ranges, and {} more are on it somewhere in them. Any two points are compared with the same "
      "constants.",
      stated, certain, static_cast<std::ptrdiff_t>(front.size()) - stated);
}

std::string front_section(const SweepTable& table) {
  const Columns objectives = default_objectives(table);
  if (objectives.empty()) {
    return {};
  }
  Columns shown;
  for (const SweepColumn& column : table.columns) {
    const bool is_objective = std::ranges::count(objectives, &column) > 0;
    if (column.role == SweepColumn::Role::kPosition || column.role == SweepColumn::Role::kAxis || is_objective ||
        column.name == "speedup") {
      shown.push_back(&column);
    }
  }
  std::vector<std::string> names = names_of(shown);
  std::string goals;
  for (const SweepColumn* objective : objectives) {
    goals += fmt::format("{}{} {}", goals.empty() ? "" : ", ", objective->more_is_better() ? "most" : "least",
                         objective->name);
  }
  std::vector<FrontRow> front = front_within_ranges(table, objectives);
  std::ranges::stable_partition(front, [](const FrontRow& one) { return one.stated; });
  const std::vector<FrontGroup> groups = equal_rows(table, objectives, front);
  const bool ranges = !table.costs.sets.empty();
  const bool share = groups.size() < front.size();
  if (share) {
    names.insert(names.begin() + 1, "points");
  }
  if (ranges) {
    names.emplace_back("on the front");
  }
  std::string text = fmt::format("\n## Pareto front\n\nPer workload: {}. {}{}\n\n", goals, count_text(front, ranges),
                                 share ? fmt::format(" Points that are equal in these figures share one of {} rows, "
                                                     "which tells the values that make no difference.",
                                                     groups.size())
                                       : "") +
                     without_objectives(table, objectives) + markdown_header(names);
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxFrontRows); ++i) {
    const FrontGroup& group = groups[i];
    const auto of_columns =
        std::views::transform(shown, [&](const auto* column) { return cell_of_all(table, *column, group.rows); });
    std::vector<std::string> cells(of_columns.begin(), of_columns.end());
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
  return text + more_in_csv(groups.size());
}

/// What SystemC says of the front, where it simulated it again.
std::string again_section(const SweepTable& table) {
  const std::vector<SimulatedAgain> points = simulated_again(table);
  if (points.empty()) {
    return {};
  }
  const auto count = [&](auto holds) { return std::ranges::count_if(points, holds); };
  std::string text = fmt::format(
      "\n## Simulated again\n\nSystemC simulated {} points on the front or within {:.0f} % of it. {} of them differ "
      "from the closed form by more than {:.0f} % in an objective. {} of the {} that are on the front are beaten by "
      "another one of these points in SystemC.\n\n",
      points.size(), 100 * kFidelitiesAgree, count([](const auto& one) { return one.differs; }), 100 * kFidelitiesAgree,
      count([](const auto& one) { return one.was_on_front && one.is_beaten; }),
      count([](const auto& one) { return one.was_on_front; }));
  Columns shown{table.find("position")};
  for (const SweepColumn& column : table.columns) {
    if (column.role == SweepColumn::Role::kAxis) {
      shown.push_back(&column);
    }
  }
  std::vector<std::string> header = names_of(shown);
  const SweepColumn& first = *default_objectives(table).front();
  header.insert(header.end(), {first.name, "by SystemC", "difference", "on the front", "in SystemC"});
  text += markdown_header(header);
  for (std::size_t i = 0; i < std::min(points.size(), kMaxFrontRows); ++i) {
    const SimulatedAgain& one = points[i];
    const auto of_columns =
        std::views::transform(shown, [&](const auto* column) { return table.text(*column, one.row); });
    std::vector<std::string> cells(of_columns.begin(), of_columns.end());
    const double closed_form = first.numbers[one.row];
    cells.insert(cells.end(), {fmt::format("{:.6g}", closed_form), fmt::format("{:.6g}", closed_form * one.time_ratio),
                               fmt::format("{:+.1f} %{}", 100 * (one.time_ratio - 1), one.differs ? " (differs)" : ""),
                               one.was_on_front ? "yes" : "near it", one.is_beaten ? "beaten" : "not beaten"});
    text += markdown_row(cells);
  }
  return text + more_in_csv(points.size());
}

std::string failure_section(const SweepTable& table) {
  const SweepColumn* reason = table.find("reason");
  std::map<std::string, std::size_t> counts;
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (!table.done(row)) {
      ++counts[table.text(*reason, row)];
    }
  }
  if (counts.empty()) {
    return {};
  }
  std::vector<std::pair<std::string, std::size_t>> ordered(counts.begin(), counts.end());
  std::ranges::stable_sort(ordered, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = "\n## Failures\n\n" + markdown_header({"points", "reason"});
  for (std::size_t i = 0; i < std::min(ordered.size(), kMaxReasons); ++i) {
    text += markdown_row({std::to_string(ordered[i].second), ordered[i].first});
  }
  return text;
}

/// How near to the boards anything was measured, as results of this program have it.
std::string evidence_section(const SweepEntries& entries) {
  const auto found = entries.texts.find("evidence");
  if (found == entries.texts.end() || found->second.empty()) {
    return {};
  }
  std::string text = "\n";
  for (const std::string_view line : workload::parts_of(found->second, '\n')) {
    text += "- evidence, " + markdown_cell(std::string(line)) + "\n";
  }
  return text;
}

std::string markdown(const SweepTable& table) {
  const SweepEntries& entries = table.entries;
  std::string text = "# " + markdown_cell(entries.text("name")) + "\n\n";
  if (!entries.description.empty()) {
    text += markdown_cell(entries.description) + "\n\n";
  }
  const auto spec = nlohmann::json::parse(entries.text("spec"), nullptr, false);
  text += fmt::format("{} points, {} failed; {}; sptcsim {}, sweep {}.\n", table.rows, table.failures, made_by(spec),
                      entries.text("version"), entries.text("digest").substr(0, 12));
  if (table.missing > 0) {
    text += fmt::format("\nNot whole: {} points of the sweep are missing.\n", table.missing);
  }
  text += evidence_section(entries) + sensitivity_section(table) + front_section(table) + again_section(table) +
          failure_section(table);
  if (const auto assumed = entries.texts.find("assumed"); assumed != entries.texts.end()) {
    text += "\n## Assumed parameters\n\n" + markdown_cell(assumed->second) + "\n";
  }
  return text;
}

}  // namespace

void require_report_format(std::string_view format) {
  constexpr std::array<std::string_view, 3> kNames{"csv", "markdown", "html"};
  io::place_among(kNames, format, "unknown --format");
}

std::string sweep_report(const SweepTable& table, std::string_view format, const std::string& command) {
  return format == "csv" ? csv(table) : format == "html" ? html_report(table, command) : markdown(table);
}

std::string sweep_report(const std::filesystem::path& results, std::string_view format) {
  require_report_format(format);
  return sweep_report(read_sweep_table(results), format);
}

}  // namespace sptc::sweep
