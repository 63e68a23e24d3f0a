// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/accuracy_report.h"

#include "sim/trace/csv.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <iterator>

namespace sptc::sim {
namespace {

// 1 flop per microsecond is 1e-6 TFLOP/s, 1 byte per microsecond 1e-3 GB/s.
constexpr double kTflopPerFlopPerUs = 1e-6;
constexpr double kGbPerBytePerUs = 1e-3;

/// Figures are kept to a thousandth.
double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

}  // namespace

std::string accuracy_text(const ValidationHeader& header, const Accuracy& accuracy) {
  std::string out = fmt::format(
      "{} measured GEMMs of {} against {}, fidelity {}, clock {}\n\n"
      "mean absolute error {:.2f} %, median {:.2f} %, 90th percentile {:.2f} %, bias {:+.2f} %\n",
      accuracy.count, header.measurements, header.arch, header.fidelity, header.clock,
      accuracy.mape_percent, accuracy.median_ape_percent, accuracy.p90_ape_percent,
      accuracy.bias_percent);
  const auto add = [&](auto&&... args) { fmt::format_to(std::back_inserter(out), args...); };
  if (accuracy.baseline) {
    add(fmt::runtime("baseline: a roofline of four constants fitted to these rows ({:.1f} TFLOP/s, "
                     "{:.0f} GB/s, {:.1f} us, exponent {:.2f}) has {:.2f} %\n"),
        accuracy.baseline->flop_per_us * kTflopPerFlopPerUs,
        accuracy.baseline->bytes_per_us * kGbPerBytePerUs, accuracy.baseline->fixed_us,
        accuracy.baseline->exponent, *accuracy.baseline_mape_percent);
  }
  if (accuracy.residual_correlation) {
    add(fmt::runtime("correlation of what is left beside that roofline: {:.2f}\n"),
        *accuracy.residual_correlation);
  }
  add(fmt::runtime("\n{:>8} {:>8} {:>8} {:>10} {:>9}\n"), "n from", "to", "count", "error %",
      "bias %");
  for (const AccuracyBand& band : accuracy.bands) {
    add(fmt::runtime("{:>8} {:>8} {:>8} {:>10.2f} {:>+9.2f}\n"), band.n_min, band.n_max, band.count,
        band.mape_percent, band.bias_percent);
  }
  add(fmt::runtime("\nworst rows:\n{:>8} {:>8} {:>8} {:>12} {:>13} {:>9}  {}\n"), "m", "n", "k",
      "measured us", "simulated us", "error %", "source");
  for (const Comparison& row : accuracy.worst) {
    add(fmt::runtime("{:>8} {:>8} {:>8} {:>12.1f} {:>13.1f} {:>+9.1f}  {}\n"), row.measured.shape.m,
        row.measured.shape.n, row.measured.shape.k, row.measured.time_us, row.simulated_us,
        100 * row.error(), row.measured.source.substr(0, 50));
  }
  if (!header.ablations.empty()) {
    add(fmt::runtime("\nwithout, constants not fitted anew: {:>26}\n"), "error %");
    for (const auto& [without, mape] : header.ablations) {
      add(fmt::runtime("  {:<46} {:>12.2f}\n"), without, mape);
    }
    out += "\n";
  }
  for (const std::string& note : header.notes) {
    out += "note: " + note + "\n";
  }
  return out;
}

std::string accuracy_json(const ValidationHeader& header, const Accuracy& accuracy) {
  using nlohmann::ordered_json;
  ordered_json json = {{"schema", "sptcsim-validation/0.1"},
                       {"arch", header.arch},
                       {"measurements", header.measurements},
                       {"fidelity", header.fidelity},
                       {"clock", header.clock},
                       {"count", accuracy.count},
                       {"mape_percent", rounded(accuracy.mape_percent)},
                       {"median_ape_percent", rounded(accuracy.median_ape_percent)},
                       {"p90_ape_percent", rounded(accuracy.p90_ape_percent)},
                       {"bias_percent", rounded(accuracy.bias_percent)},
                       {"residual_correlation", nullptr},
                       {"baseline", nullptr}};
  if (accuracy.residual_correlation) {
    json["residual_correlation"] = rounded(*accuracy.residual_correlation);
  }
  if (accuracy.baseline) {
    json["baseline"] = {{"tflops", rounded(accuracy.baseline->flop_per_us * kTflopPerFlopPerUs)},
                        {"gb_per_s", rounded(accuracy.baseline->bytes_per_us * kGbPerBytePerUs)},
                        {"fixed_us", rounded(accuracy.baseline->fixed_us)},
                        {"exponent", rounded(accuracy.baseline->exponent)},
                        {"mape_percent", rounded(*accuracy.baseline_mape_percent)}};
  }
  json["bands"] = ordered_json::array();
  for (const AccuracyBand& band : accuracy.bands) {
    json["bands"].push_back({{"n_min", band.n_min},
                             {"n_max", band.n_max},
                             {"count", band.count},
                             {"mape_percent", rounded(band.mape_percent)},
                             {"bias_percent", rounded(band.bias_percent)}});
  }
  json["worst"] = ordered_json::array();
  for (const Comparison& row : accuracy.worst) {
    json["worst"].push_back({{"m", row.measured.shape.m},
                             {"n", row.measured.shape.n},
                             {"k", row.measured.shape.k},
                             {"measured_us", row.measured.time_us},
                             {"simulated_us", rounded(row.simulated_us)},
                             {"error_percent", rounded(100 * row.error())},
                             {"source", row.measured.source}});
  }
  for (const auto& [without, mape] : header.ablations) {
    json["ablations"].push_back({{"without", without}, {"mape_percent", rounded(mape)}});
  }
  json["notes"] = header.notes;
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string rows_csv(std::span<const Measurement> measured, std::span<const Prediction> launches) {
  std::string out =
      "m,n,k,source,operands,measured_us,simulated_us,error_percent,tile,split_k,clock_mhz\r\n";
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Measurement& row = measured[i];
    const Prediction& launch = launches[i];
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{}x{}x{},{},{}\r\n",
                   row.shape.m, row.shape.n, row.shape.k, csv_field(row.source),
                   row.zeros ? "zeros" : "random", row.time_us, rounded(launch.time_us),
                   rounded(100 * Comparison{row, launch.time_us}.error()), launch.cta_tile.m,
                   launch.cta_tile.n, launch.cta_tile.k, launch.split_k, rounded(launch.clock_mhz));
  }
  return out;
}

}  // namespace sptc::sim
