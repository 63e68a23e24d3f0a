// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/validate.h"
#include "sim/io/csv.h"
#include "sim/io/json_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace sptc::check::times {
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

/// The figure as it is.
ordered_json exact_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

std::string or_empty(const std::optional<double>& value) {
  return value ? fmt::format("{}", rounded(*value)) : "";
}

// Tables ------------------------------------------------------------------------------------------

/// A column of the tables in text, and the key of its figures in JSON.
struct Column {
  std::string_view key, heading;
  int width;  ///< of text; negative: of words, which begin on the left
  int decimals = 2;
  bool is_signed = false;
  bool is_exact = false;  ///< JSON has the figure as it is
};
using Columns = std::span<const Column>;
using TableRow = std::vector<ordered_json>;  ///< a word, a count, a figure or null for each column

constexpr std::array kKindColumns{Column{"dtype", "type", -6},
                                  Column{"sparsity", "sparsity", -8},
                                  Column{"count", "rows", 6},
                                  Column{"mape_percent", "error %", 9},
                                  Column{"bias_percent", "bias %", 8, 2, true},
                                  Column{"roofline_mape_percent", "roofline %", 11}};
constexpr std::array kSpeedupColumns{Column{"dtype", "type", -6},
                                     Column{"algorithm", "path", -8},
                                     Column{"l2", "L2", -7},
                                     Column{"count", "shapes", 6},
                                     Column{"measured_geomean", "measured", 9, 3},
                                     Column{"simulated_geomean", "simulated", 10, 3},
                                     Column{"mean_error_percent", "error %", 8},
                                     Column{"constant_error_percent", "constant %", 10},
                                     Column{"log_correlation", "correlation", 12},
                                     Column{"losses_measured", "losses", 7},
                                     Column{"losses_called", "called", 7},
                                     Column{"false_losses", "false", 6}};
constexpr std::size_t kSpeedupKeys = 3;  // columns that say which launches
constexpr std::array kKernelColumns{Column{"dtype", "type", -6},
                                    Column{"sparsity", "sparsity", -8},
                                    Column{"algorithm", "path", -8},
                                    Column{"count", "rows", 6},
                                    Column{"chosen_mape_percent", "error %", 9},
                                    Column{"chosen_bias_percent", "bias %", 7, 2, true},
                                    Column{"recorded_mape_percent", "ran: %", 8},
                                    Column{"recorded_bias_percent", "bias %", 7, 2, true},
                                    Column{"same_tile_percent", "same tile %", 12, 0},
                                    Column{"same_kernel_percent", "and cluster, cut %", 18, 0}};
constexpr std::array kWorstColumns{Column{"m", "m", 7},
                                   Column{"n", "n", 7},
                                   Column{"k", "k", 7},
                                   Column{"dtype", "type", -5},
                                   Column{"sparsity", "sparsity", -8},
                                   Column{"measured_us", "measured us", 12, 1, false, true},
                                   Column{"simulated_us", "simulated us", 13, 1},
                                   Column{"error_percent", "error %", 8, 1, true},
                                   Column{"source", " source", 0}};

TableRow kind_row(std::string_view dtype, std::string_view sparsity, const ErrorFigures& errors,
                  const std::optional<double>& roofline) {
  return {dtype, sparsity, errors.count, errors.mape_percent, errors.bias_percent, exact_or_null(roofline)};
}

TableRow kind_row(const AccuracyOfKind& kind) {
  return kind_row(numerics::name(kind.dtype), kind.sparsity, kind.errors, kind.roofline_mape_percent);
}

TableRow speedup_row(std::string_view dtype, std::string_view path, std::string_view l2,
                     const SpeedupFigures& figures) {
  return {dtype,
          path,
          l2,
          figures.count,
          figures.measured_geomean,
          figures.simulated_geomean,
          figures.mean_error_percent,
          figures.constant_error_percent,
          exact_or_null(figures.log_correlation),
          figures.losses_measured,
          figures.losses_called,
          figures.false_losses};
}

TableRow speedup_row(const SpeedupOfKind& kind) {
  return speedup_row(numerics::name(kind.dtype), kernels::name(kind.algorithm), kind.l2, kind.figures);
}

TableRow kernel_row(const KernelAccuracy& kind) {
  return {numerics::name(kind.dtype),    kind.sparsity,
          kernels::name(kind.algorithm), kind.chosen.count,
          kind.chosen.mape_percent,      kind.chosen.bias_percent,
          kind.recorded.mape_percent,    kind.recorded.bias_percent,
          kind.same_tile_percent,        kind.same_kernel_percent};
}

