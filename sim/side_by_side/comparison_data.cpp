// SPDX-License-Identifier: Apache-2.0
#include "sim/io/csv.h"
#include "sim/report/html_page.h"
#include "sim/report/version.h"
#include "sim/run/what_if.h"
#include "sim/side_by_side/comparison.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>

namespace sptc::side_by_side {
/// sim/side_by_side/compare.html.
std::string_view compare_html();
}  // namespace sptc::side_by_side

namespace sptc::side_by_side {

namespace {

using Json = nlohmann::ordered_json;

Json known(double value) {
  return value > 0 ? Json(value) : Json();
}

Json known(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json bound_json(int bound) {
  return bound < 0 ? Json() : Json(run::kResourceNames[static_cast<std::size_t>(bound)].report);
}

Json figures_json(const ComparedFigures& figures) {
  return {{"dense_us", known(figures.dense_us)},
          {"sparse_us", known(figures.sparse_us)},
          {"gain", known(figures.gain())},
          {"dense_uj", known(figures.dense_uj)},
          {"sparse_uj", known(figures.sparse_uj)},
          {"dense_w", known(figures.dense_w)},
          {"sparse_w", known(figures.sparse_w)},
          {"per_watt", known(figures.per_watt())},
          {"per_watt_low", known(figures.per_watt_low)},
          {"per_watt_high", known(figures.per_watt_high)}};
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
    if (!point.file.empty()) {
      entry["file"] = point.file;
    }
    if (!point.failure.empty()) {
      entry["failure"] = point.failure;
    }
    if (!point.no_sparse.empty()) {
      entry["no_sparse"] = point.no_sparse;
    }
    if (!point.no_energy.empty()) {
      entry["no_energy"] = point.no_energy;
    }
    if (!point.does_not_fit.empty()) {
      entry["does_not_fit"] = point.does_not_fit;
    }
    if (!point.measured_conditions.empty()) {
      entry["measured_conditions"] = point.measured_conditions;
    }
    entry["total"] = figures_json(point.total);
    entry["operations"] = Json::array();
    for (std::size_t i = 0; i < point.operations.size(); ++i) {
      const ComparedFigures& figures = point.operations[i];
      Json op{{"name", comparison.operations[i]}};
      op.update(figures_json(figures));
      op["dense_bound_by"] = bound_json(figures.dense_bound);
      op["sparse_bound_by"] = bound_json(figures.sparse_bound);
      if (figures.measured_shapes > 0) {
        op["measured"] = {{"shapes", figures.measured_shapes},
                          {"gain", figures.measured_gain},
                          {"simulated_gain", figures.simulated_gain}};
      }
      entry["operations"].push_back(op);
    }
    json["points"].push_back(entry);
  }
  return json;
}

std::string cell(double value) {
  return value > 0 ? fmt::format("{}", value) : "";
}

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string bound_cell(int bound) {
  return bound < 0 ? "" : std::string(run::kResourceNames[static_cast<std::size_t>(bound)].report);
}

std::string csv_row(const ComparedPoint& point, const std::string& operation,
                    const ComparedFigures& figures) {
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", io::csv_field(point.dims),
      io::csv_field(point.board), io::csv_field(operation), cell(figures.dense_us),
      cell(figures.sparse_us), cell(figures.gain()), cell(figures.dense_uj),
      cell(figures.sparse_uj), cell(figures.dense_w), cell(figures.sparse_w),
      cell(figures.per_watt()), bound_cell(figures.dense_bound), bound_cell(figures.sparse_bound),
      cell(static_cast<double>(figures.measured_shapes)), cell(figures.measured_gain),
      cell(figures.simulated_gain), cell(figures.per_watt_low), cell(figures.per_watt_high));
}

}  // namespace

std::string comparison_json(const BoardComparison& comparison) {
  return comparison_document(comparison).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string comparison_csv(const BoardComparison& comparison) {
  std::string out =
      "dims,board,operation,dense_us,sparse_us,gain,dense_uj,sparse_uj,dense_w,sparse_w,per_watt,"
      "dense_bound_by,sparse_bound_by,measured_shapes,measured_gain,simulated_gain_of_measured,"
      "per_watt_low,per_watt_high\r\n";
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
  return report::html_page(compare_html(),
                           json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace sptc::side_by_side
