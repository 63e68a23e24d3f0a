// SPDX-License-Identifier: Apache-2.0
#include "sim/io/csv.h"
#include "sim/report/figures.h"
#include "sim/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace sptc::report {
namespace {

struct Column {
  std::string name, path;
};

/// Paths of the columns that come first, under short names.
constexpr const char* kFirst =
    "name m n k batch count dtype variant cycles time_us clock_mhz tflops utilization padding "
    "bound_by speedup check.mode check.elements check.mismatches check.undecided check.worst_error "
    "check.bound energy_uj.total power_w peak_power_w pj_per_flop performance_per_watt_ratio";

std::string short_name(const std::string& path) {
  return path == "check.mode" ? "check" : path == "energy_uj.total" ? "energy_uj" : path.substr(path.rfind('.') + 1);
}

/// The columns above, and every other figure under its own name.
std::vector<Column> columns_of(const run::RunResult& result) {
  std::vector<Column> columns;
  std::istringstream first(kFirst);
  for (std::string path; first >> path;) {
    columns.push_back({short_name(path), path});
  }
  const auto add = [&](const auto& figures) {
    for (const auto& figure : figures) {
      const std::string path = figure.path();
      if (std::none_of(columns.begin(), columns.end(), [&](const Column& column) { return column.path == path; })) {
        columns.push_back({path, path});
      }
    }
  };
  add(operation_figures(false));
  add(variant_figures(result.explained));
  add(operation_figures(result.explained));
  result.for_each_variant([&](const run::OperationResult& /*op*/, const run::VariantResult& variant, bool /*sparse*/) {
    if (variant.energy) {
      add(rail_figures(*variant.energy));
    }
  });
  return columns;
}

using Texts = std::map<std::string, std::string>;  ///< by path

template <typename Result>
void add_texts(const Figures<Result>& figures, const Result& result, Texts& texts) {
  visit_figures(figures, result, [&](const Figure<Result>& figure, const FigureValue& value) {
    texts[figure.path()] = io::csv_field(figure_text(value));
  });
}

void append_row(const run::OperationResult& op, const char* name, const std::optional<run::VariantResult>& variant,
                bool explained, const std::vector<Column>& columns, std::string& out) {
  if (!variant) {
    return;
  }
  Texts texts{{"variant", name}, {"check.mode", "none"}};
  add_texts(operation_figures(explained), op, texts);
  add_texts(variant_figures(explained), *variant, texts);
  if (variant->energy) {
    add_texts(rail_figures(*variant->energy), *variant->energy, texts);
  }
  std::vector<std::string> cells;
  for (const Column& column : columns) {
    cells.push_back(texts[column.path]);
  }
  out += fmt::format("{}\r\n", fmt::join(cells, ","));
}

}  // namespace

std::string csv_report(const run::RunResult& result) {
  const std::vector<Column> columns = columns_of(result);
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
