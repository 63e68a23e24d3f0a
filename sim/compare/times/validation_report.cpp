// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/validation_report.h"

#include "sim/io/csv.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <iterator>
#include <utility>

namespace sptc::compare::times {
namespace {

using nlohmann::ordered_json;

// 1 flop per microsecond is 1e-6 TFLOP/s, 1 byte per microsecond 1e-3 GB/s.
constexpr double kTflopPerFlopPerUs = 1e-6;
constexpr double kGbPerBytePerUs = 1e-3;

/// Figures are kept to a thousandth.
double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

ordered_json or_null(const std::optional<double>& value) {
  return value ? ordered_json(rounded(*value)) : ordered_json();
}

std::string or_empty(const std::optional<double>& value) {
  return value ? fmt::format("{}", rounded(*value)) : "";
}

ordered_json defaults_json(const MeasurementDefaults& defaults) {
  const MeasuredLaunch& launch = defaults.launch;
  ordered_json json = {{"dtype", numerics::name(launch.dtype)},
                       {"sparsity", defaults.sparse ? "sparse" : "dense"},
                       {"d_dtype", nullptr},
                       {"l2", launch.conditions.l2.name()},
                       {"launch", kernels::name(launch.conditions.launch)},
                       {"algorithm", kernels::name(launch.conditions.algorithm)},
                       {"warmup", nullptr},
                       {"repeat", nullptr},
                       {"operands", workload::name(launch.operands)},
                       {"power_limit_w", or_null(launch.power_limit_w)}};
  if (launch.d_dtype) {
    json["d_dtype"] = numerics::name(*launch.d_dtype);
  }
  if (launch.repetition) {
    json["warmup"] = launch.repetition->warmup;
    json["repeat"] = launch.repetition->repeat;
  }
  return json;
}

ordered_json by_json(const std::vector<AccuracyOfKind>& by) {
  ordered_json rows = ordered_json::array();
  for (const AccuracyOfKind& kind : by) {
    rows.push_back({{"dtype", numerics::name(kind.dtype)},
                    {"sparsity", kind.sparsity},
                    {"count", kind.errors.count},
                    {"mape_percent", rounded(kind.errors.mape_percent)},
                    {"bias_percent", rounded(kind.errors.bias_percent)},
                    {"roofline_mape_percent", or_null(kind.roofline_mape_percent)}});
  }
  return rows;
}

ordered_json baseline_json(const Accuracy& accuracy) {
  if (!accuracy.baseline_mape_percent) {
    return nullptr;
  }
  ordered_json rooflines = ordered_json::array();
  for (const AccuracyOfKind& kind : accuracy.by) {
    if (kind.roofline) {
      rooflines.push_back({{"dtype", numerics::name(kind.dtype)},
                           {"sparsity", kind.sparsity},
                           {"tflops", rounded(kind.roofline->flop_per_us * kTflopPerFlopPerUs)},
                           {"gb_per_s", rounded(kind.roofline->bytes_per_us * kGbPerBytePerUs)},
                           {"fixed_us", rounded(kind.roofline->fixed_us)},
                           {"exponent", rounded(kind.roofline->exponent)}});
    }
  }
  return {{"mape_percent", rounded(*accuracy.baseline_mape_percent)},
          {"rooflines", std::move(rooflines)}};
}

ordered_json bands_json(const std::vector<AccuracyBand>& bands) {
  ordered_json rows = ordered_json::array();
  for (const AccuracyBand& band : bands) {
    rows.push_back({{"n_min", band.n_min},
                    {"n_max", band.n_max},
                    {"count", band.errors.count},
                    {"mape_percent", rounded(band.errors.mape_percent)},
                    {"bias_percent", rounded(band.errors.bias_percent)}});
  }
  return rows;
}

ordered_json worst_json(const std::vector<Comparison>& worst) {
  ordered_json rows = ordered_json::array();
  for (const Comparison& row : worst) {
    const MeasuredLaunch& launch = row.measured.launch;
    rows.push_back({{"m", launch.shape.m},
                    {"n", launch.shape.n},
                    {"k", launch.shape.k},
                    {"dtype", numerics::name(launch.dtype)},
                    {"sparsity", launch.sparsity()},
                    {"measured_us", row.measured.time_us},
                    {"simulated_us", rounded(row.simulated.time_us)},
                    {"error_percent", rounded(100 * row.error())},
                    {"source", row.measured.source}});
  }
  return rows;
}

void add_speedup(const SpeedupFigures& figures, ordered_json& json) {
  json["count"] = figures.count;
  json["measured_geomean"] = rounded(figures.measured_geomean);
  json["simulated_geomean"] = rounded(figures.simulated_geomean);
  json["mean_error_percent"] = rounded(figures.mean_error_percent);
  json["constant_error_percent"] = rounded(figures.constant_error_percent);
  json["log_correlation"] = or_null(figures.log_correlation);
  json["losses_measured"] = figures.losses_measured;
  json["losses_called"] = figures.losses_called;
  json["false_losses"] = figures.false_losses;
}

ordered_json speedup_json(const std::optional<SpeedupAccuracy>& speedup) {
  if (!speedup) {
    return nullptr;
  }
  ordered_json json = ordered_json::object();
  add_speedup(speedup->all, json);
  json["by"] = ordered_json::array();
  for (const SpeedupOfKind& kind : speedup->by) {
    ordered_json row = {{"dtype", numerics::name(kind.dtype)},
                        {"algorithm", kernels::name(kind.algorithm)},
                        {"l2", kind.l2}};
    add_speedup(kind.figures, row);
    json["by"].push_back(std::move(row));
  }
  return json;
}

ordered_json kernels_json(const std::vector<KernelAccuracy>& kernels) {
  ordered_json rows = ordered_json::array();
  for (const KernelAccuracy& kind : kernels) {
    rows.push_back({{"dtype", numerics::name(kind.dtype)},
                    {"sparsity", kind.sparsity},
                    {"algorithm", kernels::name(kind.algorithm)},
                    {"count", kind.chosen.count},
                    {"chosen_mape_percent", rounded(kind.chosen.mape_percent)},
                    {"chosen_bias_percent", rounded(kind.chosen.bias_percent)},
                    {"recorded_mape_percent", rounded(kind.recorded.mape_percent)},
                    {"recorded_bias_percent", rounded(kind.recorded.bias_percent)},
                    {"same_tile_percent", rounded(kind.same_tile_percent)},
                    {"same_kernel_percent", rounded(kind.same_kernel_percent)}});
  }
  return rows;
}

ordered_json power_json(const std::optional<PowerAccuracy>& power) {
  if (!power) {
    return nullptr;
  }
  return {{"count", power->count},
          {"mape_percent", rounded(power->mape_percent)},
          {"bias_percent", rounded(power->bias_percent)},
          {"at_cap_count", power->at_cap_count},
          {"energy_per_flop_error_percent", or_null(power->energy_per_flop_error_percent)},
          {"energy_per_flop_median_ratio", or_null(power->energy_per_flop_median_ratio)}};
}

}  // namespace

Validation validation_of(ValidationHeader header, std::span<const Comparison> rows) {
  return {std::move(header), measure_accuracy(rows), measure_speedups(rows), measure_kernels(rows),
          measure_power(rows)};
}

std::string validation_json(const Validation& validation) {
  const ValidationHeader& header = validation.header;
  const Accuracy& accuracy = validation.accuracy;
  const ordered_json json = {{"schema", "sptcsim-validation/0.2"},
                             {"arch", header.arch},
                             {"measurements", header.measurements},
                             {"fidelity", header.fidelity},
                             {"made_by", header.made_by},
                             {"clock", header.clock},
                             {"defaults", defaults_json(header.defaults)},
                             {"count", accuracy.errors.count},
                             {"mape_percent", rounded(accuracy.errors.mape_percent)},
                             {"median_ape_percent", rounded(accuracy.median_ape_percent)},
                             {"p90_ape_percent", rounded(accuracy.p90_ape_percent)},
                             {"bias_percent", rounded(accuracy.errors.bias_percent)},
                             {"by", by_json(accuracy.by)},
                             {"speedup", speedup_json(validation.speedup)},
                             {"kernels", kernels_json(validation.kernels)},
                             {"power", power_json(validation.power)},
                             {"residual_correlation", or_null(accuracy.residual_correlation)},
                             {"baseline", baseline_json(accuracy)},
                             {"bands", bands_json(accuracy.bands)},
                             {"worst", worst_json(accuracy.worst)},
                             {"notes", header.notes}};
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string rows_csv(std::span<const Comparison> rows) {
  std::string out =
      "m,n,k,dtype,sparsity,d_dtype,measured_us,simulated_us,error_percent,launch_us,clock_mhz,"
      "power_w,measured_power_w,tile,split_k,source,l2,algorithm,layout,cluster,recorded_us,"
      "recorded_tile,recorded_cluster\r\n";
  for (const Comparison& row : rows) {
    const MeasuredLaunch& launch = row.measured.launch;
    const Prediction& simulated = row.simulated;
    fmt::format_to(std::back_inserter(out),
                   "{},{},{},{},{},{},{},{},{},{},{},{},{},{}x{}x{},{},{},{},{},{},{},",
                   launch.shape.m, launch.shape.n, launch.shape.k, numerics::name(launch.dtype),
                   launch.sparsity(), numerics::name(launch.type_of_d()), row.measured.time_us,
                   rounded(simulated.time_us), rounded(100 * row.error()),
                   rounded(simulated.launch_us), rounded(simulated.clock_mhz),
                   or_empty(simulated.power_w), or_empty(row.measured.power_w),
                   simulated.cta_tile.m, simulated.cta_tile.n, simulated.cta_tile.k,
                   simulated.split_k, io::csv_field(row.measured.source),
                   launch.conditions.l2.name(), kernels::name(launch.conditions.algorithm),
                   launch.conditions.layout.name(), simulated.cluster_ctas);
    if (row.recorded) {
      const Prediction& recorded = *row.recorded;
      fmt::format_to(std::back_inserter(out), "{},{}x{}x{},{}\r\n", rounded(recorded.time_us),
                     recorded.cta_tile.m, recorded.cta_tile.n, recorded.cta_tile.k,
                     recorded.cluster_ctas);
    } else {
      out += ",,\r\n";
    }
  }
  return out;
}

}  // namespace sptc::compare::times
