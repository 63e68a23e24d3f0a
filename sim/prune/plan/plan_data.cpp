// SPDX-License-Identifier: Apache-2.0
#include "sim/io/csv.h"
#include "sim/io/json_reader.h"
#include "sim/prune/plan/plan_model.h"
#include "sim/report/html_page.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace sptc::prune::plan {
/// sim/prune/plan/plan.html.
std::string_view plan_html();

namespace {

using Json = nlohmann::ordered_json;

Json known(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const std::optional<PassFigures>& figures) {
  return figures ? Json{{"time_us", figures->time_us}, {"energy_uj", known(figures->energy_uj)}} : Json();
}

Json json_of(const PlannedLayer& layer) {
  Json weights = Json::array();
  for (const prune::LayerReport& weight : layer.weights) {
    weights.push_back({{"tensor", weight.name},
                       {"rows", weight.rows},
                       {"taps", weight.taps},
                       {"k", weight.k},
                       {"had_pattern", weight.was_sparse},
                       {"error", weight.error()},
                       {"calibrated", weight.output_error.has_value()}});
  }
  return {{"name", layer.name},
          {"m", layer.m},
          {"n", layer.n},
          {"k", layer.k},
          {"launches", layer.launches},
          {"weights", weights},
          {"refused", layer.refused.empty() ? Json() : Json(layer.refused)},
          {"error", layer.weights.empty() ? Json() : Json(layer.error)},
          {"metric", known(layer.metric)},
          {"loss", layer.loss},
          {"dense", json_of(layer.dense)},
          {"sparse", json_of(layer.sparse)},
          {"saved_us", layer.saved_us()},
          {"saved_uj", known(layer.saved_uj())}};
}

Json json_of(const PlanResult& result, const PlanPoint& point) {
  return {{"loss", point.loss},
          {"time_us", point.pass.time_us},
          {"gain", result.gain(point)},
          {"energy_uj", known(point.pass.energy_uj)},
          {"layers", point.layers}};
}

Json document(const PlanResult& result) {
  Json json{{"schema", "sptcsim-plan/0.1"},
            {"version", report::program_version()},
            {"model", result.model},
            {"workload", result.workload},
            {"arch", result.arch},
            {"engine", result.engine},
            {"fidelity", result.fidelity},
            {"made_by", result.made_by},
            {"dtype", result.dtype},
            {"pattern", result.pattern},
            {"criterion", result.criterion},
            {"evidence", result.evidence},
            {"measure", result.measure == LossMeasure::kMetric ? "metric" : "error"},
            {"dense", json_of(std::optional(result.dense))},
            {"dense_metric", known(result.dense_metric)},
            {"layers", Json::array()},
            {"front", Json::array()},
            {"front_sets", result.front_sets},
            {"resolution", result.resolution}};
  for (const PlannedLayer& layer : result.layers) {
    json["layers"].push_back(json_of(layer));
  }
  for (const PlanPoint& point : result.front) {
    json["front"].push_back(json_of(result, point));
  }
  json["plan"] = nullptr;
  if (result.plan) {
    json["plan"] = json_of(result, *result.plan);
    json["plan"]["simulated"] = json_of(result.simulated);
    json["plan"]["metric"] = known(result.plan_metric);
  }
  json["notes"] = result.notes;
  return json;
}

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::optional<double> time_of(const std::optional<PassFigures>& figures) {
  return figures ? std::optional(figures->time_us) : std::nullopt;
}

}  // namespace

std::string plan_json(const PlanResult& result) {
  return io::json_text(document(result), 1) + "\n";
}

std::string plan_csv(const PlanResult& result) {
  std::string out = "layer,m,n,k,launches,error,metric,loss,dense_us,sparse_us,saved_us,saved_uj,in_plan,refused\r\n";
  for (std::size_t i = 0; i < result.layers.size(); ++i) {
    const PlannedLayer& layer = result.layers[i];
    const bool taken = result.plan && std::ranges::count(result.plan->layers, i) > 0;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", io::csv_field(layer.name), layer.m, layer.n,
                       layer.k, layer.launches, layer.error, cell(layer.metric), layer.loss, cell(time_of(layer.dense)),
                       cell(time_of(layer.sparse)), layer.saved_us(), cell(layer.saved_uj()), taken ? 1 : 0,
                       io::csv_field(layer.refused));
  }
  return out;
}

std::string plan_page(const PlanResult& result, const std::string& command) {
  Json json = document(result);
  json["command"] = command;
  json["verdict"] = plan_verdict(result);
  return report::html_page(plan_html(), io::json_text(json));
}

}  // namespace sptc::prune::plan
