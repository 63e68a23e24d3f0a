// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/report/figures.h"
#include "sim/report/inference_report.h"
#include "sim/report/network_sums.h"
#include "sim/report/report.h"
#include "sim/report/verdict.h"
#include "sim/report/version.h"
#include "sim/run/memory_use.h"
#include "sim/workload/vector_operation.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sptc::report {
namespace {

using Json = nlohmann::ordered_json;

/// Groups whose figures JSON lists: each element has the key of its figure under a name of its own.
struct ListedGroup {
  std::string_view group, array, key, value;
};
constexpr std::array kListedGroups{ListedGroup{"explanation.stalls", "stalls", "reason", "percent"},
                                   ListedGroup{"explanation.what_if", "what_if", "resource", "speedup"}};

Json& object_at(Json& json, std::string_view group) {
  if (group.empty()) {
    return json;
  }
  const std::size_t dot = group.find('.');
  Json& inner = json[std::string(group.substr(0, dot))];
  return dot == std::string_view::npos ? inner : object_at(inner, group.substr(dot + 1));
}

template <typename Result>
void set_figures(const Figures<Result>& figures, const Result& result, Json& json) {
  visit_figures(figures, result, [&](const Figure<Result>& figure, const FigureValue& value) {
    const Json written = std::visit([](const auto& content) { return Json(content); }, value);
    const auto listed = std::find_if(kListedGroups.begin(), kListedGroups.end(),
                                     [&](const ListedGroup& row) { return row.group == figure.group; });
    if (listed == kListedGroups.end()) {
      object_at(json, figure.group)[figure.key] = written;
      return;
    }
    Json element{{std::string(listed->key), figure.key}};
    if (listed->array == "what_if" && figure.key != "grid") {
      element["times"] = 2;
    }
    element[std::string(listed->value)] = written;
    Json& explanation = object_at(json, "explanation");
    explanation[std::string(listed->array)].push_back(std::move(element));
  });
}

/// An object of `figures` and of rails; null where there is no result.
template <typename Result>
Json figures_json(const Figures<Result>& figures, const std::optional<Result>& result) {
  if (!result) {
    return nullptr;
  }
  Json json = Json::object();
  set_figures(figures, *result, json);
  if (result->energy) {
    set_figures(rail_figures(*result->energy), *result->energy, json);
  }
  return json;
}

Json operation_json(const run::OperationResult& op, bool explained) {
  Json json = Json::object();
  set_figures(asked_figures(), op, json);  // these stand first
  const Figures<run::VariantResult>& figures = variant_figures(explained);
  json["dense"] = figures_json(figures, op.dense);
  json["sparse"] = figures_json(figures, op.sparse);
  if (op.dense_among_sparse) {
    json["dense_among_sparse"] = figures_json(figures, op.dense_among_sparse);
  }
  set_figures(operation_figures(explained), op, json);
  return json;
}

Json power_json(const std::vector<run::OperationResult>& operations, bool sparse) {
  Json trace = Json::array();
  for (const PowerInterval& interval : power_over_time(operations, sparse)) {
    trace.push_back({{"operation", interval.operation},
                     {"from_us", interval.from_us},
                     {"to_us", interval.to_us},
                     {"power_w", interval.power_w},
                     {"peak_power_w", interval.peak_power_w},
                     {"clock_mhz", interval.clock_mhz}});
  }
  return trace;
}

Json totals_json(const run::Totals& totals) {
  Json json{{"scope", "GEMMs only"},
            {"dense", figures_json(total_figures(), totals.dense)},
            {"sparse", figures_json(total_figures(), totals.sparse)}};
  set_figures(total_comparison_figures(), totals, json);
  return json;
}

Json chain_json(const std::optional<run::ChainAccuracy>& chain) {
  if (!chain) {
    return nullptr;
  }
  return {{"simulated", chain->simulated}, {"float64", chain->float64}, {"disagreements", chain->disagreements}};
}

Json path_json(const run::LibraryPath& path) {
  Json json{{"algorithm", kernels::name(path.algorithm)},
            {"layout", path.layout.name()},
            {"default_known", path.default_known}};
  if (path.other_gain) {
    json["other_speedup"] = *path.other_gain;
  }
  return json;
}

Json kernel_json(const std::optional<run::KernelFigures>& figures) {
  if (!figures) {
    return nullptr;
  }
  Json json{{"time_us", figures->time_us}};
  if (figures->energy_uj) {
    json["energy_uj"] = *figures->energy_uj;
  }
  return json;
}

/// The error is null for fewer pairs than a mean needs.
Json measured_gain_json(const run::MeasuredGain& gain) {
  return {{"pairs", gain.pairs.size()},
          {"layers", gain.layers},
          {"layers_like", gain.layers_like},
          {"mean_error_percent", gain.is_known() ? Json(gain.mean_error_percent()) : Json()}};
}

/// How near to the board anything was measured; the error is null where it is not known.
Json evidence_json(const run::EvidenceDistance& evidence) {
  return {{"measured", evidence_words(evidence.where)},
          {"type", numerics::name(evidence.type)},
          {"chip", evidence.chip.empty() ? Json() : Json(evidence.chip)},
          {"generation", evidence.generation},
          {"own_design", evidence.own_design},
          {"boards", evidence.boards},
          {"mean_error_percent", evidence.mean_error_percent ? Json(*evidence.mean_error_percent) : Json()}};
}

Json memory_json(const run::MemoryUse& use) {
  return {{"weights_bytes", use.weights},
          {"metadata_bytes", use.metadata},
          {"cache_bytes", use.cache},
          {"activations_bytes", use.activations},
          {"communication_bytes", use.communication},
          {"total_bytes", use.total()},
          {"capacity_bytes", use.capacity},
          {"fits", use.fits()}};
}

}  // namespace

