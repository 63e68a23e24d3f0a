// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/report/energy_explanation.h"
#include "sim/report/explanation.h"
#include "sim/report/inference_report.h"
#include "sim/report/measured.h"
#include "sim/report/power_trace.h"
#include "sim/report/report.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sptc::report {
namespace {

using Json = nlohmann::ordered_json;

std::string extents(const base::GemmShape& shape) {
  return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
}

std::string hex(std::uint32_t word) {
  return fmt::format("0x{:08x}", word);
}

constexpr std::string_view kNoGroup;

template <typename Visit>
void visit_check(const run::CheckResult& check, const Visit& visit) {
  visit("check", "mode", std::string_view(check.mode));
  visit("check", "elements", check.elements);
  visit("check", "worst_error", check.worst_error);
  visit("check", "bound", check.bound);
  visit("check", "worst_ratio", check.worst_ratio);
  visit("check", "mismatches", check.mismatches);
  visit("check", "undecided", check.undecided);
}

Json violation_json(const run::Violation& found) {
  return {{"batch", found.batch},
          {"row", found.row},
          {"col", found.col},
          {"got", hex(found.got)},
          {"expected", hex(found.expected)}};
}

template <typename Visit>
void visit_activity(const sm::Activity& activity, const Visit& visit) {
  visit("activity", "instructions", activity.instructions);
  visit("activity", "mma_instructions", activity.mma_instructions);
  visit("activity", "executed_macs", activity.executed_macs);
  visit("activity", "selected_operands", activity.selected_operands);
  visit("activity", "selected_by_metadata", activity.selected_by_metadata);
  visit("activity", "operand_a_bytes", activity.operand_a_bytes);
  visit("activity", "operand_b_bytes", activity.operand_b_bytes);
  visit("activity", "accumulator_bytes", activity.accumulator_bytes);
  visit("activity", "metadata_bytes", activity.metadata_bytes);
  visit("activity", "shared_memory_bytes", activity.shared_memory_bytes);
  visit("activity", "selector_busy_cycles", activity.selector_busy_cycles);
  visit("activity", "multiplier_busy_cycles", activity.multiplier_busy_cycles);
}

/// energy_uj, powers, and what follows from them: visit(group of keys, key, value).
template <typename Visit>
void visit_energy(const std::optional<run::EnergyResult>& energy, const Visit& visit) {
  if (!energy) {
    return;
  }
  for (const auto& [part, uj] : energy->parts_uj) {
    if (uj != 0) {
      visit("energy_uj", part, uj);
    }
  }
  visit("energy_uj", "total", energy->total_uj);
  visit(kNoGroup, "power_w", energy->power_w);
  visit(kNoGroup, "peak_power_w", energy->peak_power_w);
  visit(kNoGroup, "power_limited", energy->limited);
  visit(kNoGroup, "pj_per_flop", energy->pj_per_flop);
  visit(kNoGroup, "gflops_per_w", 1e3 / energy->pj_per_flop);
}

template <typename Visit>
void visit_total(const run::VariantTotals& total, const Visit& visit) {
  visit(kNoGroup, "time_us", total.time_us);
  visit(kNoGroup, "tflops", total.tflops);
  visit(kNoGroup, "mismatches", total.mismatches);
  visit_energy(total.energy, visit);
}

/// Sets what a visit tells in `json`.
auto setter_of(Json& json) {
  return [&json](std::string_view group, std::string_view key, auto value) {
    Json& object = group.empty() ? json : json[std::string(group)];
    object[std::string(key)] = value;
  };
}

/// What was counted, for whoever wants to multiply it with the table: events, and how much of them
/// switches (1: as with N(0,1) operands).
Json events_json(const run::EnergyResult& energy) {
  Json events = Json::object();
  for (const energy::EventInfo& row : energy::kEvents) {
    if (const double count = energy.counts->count(row.event); count > 0) {
      events[std::string(row.name)] =
          Json{{"count", count}, {"switching", energy.counts->switched(row.event) / count}};
    }
  }
  return events;
}

template <typename Visit>
void visit_kernel(const kernels::KernelResult& kernel, const Visit& visit) {
  const std::string tile = extents(kernel.cta_tile);
  const std::string warp_tile = extents(kernel.warp_tile);
  const std::string instruction = kernel.instruction.ptx_name();
  visit("kernel", "tile", std::string_view(tile));
  visit("kernel", "warp_tile", std::string_view(warp_tile));
  visit("kernel", "instruction", std::string_view(instruction));
  visit("kernel", "stages", std::int64_t{kernel.stages});
  visit("kernel", "split_k", std::int64_t{kernel.split_k});
  visit("kernel", "decomposition",
        std::string_view(kernel.stream_k ? "stream-k" : "data-parallel"));
  visit("kernel", "persistent", kernel.persistent);
  visit("kernel", "cluster_ctas", std::int64_t{kernel.cluster_ctas});
  visit("kernel", "output_tiles", kernel.output_tiles);
  visit("kernel", "ctas", kernel.ctas);
  visit("kernel", "ctas_per_sm", kernel.ctas_per_sm);
  visit("kernel", "occupancy_limit", kernel.occupancy_limit);
  visit("kernel", "shared_memory_carve_out_bytes", kernel.carve_out.count());
  visit("kernel", "waves", kernel.waves);
}

/// All but the check, which stands behind what explains the rest.
template <typename Visit>
void visit_figures(const run::VariantResult& variant, const Visit& visit) {
  visit_kernel(variant.kernel, visit);
  visit(kNoGroup, "cycles", variant.timing.cycles);
  visit(kNoGroup, "time_us", variant.timing.time_us);
  visit(kNoGroup, "launch_us", variant.timing.launch_us);
  visit(kNoGroup, "clock_mhz", variant.timing.clock_mhz);
  visit(kNoGroup, "tflops", variant.timing.tflops);
  visit(kNoGroup, "utilization", variant.timing.utilization);
  visit(kNoGroup, "padding", variant.timing.padding);
  if (variant.explanation.what_if) {
    visit(kNoGroup, "bound_by", run::name_of(variant.explanation.what_if->bound_by()).report);
  }
  const kernels::MemoryTraffic& traffic = variant.traffic.memory;
  visit("bytes", "hbm", traffic.l2_and_dram.dram());
  visit("bytes", "hbm_read", traffic.l2_and_dram.dram_read);
  visit("bytes", "hbm_written", traffic.l2_and_dram.dram_written);
  visit("bytes", "l2", traffic.l2_and_dram.l2());
  visit("bytes", "l2_hit_ratio", traffic.l2_and_dram.l2_hit_ratio());
  visit("bytes", "smem", traffic.shared_memory());
  visit("busy_cycles", "tensor", variant.timing.budget.tensor);
  visit("busy_cycles", "operand_fetch", variant.timing.budget.operand_fetch);
  visit("busy_cycles", "smem", variant.timing.budget.shared_memory);
  visit("busy_cycles", "sm_port", variant.timing.budget.sm_port);
  visit("busy_cycles", "l2", variant.timing.budget.l2);
  visit("busy_cycles", "hbm", variant.timing.budget.dram);
  visit("busy_cycles", "reduction", variant.timing.budget.reduction);
  visit("sampling", "sms_simulated", variant.timing.sampling.sms_simulated);
  visit("sampling", "extrapolated", variant.timing.sampling.extrapolated);
  visit("sampling", "cycles_simulated", variant.timing.sampling.cycles_simulated);
  if (variant.traffic.activity) {
    visit_activity(*variant.traffic.activity, visit);
  }
  visit_energy(variant.energy, visit);
}

Json explanation_json(const run::VariantResult& variant) {
  Json json = Json::object();
  for (std::size_t i = 0; variant.explanation.stalls && i < sm::kStallReasons; ++i) {
    json["stalls"].push_back({{"reason", sm::kStallNames[i].json},
                              {"percent", 100 * variant.explanation.stalls->of[i]}});
  }
  for (std::size_t i = 0; variant.explanation.what_if && i < run::kResources; ++i) {
    json["what_if"].push_back({{"resource", run::kResourceNames[i].report},
                               {"times", 2},
                               {"speedup", variant.explanation.what_if->speedup[i]}});
  }
  if (variant.explanation.what_if) {
    json["bound_by"] = run::name_of(variant.explanation.what_if->bound_by()).report;
  }
  return json;
}

Json variant_json(const std::optional<run::VariantResult>& variant, bool explained) {
  if (!variant) {
    return nullptr;
  }
  Json json = Json::object();
  visit_figures(*variant, setter_of(json));
  if (explained) {
    json["explanation"] = explanation_json(*variant);
  }
  if (explained && variant->energy && variant->energy->counts) {
    json["core_v"] = variant->energy->core_volts;
    json["energy_events"] = events_json(*variant->energy);
  }
  if (variant->check) {
    visit_check(*variant->check, setter_of(json));
    if (variant->check->first_violation) {
      json["check"]["first_violation"] = violation_json(*variant->check->first_violation);
    }
  }
  return json;
}

Json operation_json(const run::OperationResult& op, bool explained) {
  Json json{{"name", op.name},
            {"m", op.shape.m},
            {"n", op.shape.n},
            {"k", op.shape.k},
            {"batch", op.batch},
            {"count", op.count},
            {"dtype", std::string(numerics::name(op.dtype))},
            {"prunable", op.prunable},
            {"dense", variant_json(op.dense, explained)},
            {"sparse", variant_json(op.sparse, explained)}};
  if (op.dense_among_sparse) {
    json["dense_among_sparse"] = variant_json(op.dense_among_sparse, explained);
  }
  if (op.measured_us > 0) {
    json["measured_us"] = op.measured_us;
  }
  if (const auto speedup = op.speedup()) {
    json["speedup"] = *speedup;
  }
  if (const auto ratio = op.performance_per_watt_ratio()) {
    json["performance_per_watt_ratio"] = *ratio;
  }
  if (explained) {
    json["explanation"] = explanation_sentence(op);
    if (op.dense && op.dense->energy && op.sparse && op.sparse->energy) {
      json["energy_explanation"] =
          energy_sentence(op.pattern, *op.dense->energy, *op.sparse->energy);
    }
  }
  return json;
}

Json total_json(const std::optional<run::VariantTotals>& total) {
  if (!total) {
    return nullptr;
  }
  Json json = Json::object();
  visit_total(*total, setter_of(json));
  if (total->rest_us > 0) {
    json["rest"] = Json{{"time_us", total->rest_us}};
    if (total->energy) {
      json["rest"]["energy_uj"] = total->rest_uj;
    }
  }
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
            {"dense", total_json(totals.dense)},
            {"sparse", total_json(totals.sparse)}};
  if (totals.speedup) {
    json["speedup"] = *totals.speedup;
  }
  if (totals.performance_per_watt_ratio) {
    json["performance_per_watt_ratio"] = *totals.performance_per_watt_ratio;
  }
  return json;
}

