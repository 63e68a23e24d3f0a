// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/gpu_spec.h"
#include "sim/report/explanation.h"
#include "sim/report/figures.h"
#include "sim/report/html_page.h"
#include "sim/report/inference_report.h"
#include "sim/report/network_sums.h"
#include "sim/report/report.h"
#include "sim/report/verdict.h"
#include "sim/report/version.h"
#include "sim/run/design_cost.h"
#include "sim/run/peaks.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sptc::report {
/// sim/report/run.html.
std::string_view run_html();

namespace {

using Json = nlohmann::ordered_json;

/// Six digits: a page of thousands of operations stays small.
Json rounded(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

Json json_of(double value) {
  return std::isfinite(value) ? rounded(value) : Json();
}
template <typename Held>
Json json_of(const Held& value) {
  return value;
}

/// [name, unit, meaning] of each of `figures`.
template <typename Result>
Json names_of(const Figures<Result>& figures) {
  Json json = Json::array();
  for (const Figure<Result>& figure : figures) {
    json.push_back(Json::array({figure.path(), figure.unit, figure.meaning}));
  }
  return json;
}

template <typename Result>
Json values_of(const Figures<Result>& figures, const Result& result) {
  Json row = Json::array();
  for (const Figure<Result>& figure : figures) {
    const std::optional<FigureValue> value = figure.value(result);
    row.push_back(value ? std::visit([](const auto& held) { return json_of(held); }, *value) : Json());
  }
  return row;
}

/// Launches as arrays of their figures; equal ones are there once.
class VariantTable {
 public:
  explicit VariantTable(bool explained) : figures_(variant_figures(explained)) {}

  /// The place of `variant` among the rows, or null.
  Json index_of(const std::optional<run::VariantResult>& variant) {
    if (!variant) {
      return {};
    }
    Json row = values_of(figures_, *variant);
    const auto [place, is_new] = places_.emplace(row.dump(), rows_.size());
    if (is_new) {
      rows_.push_back(std::move(row));
    }
    return place->second;
  }

  const Json& rows() const { return rows_; }

 private:
  const Figures<run::VariantResult>& figures_;
  std::map<std::string, std::size_t> places_;
  Json rows_ = Json::array();
};

Json operation_json(const run::OperationResult& op, bool explained, VariantTable& variants) {
  Json row = values_of(operation_figures(explained), op);
  row.push_back(variants.index_of(op.dense));
  row.push_back(variants.index_of(op.sparse));
  return row;
}

/// What `bound_by` says, as a page names it.
Json resource_names() {
  Json json = Json::object();
  for (const run::ResourceName& name : run::kResourceNames) {
    json[std::string(name.report)] = name.column;
  }
  return json;
}

Json total_json(const std::optional<run::VariantTotals>& total) {
  if (!total) {
    return {};
  }
  Json json{{"time_us", total->time_us}};
  if (total->energy) {
    json["uj"] = total->energy->total_uj;
    json["power_w"] = total->energy->power_w;
    json["shares"] = Json::array();
    for (const EnergyShare& share : energy_shares(*total->energy)) {
      json["shares"].push_back(Json::array({share.name, share.uj}));
    }
  }
  return json;
}

Json waterfall_json(const run::RunResult& result) {
  const Waterfall waterfall = waterfall_of(result);
  Json json{{"dense_us", waterfall.dense_us}, {"ideal_us", waterfall.ideal_us}};
  json["losses"] = Json::array();
  for (const GainLoss& loss : waterfall.losses) {
    json["losses"].push_back(Json::array({loss.cause, loss.us}));
  }
  return json;
}

Json board_json(const run::RunResult& result, const gpu::GpuSpec& gpu) {
  const run::BoardFigures figures = run::board_figures(gpu);
  Json json{{"sms", figures.sms},        {"clock_mhz", figures.boost_clock_mhz},   {"dram", figures.dram_gb_per_s},
            {"l2", figures.l2_gb_per_s}, {"smem", figures.shared_memory_gb_per_s}, {"peaks", Json::object()}};
  for (const run::OperationResult& op : result.operations) {
    const double share = op.sparse ? op.sparse->timing.executed_share : 1;
    const auto& shown = op.sparse ? op.sparse : op.dense;
    const bool has_scales = shown && shown->kernel.instruction.scales;
    Json& peaks = json["peaks"][std::string(numerics::name(op.dtype))];
    const double dense = run::peak_tflops(gpu, {op.dtype, has_scales ? shown->kernel.instruction.scales->block : 0});
    if (peaks.is_null() || share < 1) {
      peaks = Json::array({dense, dense / share});
    }
  }
  return json;
}

/// [measured us, simulated bytes of DRAM, L2 and shared memory].
Json measured_json(const run::MeasuredTime& time) {
  return Json::array({time.measured_us, time.bytes[0], time.bytes[1], time.bytes[2]});
}

/// Measured shapes: m, n, k, type, dense, sparse. The first ones, where there are many.
Json neighbours_json(const run::RunResult& result) {
  constexpr std::size_t kMost = 300;
  Json json = Json::array();
  if (result.measured_gain) {
    for (const run::MeasuredPair& pair : result.measured_gain->pairs) {
      if (json.size() == kMost) {
        break;
      }
      json.push_back(Json::array({pair.shape.m, pair.shape.n, pair.shape.k, numerics::name(pair.dtype),
                                  measured_json(pair.dense), measured_json(pair.sparse)}));
    }
  }
  return json;
}

/// [operation, until us, W, MHz], one after the other from 0 us.
Json power_json(const run::RunResult& result, bool sparse) {
  Json json = Json::array();
  for (const PowerInterval& interval : power_over_time(result.operations, sparse)) {
    json.push_back(Json::array(
        {interval.operation, rounded(interval.to_us), rounded(interval.power_w), rounded(interval.clock_mhz)}));
  }
  return json;
}

}  // namespace

std::string run_page(const run::RunResult& result, const gpu::GpuSpec& gpu, const std::string& command) {
  const Verdict verdict = verdict_of(result);
  const std::string measured = verdict.measured + (verdict.measured.empty() ? "" : " ") + verdict.evidence;
  VariantTable variants(result.explained);
  Json json{{"version", program_version()},
            {"command", command},
            {"workload", result.workload},
            {"arch", result.arch},
            {"made_by", result.made_by},
            {"gain", verdict.gain},
            {"path", verdict.path},
            {"extremes", verdict.extremes},
            {"measured", measured},
            {"neighbours", neighbours_json(result)},
            {"power", {{"dense", power_json(result, false)}, {"sparse", power_json(result, true)}}},
            {"pattern", pattern_of(result)},
            {"board", board_json(result, gpu)},
            {"dense", total_json(result.totals.dense)},
            {"sparse", total_json(result.totals.sparse)},
            {"waterfall", waterfall_json(result)},
            {"figures", names_of(variant_figures(result.explained))},
            {"operation_figures", names_of(operation_figures(result.explained))},
            {"resources", resource_names()},
            {"operations", Json::array()},
            {"notes", result.notes},
            {"assumed", result.assumed}};
  if (result.inference) {
    json["inference"] = inference_table(result);
  }
  if (!result.does_not_fit.empty()) {
    json["does_not_fit"] = "It " + result.does_not_fit + ".";
  }
  if (result.assumed_share) {
    json["assumed_share"] = *result.assumed_share;
  }
  if (const auto gain = result.gain()) {
    json["sign"] = sign_of_gain(*gain);
  }
  Json& options = json["options"] = Json::object();
  for (const auto& [key, value] : result.options) {
    options[key] = value;
  }
  options["seed"] = std::to_string(result.seed);
  for (const run::OperationResult& op : result.operations) {
    json["operations"].push_back(operation_json(op, result.explained, variants));
  }
  json["variants"] = variants.rows();
  return html_page(run_html(), json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace sptc::report
