// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_report.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/csv.h"
#include "sim/sweep/html_report.h"
#include "sim/sweep/sweep_spec.h"
#include "sim/sweep/sweep_store.h"
#include "sim/sweep/sweep_table.h"
#include "sim/sweep/variance_share.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <vector>

namespace sptc::sweep {
namespace {

constexpr std::size_t kMaxFrontRows = 60;
constexpr std::size_t kMaxReasons = 20;

std::string csv(const SweepTable& table) {
  std::string text;
  for (const SweepColumn& column : table.columns) {
    text += (text.empty() ? "" : ",") + io::csv_field(column.name);
  }
  text += "\r\n";
  for (std::size_t row = 0; row < table.rows; ++row) {
    bool first = true;
    for (const SweepColumn& column : table.columns) {
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
  return result;
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

std::string sensitivity_section(const SweepTable& table) {
  const std::vector<Sensitivity> all = sensitivities(table);
  if (all.empty()) {
    return {};
  }
  std::string text =
      "\n## Sensitivity\n\nRatio of the largest to the smallest figure where only this axis "
      "differs: 1 is no effect.\n\n" +
      markdown_header({"axis", "figure", "typical ratio", "largest", "best at", "groups"});
  std::vector<std::string> tied;
  for (const Sensitivity& one : all) {
    if (one.groups > 0) {
      text += markdown_row(
          {one.axis->name, one.figure->name, fmt::format("{:.4g}", one.typical_ratio),
           fmt::format("{:.4g}", one.largest_ratio),
           one.largest_ratio > 1 ? one.best_value : "no effect", std::to_string(one.groups)});
    } else if (std::find(tied.begin(), tied.end(), one.axis->name) == tied.end() &&
               std::none_of(all.begin(), all.end(), [&](const Sensitivity& other) {
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

std::string share_section(const SweepTable& table) {
  const std::vector<VarianceShare> all = variance_shares(table);
  if (all.empty()) {
    return {};
  }
  std::string text =
      "\n## Sensitivity\n\nThe points are a sample. The share is the part of the variance of the "
      "figure's logarithm that the axis explains alone (first-order Sobol index, from the rows, "
      "per workload). What the shares of a figure leave of 1 is due to axes together and to "
      "chance.\n\n" +
      markdown_header({"axis", "figure", "share", "worst to best mean", "best at", "rows"});
  for (const VarianceShare& one : all) {
    text += markdown_row({one.axis->name, one.figure->name, fmt::format("{:.3f}", one.share),
                          fmt::format("{:.4g}", one.ratio),
                          one.best_value.empty() ? "no effect beyond chance" : one.best_value,
                          std::to_string(one.rows)});
  }
  return text;
}

/// That the points were chosen, where they were.
std::string search_note(const SweepTable& table) {
  const auto spec = nlohmann::json::parse(table.entries.text("spec"), nullptr, false);
  const auto kind = sample_kind(spec);
  return kind && is_search(*kind)
             ? "\nA search for the Pareto front chose the points: they are no random sample.\n"
             : "";
}

/// How many points cannot be on the front, for they lack an objective; "" where none does.
std::string without_objectives(const SweepTable& table,
                               const std::vector<const SweepColumn*>& objectives) {
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
                    : fmt::format("Not among them: {} point{} without {} (arch {}).\n\n", count,
                                  count == 1 ? "" : "s", fmt::join(lacking, ", "),
                                  fmt::join(architectures, ", "));
}

std::string front_section(const SweepTable& table) {
  const std::vector<const SweepColumn*> objectives = default_objectives(table);
  if (objectives.empty()) {
    return {};
  }
  std::vector<const SweepColumn*> shown;
  std::vector<std::string> names;
  for (const SweepColumn& column : table.columns) {
    const bool is_objective =
        std::find(objectives.begin(), objectives.end(), &column) != objectives.end();
    if (column.role == SweepColumn::Role::kPosition || column.role == SweepColumn::Role::kAxis ||
        is_objective || column.name == "speedup") {
      shown.push_back(&column);
      names.push_back(column.name);
    }
  }
  std::string goals;
  for (const SweepColumn* objective : objectives) {
    goals += fmt::format("{}{} {}", goals.empty() ? "" : ", ",
                         objective->more_is_better() ? "most" : "least", objective->name);
  }
  const std::vector<std::size_t> front = pareto_front(table, objectives);
  std::string text =
      fmt::format("\n## Pareto front\n\nPer workload: {}. {} points.\n\n", goals, front.size()) +
      without_objectives(table, objectives) + markdown_header(names);
  for (std::size_t i = 0; i < std::min(front.size(), kMaxFrontRows); ++i) {
    std::vector<std::string> cells;
    for (const SweepColumn* column : shown) {
      const bool rounded = column->role == SweepColumn::Role::kTotal;
      cells.push_back(rounded ? fmt::format("{:.6g}", column->numbers[front[i]])
                              : table.text(*column, front[i]));
    }
    text += markdown_row(cells);
  }
  if (front.size() > kMaxFrontRows) {
    text += fmt::format("\n{} more in the CSV.\n", front.size() - kMaxFrontRows);
  }
  return text;
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

std::string markdown(const SweepTable& table) {
  const SweepEntries& entries = table.entries;
  std::string text = "# " + markdown_cell(entries.text("name")) + "\n\n";
  if (!entries.description.empty()) {
    text += markdown_cell(entries.description) + "\n\n";
  }
  text += fmt::format("{} points, {} failed; sptcsim {}, sweep {}.\n", table.rows, table.failures,
                      entries.text("version"), entries.text("digest").substr(0, 12));
  if (table.missing > 0) {
    text += fmt::format("\nNot whole: {} points of the sweep are missing.\n", table.missing);
  }
  text += search_note(table);
  text += (is_sample(table) ? share_section(table) : sensitivity_section(table)) +
          front_section(table) + failure_section(table);
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

std::string sweep_report(const std::filesystem::path& results, SweepReportFormat format,
                         const std::string& command) {
  const SweepTable table = read_sweep_table(results);
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

bool is_spec_of(const std::filesystem::path& results, const std::filesystem::path& file) {
  using nlohmann::json;
  std::ifstream stream(file);
  const json content = json::parse(stream, nullptr, false);
  return content.is_object() &&
         content ==
             json::parse(open_sweep(results).value("SELECT value FROM sweep WHERE key = 'spec'"),
                         nullptr, false);
}

}  // namespace sptc::sweep
