// SPDX-License-Identifier: Apache-2.0
#include "sim/run/estimate.h"

#include "sim/api/handles.h"
#include "sim/report/report.h"
#include "sim/run/option_table.h"
#include "sim/run/run.h"
#include "sim/workload/workload_text.h"

#include <mutex>
#include <utility>

namespace sptcsim {
namespace {

using nlohmann::json;

sptc::workload::Operation operation_of(const Gemm& gemm) {
  for (const std::int64_t extent : {gemm.m, gemm.n, gemm.k, gemm.batch, gemm.count}) {
    if (extent < 1 || extent > sptc::workload::kMaxExtent) {
      throw InputError("GEMM '" + gemm.name + "': m, n, k, batch and count must be 1 to " +
                       std::to_string(sptc::workload::kMaxExtent) + ", not " + std::to_string(extent));
    }
  }
  sptc::workload::Operation op;
  op.name = gemm.name;
  op.shape = {gemm.m, gemm.n, gemm.k};
  op.batch = gemm.batch;
  op.count = gemm.count;
  op.dtype = gemm.dtype;
  op.prunable = gemm.prunable;
  return op;
}

std::optional<double> number_at(const json& object, const json::json_pointer& at) {
  return object.contains(at) ? std::optional(object.at(at).get<double>()) : std::nullopt;
}

std::optional<Launch> launch_of(const json& variant) {
  if (variant.is_null()) {
    return std::nullopt;
  }
  Launch launch;
  launch.tile = variant.at("kernel").at("tile").get<std::string>();
  launch.cycles = variant.at("cycles").get<std::int64_t>();
  launch.time_us = variant.at("time_us").get<double>();
  launch.clock_mhz = variant.at("clock_mhz").get<double>();
  launch.tflops = variant.at("tflops").get<double>();
  launch.utilization = variant.at("utilization").get<double>();
  launch.bound_by = variant.at("bound_by").get<std::string>();
  launch.dram_bytes = variant.at("bytes").at("hbm").get<std::int64_t>();
  launch.l2_bytes = variant.at("bytes").at("l2").get<std::int64_t>();
  launch.energy_uj = number_at(variant, "/energy_uj/total"_json_pointer);
  launch.power_w = number_at(variant, "/power_w"_json_pointer);
  launch.mismatches = static_cast<std::int64_t>(number_at(variant, "/check/mismatches"_json_pointer).value_or(0));
  return launch;
}

}  // namespace

Workload::Workload(const std::vector<Gemm>& gemms, const std::string& name) {
  State state;
  state.value.name = name;
  for (const Gemm& gemm : gemms) {
    state.value.operations.push_back(operation_of(gemm));
  }
  if (gemms.empty()) {
    throw InputError("workload '" + name + "' has no GEMM");
  }
  state.text = sptc::workload::gemms_as_text(name, state.value.operations);
  state_ = std::make_shared<const State>(std::move(state));
}

Workload Workload::read(const std::string& path) {
  sptc::workload::WorkloadText text = sptc::workload::read_workload_text(path);
  sptc::workload::Workload value = sptc::workload::to_workload(text);
  return Workload(std::make_shared<const State>(State{std::move(value), std::move(text)}));
}

std::optional<double> GemmResult::speedup() const {
  return dense && sparse ? std::optional(dense->time_us / sparse->time_us) : std::nullopt;
}

sptc::run::SimulationOptions simulation_options(const Options& options) {
  sptc::run::SimulationOptions result;
  for (const auto& [name, value] : options) {
    sptc::run::set_option(result, name, value);
  }
  return result;
}

std::string report_of(sptc::run::RunResult result, const Architecture& architecture) {
  result.assumed = sptc::run::assumptions(architecture.state().value);
  return sptc::report::json_report(result);
}

Result result_of(std::string report) {
  const json document = json::parse(report);
  Result result;
  for (const json& row : document.at("operations")) {
    GemmResult gemm;
    gemm.gemm.name = row.at("name").get<std::string>();
    gemm.gemm.m = row.at("m").get<std::int64_t>();
    gemm.gemm.n = row.at("n").get<std::int64_t>();
    gemm.gemm.k = row.at("k").get<std::int64_t>();
    gemm.gemm.batch = row.at("batch").get<std::int64_t>();
    gemm.gemm.count = row.at("count").get<std::int64_t>();
    gemm.gemm.dtype = parse_data_type(row.at("dtype").get<std::string>()).value();
    gemm.gemm.prunable = row.at("prunable").get<bool>();
    gemm.dense = launch_of(row.at("dense"));
    gemm.sparse = launch_of(row.at("sparse"));
    result.gemms.push_back(std::move(gemm));
  }
  if (document.contains("notes")) {
    result.notes = document.at("notes").get<std::vector<std::string>>();
  }
  result.json = std::move(report);
  return result;
}

Result estimate(const Workload& workload, const Architecture& architecture, const Options& options) {
  if (options.contains("fidelity")) {
    throw InputError("estimate() knows one fidelity: leave the option 'fidelity' out");
  }
  static std::mutex turn;
  const std::lock_guard mine(turn);
  return result_of(
      report_of(sptc::run::estimate(workload.state().value, architecture.state().value, simulation_options(options)),
                architecture));
}

}  // namespace sptcsim
