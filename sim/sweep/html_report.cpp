// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/html_report.h"

#include "models/base/error.h"
#include "sim/sweep/report_page.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace sptc::sim {
namespace {

using nlohmann::json;

constexpr std::string_view kPlace = "[[DATA]]";

const char* role_name(SweepColumn::Role role) {
  switch (role) {
    case SweepColumn::Role::kPosition:
      return "position";
    case SweepColumn::Role::kStatus:
      return "status";
    case SweepColumn::Role::kReason:
      return "reason";
    case SweepColumn::Role::kAxis:
      return "axis";
    case SweepColumn::Role::kTotal:
      break;
  }
  return "total";
}

json column_json(const SweepColumn& column) {
  json result{
      {"name", column.name}, {"role", role_name(column.role)}, {"more", column.more_is_better()}};
  if (column.numeric) {
    json& values = result["numbers"] = json::array();
    for (const double number : column.numbers) {
      values.push_back(std::isfinite(number) ? json(number) : json(nullptr));
    }
  } else {
    result["codes"] = column.codes;
    result["words"] = column.words;
  }
  return result;
}

json sensitivity_json(const Sensitivity& one) {
  return {{"axis", one.axis->name},       {"figure", one.figure->name},   {"groups", one.groups},
          {"typical", one.typical_ratio}, {"largest", one.largest_ratio}, {"best", one.best_value}};
}

}  // namespace

std::string html_report(const SweepTable& table) {
  json data{{"name", table.meta.at("name")},
            {"version", table.meta.at("version")},
            {"digest", table.meta.at("digest").substr(0, 12)},
            {"rows", table.rows},
            {"failures", table.failures},
            {"assumed", table.meta.contains("assumed") ? table.meta.at("assumed") : ""},
            {"objectives", json::array()},
            {"columns", json::array()},
            {"sensitivities", json::array()}};
  const json spec = json::parse(table.meta.at("spec"));
  data["description"] = spec.value("description", "");
  for (const SweepColumn* objective : default_objectives(table)) {
    data["objectives"].push_back(objective->name);
  }
  for (const SweepColumn& column : table.columns) {
    data["columns"].push_back(column_json(column));
  }
  for (const Sensitivity& one : sensitivities(table)) {
    data["sensitivities"].push_back(sensitivity_json(one));
  }
  std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace);
  // Inside a script element only "</" and "<!--" could end the data early.
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 6)) {
    text.replace(at, 1, "\\u003c");
  }
  std::string page(report_page());
  const std::size_t at = page.find(kPlace);
  ensure(at != std::string::npos, "the report page has no place for its data");
  page.replace(at, kPlace.size(), text);
  return page;
}

}  // namespace sptc::sim