Json chain_json(const std::optional<double>& simulated, const std::optional<double>& float64,
                std::int64_t disagreements) {
  if (!simulated || !float64) {
    return nullptr;
  }
  return {{"simulated", *simulated}, {"float64", *float64}, {"disagreements", disagreements}};
}

/// The error is null for fewer pairs than a mean needs.
Json measured_gain_json(const run::MeasuredGain& gain) {
  return {{"pairs", gain.pairs.size()},
          {"layers", gain.layers},
          {"layers_like", gain.layers_like},
          {"mean_error_percent", gain.is_known() ? Json(gain.mean_error_percent()) : Json()}};
}

}  // namespace

void visit_totals(const run::Totals& totals, const TotalsVisitor& visit) {
  for (const bool sparse : {false, true}) {
    const auto& total = sparse ? totals.sparse : totals.dense;
    if (total) {
      visit_total(*total, [&](std::string_view group, std::string_view key, auto value) {
        if constexpr (!std::is_same_v<decltype(value), bool>) {
          visit(sparse ? "sparse" : "dense", group, key, value);
        }
      });
    }
  }
  if (totals.speedup) {
    visit({}, {}, "speedup", *totals.speedup);
  }
  if (totals.performance_per_watt_ratio) {
    visit({}, {}, "performance_per_watt_ratio", *totals.performance_per_watt_ratio);
  }
}