TableRow worst_row(const Comparison& row) {
  const MeasuredLaunch& launch = row.measured.launch;
  return {launch.shape.m,     launch.shape.n,       launch.shape.k,        kernels::name(launch.format()),
          launch.sparsity(),  row.measured.time_us, row.simulated.time_us, 100 * row.error(),
          row.measured.source};
}

template <typename Figures>
std::vector<TableRow> rows_of(const std::vector<Figures>& list, TableRow (*row_of)(const Figures&)) {
  std::vector<TableRow> rows;
  std::ranges::transform(list, std::back_inserter(rows), row_of);
  return rows;
}

// JSON --------------------------------------------------------------------------------------------

ordered_json object_of(Columns columns, std::span<const ordered_json> row) {
  ordered_json json = ordered_json::object();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool is_rounded = row[i].is_number_float() && !columns[i].is_exact;
    json[std::string(columns[i].key)] = is_rounded ? ordered_json(rounded(row[i].get<double>())) : row[i];
  }
  return json;
}

ordered_json list_of(Columns columns, const std::vector<TableRow>& rows) {
  ordered_json json = ordered_json::array();
  for (const TableRow& row : rows) {
    json.push_back(object_of(columns, row));
  }
  return json;
}

ordered_json defaults_json(const MeasurementDefaults& defaults) {
  const MeasuredLaunch& launch = defaults.launch;
  ordered_json json = {{"dtype", kernels::name(launch.format())},
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
  return {{"mape_percent", rounded(*accuracy.baseline_mape_percent)}, {"rooflines", std::move(rooflines)}};
}

ordered_json speedup_json(const std::optional<SpeedupAccuracy>& speedup) {
  if (!speedup) {
    return nullptr;
  }
  const TableRow all = speedup_row("", "", "", speedup->all);
  ordered_json json = object_of(Columns(kSpeedupColumns).subspan(kSpeedupKeys), std::span(all).subspan(kSpeedupKeys));
  json["by"] = list_of(kSpeedupColumns, rows_of(speedup->by, speedup_row));
  return json;
}

ordered_json power_json(const std::optional<ErrorFigures>& power) {
  if (!power) {
    return nullptr;
  }
  return {{"count", power->count},
          {"mape_percent", rounded(power->mape_percent)},
          {"bias_percent", rounded(power->bias_percent)}};
}

// Text --------------------------------------------------------------------------------------------

std::string cell_of(const ordered_json& figure, const Column& column) {
  if (figure.is_null()) {
    return "-";
  }
  if (figure.is_string()) {
    return figure.get<std::string>();
  }
  if (!figure.is_number_float()) {
    return figure.dump();
  }
  const auto number = figure.get<double>();
  return column.is_signed ? fmt::format("{:+.{}f}", number, column.decimals)
                          : fmt::format("{:.{}f}", number, column.decimals);
}

std::string line_of(Columns columns, const TableRow& row) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const int width = columns[i].width;
    const std::string cell = cell_of(row[i], columns[i]);
    line += i == 0 ? "" : " ";
    line += width < 0 ? fmt::format("{:<{}}", cell, -width) : fmt::format("{:>{}}", cell, width);
  }
  return line + "\n";
}

std::string table_of(Columns columns, const std::vector<TableRow>& rows) {
  TableRow headings;
  for (const Column& column : columns) {
    headings.emplace_back(column.heading);
  }
  std::string text = line_of(columns, headings);
  for (const TableRow& row : rows) {
    text += line_of(columns, row);
  }
  return text;
}

std::string defaults_text(const MeasurementDefaults& defaults) {
  const MeasuredLaunch& launch = defaults.launch;
  return fmt::format("{} {}, {}, operands {}", kernels::name(launch.format()), defaults.sparse ? "sparse" : "dense",
                     launch.conditions_text(), workload::name(launch.operands));
}

std::string kinds_text(const Accuracy& accuracy) {
  std::vector<TableRow> rows = rows_of(accuracy.by, kind_row);
  if (rows.size() > 1) {
    rows.push_back(kind_row("all", "", accuracy.errors, accuracy.baseline_mape_percent));
  }
  return table_of(kKindColumns, rows);
}

