// SPDX-License-Identifier: Apache-2.0
#include "sim/io/csv.h"
#include "sim/report/figures.h"
#include "sim/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::report {
namespace {

/// A column and the figure that fills it.
struct Column {
  std::string name, path;
};
constexpr std::string_view kVariant = "variant";

/// The columns that come first, some of them under a short name.
const std::array<Column, 27>& first_columns() {
  static const std::array<Column, 27> kColumns{
      {{"name", "name"},
       {"m", "m"},
       {"n", "n"},
       {"k", "k"},
       {"batch", "batch"},
       {"count", "count"},
       {"dtype", "dtype"},
       {std::string(kVariant), std::string(kVariant)},
       {"cycles", "cycles"},
       {"time_us", "time_us"},
       {"clock_mhz", "clock_mhz"},
       {"tflops", "tflops"},
       {"utilization", "utilization"},
       {"padding", "padding"},
       {"bound_by", "bound_by"},
       {"speedup", "speedup"},
       {"check", "check.mode"},
       {"elements", "check.elements"},
       {"mismatches", "check.mismatches"},
       {"undecided", "check.undecided"},
       {"worst_error", "check.worst_error"},
       {"bound", "check.bound"},
       {"energy_uj", "energy_uj.total"},
       {"power_w", "power_w"},
       {"peak_power_w", "peak_power_w"},
       {"pj_per_flop", "pj_per_flop"},
       {"performance_per_watt_ratio", "performance_per_watt_ratio"}}};
  return kColumns;
}

/// The columns above, and every other figure under its own name.
std::vector<Column> columns_of(bool explained) {
  std::vector<Column> columns(first_columns().begin(), first_columns().end());
  const auto add = [&](const auto& figures) {
    for (const auto& figure : figures) {
      const std::string path = figure.path();
      if (std::none_of(columns.begin(), columns.end(),
                       [&](const Column& column) { return column.path == path; })) {
        columns.push_back({path, path});
      }
    }
  };
  add(operation_figures());
  add(comparison_figures());
  for (const auto* const figures : variant_figures(explained)) {
    add(*figures);
  }
  if (explained) {
    add(sentence_figures());
  }
  return columns;
}

using Texts = std::map<std::string, std::string>;  ///< by path

template <typename Result>
void add_texts(const Figures<Result>& figures, const Result& result, Texts& texts) {
  visit_figures(figures, result, [&](const Figure<Result>& figure, const FigureValue& value) {
    texts[figure.path()] = io::csv_field(figure_text(value));
  });
}

void append_row(const run::OperationResult& op, std::string_view name,
                const std::optional<run::VariantResult>& variant, bool explained,
                const std::vector<Column>& columns, std::string& out) {
  if (!variant) {
    return;
  }
  Texts texts{{std::string(kVariant), std::string(name)}, {"check.mode", "none"}};
  add_texts(operation_figures(), op, texts);
  add_texts(comparison_figures(), op, texts);
  for (const auto* const figures : variant_figures(explained)) {
    add_texts(*figures, *variant, texts);
  }
  if (explained) {
    add_texts(sentence_figures(), op, texts);
  }
  std::vector<std::string> cells;
  cells.reserve(columns.size());
  for (const Column& column : columns) {
    cells.push_back(texts[column.path]);
  }
  out += fmt::format("{}\r\n", fmt::join(cells, ","));
}

}  // namespace

std::string csv_report(const run::RunResult& result) {
  const std::vector<Column> columns = columns_of(result.explained);
  std::string out;
  for (const Column& column : columns) {
    out += (out.empty() ? "" : ",") + column.name;
  }
  out += "\r\n";
  for (const run::OperationResult& op : result.operations) {
    append_row(op, "dense", op.dense, result.explained, columns, out);
    append_row(op, "sparse", op.sparse, result.explained, columns, out);
  }
  return out;
}

}  // namespace sptc::report