void visit_variant(const run::VariantResult& variant, const FigureVisitor& visit) {
  visit_figures(variant, visit);
  if (variant.check) {
    visit_check(*variant.check, visit);
  }
}

std::string json_report(const run::RunResult& result) {
  Json json{{"schema", "sptcsim-result/0.1"},
            {"version", std::string(program_version())},
            {"workload", result.workload},
            {"arch", result.arch}};
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
    json["totals"]["measured"] = Json{{"launches", totals.launches},
                                      {"time_us", totals.measured_us},
                                      {"simulated_us", totals.simulated_us}};
  }
  if (const Json dense = power_json(result.operations, false),
      sparse = power_json(result.operations, true);
      !dense.empty() || !sparse.empty()) {
    json["power_over_time"] = Json{{"dense", dense}, {"sparse", sparse}};
  }
  if (result.measured_gain) {
    json["measured_gain"] = measured_gain_json(*result.measured_gain);
  }
  if (result.accuracy) {
    const run::AccuracyResult& accuracy = *result.accuracy;
    json["accuracy"] =
        Json{{"samples", accuracy.samples},
             {"dense", chain_json(accuracy.dense_simulated, accuracy.dense_float64,
                                  accuracy.dense_disagreements)},
             {"sparse", chain_json(accuracy.sparse_simulated, accuracy.sparse_float64,
                                   accuracy.sparse_disagreements)}};
  }
  if (result.assumed_share) {
    json["assumed_share"] = *result.assumed_share;
  }
  json["notes"] = result.notes;
  json["assumed"] = result.assumed;
  // Names come from users' files: bytes that are no UTF-8 are replaced rather than refused.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sptc::report