void add_inference(const run::RunResult& result, Json& json) {
  const run::InferenceResult& inference = *result.inference;
  json["engine"] = inference.engine;
  if (!inference.engine_version.empty()) {
    json["engine_version"] = inference.engine_version;
  }
  if (!result.no_sparse.empty()) {
    json["no_sparse"] = result.no_sparse;
  }
  Json& kernels = json["kernels"] = Json::array();
  for (const run::InferenceKernel& kernel : inference.kernels) {
    Json row{{"name", kernel.name},
             {"group", std::string(workload::name(kernel.group))},
             {"count", kernel.count},
             {"fused", kernel.fused},
             {"dense", kernel_json(kernel.dense)},
             {"sparse", kernel_json(kernel.sparse)}};
    if (kernel.group == workload::WorkGroup::kGemm) {
      row["takes"] = kernel.takes_sparse ? "sparse" : "dense";
      row["reason"] = kernel.reason;
    }
    kernels.push_back(std::move(row));
  }
  for (const run::NotModelled& part : inference.not_modelled) {
    json["not_modelled"].push_back({{"what", part.what}, {"share", part.share ? Json(*part.share) : Json()}});
  }
  for (const auto& [name, totals] : {std::pair("dense", &inference.dense), std::pair("sparse", &inference.sparse),
                                     std::pair("mix", &inference.mix)}) {
    if (*totals) {
      Json& variant = json["totals"][std::string(name)];
      variant["latency_us"] = (*totals)->latency_us;
      set_figures(pass_figures(), Pass{&**totals, inference.batch, inference.pass}, variant["inference"]);
    }
  }
}

std::string json_report(const run::RunResult& result) {
  Json json{{"schema", "sptcsim-result/0.1"},
            {"version", std::string(program_version())},
            {"workload", result.workload},
            {"arch", result.arch},
            {"made_by", result.made_by}};
  Json& options = json["options"] = Json::object();
  for (const auto& [key, value] : result.options) {
    options[key] = value;
  }
  json["seed"] = result.seed;
  Json& operations = json["operations"] = Json::array();
  for (const run::OperationResult& op : result.operations) {
    operations.push_back(operation_json(op, result.explained));
  }
  json["totals"] = totals_json(result.totals);
  if (result.inference) {
    add_inference(result, json);
  }
  if (const MeasuredTotals totals = measured_totals(result.operations); totals.launches > 0) {
    json["totals"]["measured"] =
        Json{{"launches", totals.launches}, {"time_us", totals.measured_us}, {"simulated_us", totals.simulated_us}};
  }
  if (const Json dense = power_json(result.operations, false), sparse = power_json(result.operations, true);
      !dense.empty() || !sparse.empty()) {
    json["power_over_time"] = Json{{"dense", dense}, {"sparse", sparse}};
  }
  if (result.path) {
    json["path"] = path_json(*result.path);
  }
  if (result.measured_gain) {
    json["measured_gain"] = measured_gain_json(*result.measured_gain);
  }
  if (result.evidence) {
    json["evidence"] = evidence_json(*result.evidence);
  }
  if (result.accuracy) {
    json["accuracy"] = Json{{"samples", result.accuracy->samples},
                            {"dense", chain_json(result.accuracy->dense)},
                            {"sparse", chain_json(result.accuracy->sparse)}};
  }
  if (result.assumed_share) {
    json["assumed_share"] = *result.assumed_share;
  }
  if (!result.does_not_fit.empty()) {
    json["does_not_fit"] = result.does_not_fit;
  }
  for (const auto& [name, use] :
       {std::pair("dense", &result.dense_memory), std::pair("sparse", &result.sparse_memory)}) {
    if (*use && result.reports_memory) {
      json["memory"][name] = memory_json(**use);
    }
  }
  json["notes"] = result.notes;
  json["assumed"] = result.assumed;
  // Names come from users' files: bytes that are no UTF-8 are replaced rather than refused.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sptc::report