std::string speedups_text(const SpeedupAccuracy& speedup) {
  std::vector<TableRow> rows = rows_of(speedup.by, speedup_row);
  if (rows.size() > 1) {
    rows.push_back(speedup_row("all", "", "", speedup.all));
  }
  return "\nspeed-up of sparse over dense\n" + table_of(kSpeedupColumns, rows);
}

std::string worst_text(const Accuracy& accuracy) {
  constexpr std::size_t kWorstInText = 5;
  constexpr std::size_t kSourceWidth = 45;
  std::vector<TableRow> rows = rows_of(accuracy.worst, worst_row);
  rows.resize(std::min(kWorstInText, rows.size()));
  for (TableRow& row : rows) {
    row.back() = " " + row.back().get<std::string>().substr(0, kSourceWidth);
  }
  return "\nworst rows\n" + table_of(kWorstColumns, rows);
}

}  // namespace

Validation validation_of(ValidationHeader header, std::vector<Comparison> rows) {
  Validation result{std::move(header),  {}, measure_accuracy(rows), measure_speedups(rows), measure_kernels(rows),
                    measure_power(rows)};
  result.rows = std::move(rows);
  return result;
}

std::string validation_text(const Validation& validation) {
  const ValidationHeader& header = validation.header;
  std::string text = fmt::format("{} measured GEMMs of {} against {} ({}), clock {}; unless a row says: {}\n\n",
                                 validation.accuracy.errors.count, header.measurements, header.arch, header.made_by,
                                 header.clock, defaults_text(header.defaults));
  text += kinds_text(validation.accuracy);
  if (validation.speedup) {
    text += speedups_text(*validation.speedup);
  }
  if (!validation.kernels.empty()) {
    text += "\nwith the kernel that the model chooses, and with the one that ran\n" +
            table_of(kKernelColumns, rows_of(validation.kernels, kernel_row));
  }
  if (validation.power) {
    text += fmt::format("\npower of {} rows: error {:.2f} %, bias {:+.2f} %\n", validation.power->count,
                        validation.power->mape_percent, validation.power->bias_percent);
  }
  text += worst_text(validation.accuracy);
  for (const std::string& note : header.notes) {
    text += "note: " + note + "\n";
  }
  return text;
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
                             {"bias_percent", rounded(accuracy.errors.bias_percent)},
                             {"by", list_of(kKindColumns, rows_of(accuracy.by, kind_row))},
                             {"speedup", speedup_json(validation.speedup)},
                             {"kernels", list_of(kKernelColumns, rows_of(validation.kernels, kernel_row))},
                             {"power", power_json(validation.power)},
                             {"baseline", baseline_json(accuracy)},
                             {"worst", list_of(kWorstColumns, rows_of(accuracy.worst, worst_row))},
                             {"notes", header.notes}};
  return io::json_text(json, 2) + "\n";
}

std::string rows_csv(std::span<const Comparison> rows) {
  std::string out =
      "m,n,k,dtype,sparsity,d_dtype,measured_us,simulated_us,error_percent,launch_us,clock_mhz,power_w,"
      "measured_power_w,tile,split_k,source,l2,algorithm,layout,cluster,recorded_us,recorded_tile,recorded_cluster\r\n";
  for (const Comparison& row : rows) {
    const MeasuredLaunch& launch = row.measured.launch;
    const Prediction& simulated = row.simulated;
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{},{},{}x{}x{},{},{},{},{},{},{},",
                   launch.shape.m, launch.shape.n, launch.shape.k, kernels::name(launch.format()), launch.sparsity(),
                   numerics::name(launch.type_of_d()), row.measured.time_us, rounded(simulated.time_us),
                   rounded(100 * row.error()), rounded(simulated.launch_us), rounded(simulated.clock_mhz),
                   or_empty(simulated.power_w), or_empty(row.measured.power_w), simulated.cta_tile.m,
                   simulated.cta_tile.n, simulated.cta_tile.k, simulated.split_k, io::csv_field(row.measured.source),
                   launch.conditions.l2.name(), kernels::name(launch.conditions.algorithm),
                   launch.conditions.layout.name(), simulated.cluster_ctas);
    if (row.recorded) {
      const Prediction& recorded = *row.recorded;
      fmt::format_to(std::back_inserter(out), "{},{}x{}x{},{}\r\n", rounded(recorded.time_us), recorded.cta_tile.m,
                     recorded.cta_tile.n, recorded.cta_tile.k, recorded.cluster_ctas);
    } else {
      out += ",,\r\n";
    }
  }
  return out;
}

}  // namespace sptc::check::times
