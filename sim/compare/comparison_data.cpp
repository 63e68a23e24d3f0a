// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/decision.h"
#include "sim/io/csv.h"
#include "sim/io/json_reader.h"
#include "sim/report/html_page.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::compare {
/// sim/compare/compare.html, and of types decision.html.
std::string_view compare_html();
std::string_view decision_html();

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> known(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

/// Figures of an operation or of all.
struct Figure {
  const char* name;
  std::optional<double> (*value)(const ComparedFigures&);
};
constexpr Figure kFigures[] = {{"dense_us", [](const ComparedFigures& f) { return known(f.dense.us); }},
                               {"sparse_us", [](const ComparedFigures& f) { return known(f.sparse.us); }},
                               {"gain", [](const ComparedFigures& f) { return f.gain(); }},
                               {"dense_uj", [](const ComparedFigures& f) { return known(f.dense.uj); }},
                               {"sparse_uj", [](const ComparedFigures& f) { return known(f.sparse.uj); }},
                               {"dense_w", [](const ComparedFigures& f) { return known(f.dense.watts); }},
                               {"sparse_w", [](const ComparedFigures& f) { return known(f.sparse.watts); }},
                               {"per_watt", [](const ComparedFigures& f) { return f.per_watt(); }},
                               {"per_watt_low", [](const ComparedFigures& f) { return known(f.per_watt_low); }},
                               {"per_watt_high", [](const ComparedFigures& f) { return known(f.per_watt_high); }}};

/// Texts of a point that stand where they are not empty.
constexpr std::pair<const char*, std::string ComparedPoint::*> kTexts[] = {
    {"file", &ComparedPoint::file},
    {"failure", &ComparedPoint::failure},
    {"no_sparse", &ComparedPoint::no_sparse},
    {"no_energy", &ComparedPoint::no_energy},
    {"does_not_fit", &ComparedPoint::does_not_fit},
    {"evidence", &ComparedPoint::evidence}};

Json bound_json(std::int64_t bound) {
  return bound < 0 ? Json() : Json(bound_name(bound, &run::ResourceName::report));
}

void set_figures(const ComparedFigures& figures, Json& json) {
  for (const Figure& figure : kFigures) {
    const std::optional<double> value = figure.value(figures);
    json[figure.name] = value ? Json(*value) : Json();
  }
}

Json comparison_document(const BoardComparison& comparison) {
  Json json{{"schema", "sptcsim-comparison/0.1"},
            {"version", report::program_version()},
            {"workload", comparison.workload},
            {"scope", comparison.scope},
            {"made_by", comparison.made_by},
            {"verdict", comparison_verdict(comparison)},
            {"points", Json::array()}};
  for (const ComparedPoint& point : comparison.points) {
    Json entry{{"board", point.board}, {"dims", point.dims}};
    for (const auto& [name, text] : kTexts) {
      if (!(point.*text).empty()) {
        entry[name] = point.*text;
      }
    }
    if (!point.measured_conditions.empty()) {
      entry["measured_conditions"] = point.measured_conditions;
    }
    set_figures(point.total, entry["total"]);
    entry["operations"] = Json::array();
    for (std::size_t i = 0; i < point.operations.size(); ++i) {
      const ComparedFigures& figures = point.operations[i];
      Json op{{"name", comparison.operations[i]}};
      set_figures(figures, op);
      op["dense_bound_by"] = bound_json(figures.dense.bound);
      op["sparse_bound_by"] = bound_json(figures.sparse.bound);
      if (figures.measured_shapes > 0) {
        op["measured"] = {{"shapes", figures.measured_shapes},
                          {"gain", figures.measured_gain},
                          {"simulated_gain", figures.simulated_gain}};
      }
      entry["operations"].push_back(op);
    }
    if (comparison.is_of_types()) {
      add_candidates(point, entry);
    }
    json["points"].push_back(entry);
  }
  if (comparison.is_of_types()) {
    add_decisions(comparison, json);
  }
  return json;
}

std::string csv_row(const ComparedPoint& point, const std::string& operation, const ComparedFigures& figures) {
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  std::vector<std::string> cells{io::csv_field(point.dims), io::csv_field(point.board), io::csv_field(operation)};
  for (const Figure& figure : kFigures) {
    cells.push_back(cell(figure.value(figures)));
  }
  const std::string bounds = fmt::format("{},{}", bound_name(figures.dense.bound, &run::ResourceName::report),
                                         bound_name(figures.sparse.bound, &run::ResourceName::report));
  const std::vector<std::string> between{bounds, cell(known(static_cast<double>(figures.measured_shapes))),
                                         cell(known(figures.measured_gain)), cell(known(figures.simulated_gain))};
  cells.insert(cells.end() - 2, between.begin(), between.end());  // before the range per watt
  return fmt::format("{}\r\n", fmt::join(cells, ","));
}

}  // namespace

std::string comparison_json(const BoardComparison& comparison) {
  return io::json_text(comparison_document(comparison), 1) + "\n";
}

std::string comparison_csv(const BoardComparison& comparison) {
  if (comparison.is_of_types()) {
    return decision_csv(comparison);
  }
  std::string out =
      "dims,board,operation,dense_us,sparse_us,gain,dense_uj,sparse_uj,dense_w,sparse_w,per_watt,dense_bound_by,"
      "sparse_bound_by,measured_shapes,measured_gain,simulated_gain_of_measured,per_watt_low,per_watt_high\r\n";
  for (const ComparedPoint& point : comparison.points) {
    out += csv_row(point, "", point.total);
    for (std::size_t i = 0; i < point.operations.size(); ++i) {
      out += csv_row(point, comparison.operations[i], point.operations[i]);
    }
  }
  return out;
}

std::string comparison_page(const BoardComparison& comparison, const std::string& command) {
  Json json = comparison_document(comparison);
  json["command"] = command;
  return report::html_page(comparison.is_of_types() ? decision_html() : compare_html(), io::json_text(json));
}

}  // namespace sptc::compare
