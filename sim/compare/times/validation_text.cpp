// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/validation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace sptc::compare::times {
namespace {

constexpr std::size_t kWorstInText = 5;
constexpr std::size_t kSourceWidth = 45;

template <typename... Arguments>
void add(std::string& out, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Arguments>(arguments)...);
}

std::string figure(const std::optional<double>& value, int decimals = 2) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string defaults_text(const MeasurementDefaults& defaults) {
  const MeasuredLaunch& launch = defaults.launch;
  std::string out = fmt::format(
      "{} {}, L2 {}, launch {}, algorithm {}", numerics::name(launch.dtype),
      defaults.sparse ? "sparse" : "dense", launch.conditions.l2.name(),
      kernels::name(launch.conditions.launch), kernels::name(launch.conditions.algorithm));
  if (launch.d_dtype) {
    add(out, ", D {}", numerics::name(*launch.d_dtype));
  }
  if (launch.repetition) {
    add(out, ", {} warm-ups and {} launches", launch.repetition->warmup, launch.repetition->repeat);
  }
  if (launch.power_limit_w) {
    add(out, ", {:g} W", *launch.power_limit_w);
  }
  add(out, ", operands {}", workload::name(launch.operands));
  return out;
}

void add_kinds(const Accuracy& accuracy, std::string& out) {
  add(out, "{:<6} {:<8} {:>6} {:>9} {:>8} {:>11}\n", "type", "sparsity", "rows", "error %",
      "bias %", "roofline %");
  const auto line = [&](std::string_view dtype, std::string_view sparsity,
                        const ErrorFigures& errors, const std::optional<double>& roofline) {
    add(out, "{:<6} {:<8} {:>6} {:>9.2f} {:>+8.2f} {:>11}\n", dtype, sparsity, errors.count,
        errors.mape_percent, errors.bias_percent, figure(roofline));
  };
  for (const AccuracyOfKind& kind : accuracy.by) {
    line(numerics::name(kind.dtype), kind.sparsity, kind.errors, kind.roofline_mape_percent);
  }
  if (accuracy.by.size() > 1) {
    line("all", "", accuracy.errors, accuracy.baseline_mape_percent);
  }
}

void add_speedups(const SpeedupAccuracy& speedup, std::string& out) {
  add(out,
      "\nspeed-up of sparse over dense\n{:<6} {:<8} {:<7} {:>6} {:>9} {:>10} {:>8} {:>10} {:>12} "
      "{:>7} {:>7} "
      "{:>6}\n",
      "type", "path", "L2", "shapes", "measured", "simulated", "error %", "constant %",
      "correlation", "losses", "called", "false");
  const auto line = [&](std::string_view dtype, std::string_view path, std::string_view l2,
                        const SpeedupFigures& figures) {
    add(out,
        "{:<6} {:<8} {:<7} {:>6} {:>9.3f} {:>10.3f} {:>8.2f} {:>10.2f} {:>12} {:>7} {:>7} {:>6}\n",
        dtype, path, l2, figures.count, figures.measured_geomean, figures.simulated_geomean,
        figures.mean_error_percent, figures.constant_error_percent, figure(figures.log_correlation),
        figures.losses_measured, figures.losses_called, figures.false_losses);
  };
  for (const SpeedupOfKind& kind : speedup.by) {
    line(numerics::name(kind.dtype), kernels::name(kind.algorithm), kind.l2, kind.figures);
  }
  if (speedup.by.size() > 1) {
    line("all", "", "", speedup.all);
  }
}

void add_kernels(const std::vector<KernelAccuracy>& kernels, std::string& out) {
  if (kernels.empty()) {
    return;
  }
  add(out,
      "\nwith the kernel that the model chooses, and with the one that ran\n{:<6} {:<8} {:<8} "
      "{:>6} "
      "{:>9} {:>7} {:>8} {:>7} {:>12} {:>18}\n",
      "type", "sparsity", "path", "rows", "error %", "bias %", "ran: %", "bias %", "same tile %",
      "and cluster, cut %");
  for (const KernelAccuracy& kind : kernels) {
    add(out, "{:<6} {:<8} {:<8} {:>6} {:>9.2f} {:>+7.2f} {:>8.2f} {:>+7.2f} {:>12.0f} {:>18.0f}\n",
        numerics::name(kind.dtype), kind.sparsity, kernels::name(kind.algorithm), kind.chosen.count,
        kind.chosen.mape_percent, kind.chosen.bias_percent, kind.recorded.mape_percent,
        kind.recorded.bias_percent, kind.same_tile_percent, kind.same_kernel_percent);
  }
}

void add_power(const PowerAccuracy& power, std::string& out) {
  add(out, "\npower of {} rows: error {:.2f} %, bias {:+.2f} %; {} rows at the cap", power.count,
      power.mape_percent, power.bias_percent, power.at_cap_count);
  if (power.energy_per_flop_error_percent) {
    add(out, ": energy per operation {:.2f} % off, median ratio {:.3f}",
        *power.energy_per_flop_error_percent, *power.energy_per_flop_median_ratio);
  }
  out += "\n";
}

void add_worst(const Accuracy& accuracy, std::string& out) {
  add(out, "\nworst rows\n{:>7} {:>7} {:>7} {:<5} {:<8} {:>12} {:>13} {:>8}  {}\n", "m", "n", "k",
      "type", "sparsity", "measured us", "simulated us", "error %", "source");
  for (std::size_t i = 0; i < std::min(kWorstInText, accuracy.worst.size()); ++i) {
    const Comparison& row = accuracy.worst[i];
    const MeasuredLaunch& launch = row.measured.launch;
    add(out, "{:>7} {:>7} {:>7} {:<5} {:<8} {:>12.1f} {:>13.1f} {:>+8.1f}  {}\n", launch.shape.m,
        launch.shape.n, launch.shape.k, numerics::name(launch.dtype), launch.sparsity(),
        row.measured.time_us, row.simulated.time_us, 100 * row.error(),
        row.measured.source.substr(0, kSourceWidth));
  }
}

}  // namespace

std::string validation_text(const Validation& validation) {
  const ValidationHeader& header = validation.header;
  std::string out;
  add(out, "{} measured GEMMs of {} against {} ({}), clock {}; unless a row says: {}\n\n",
      validation.accuracy.errors.count, header.measurements, header.arch, header.made_by,
      header.clock, defaults_text(header.defaults));
  add_kinds(validation.accuracy, out);
  if (validation.speedup) {
    add_speedups(*validation.speedup, out);
  }
  add_kernels(validation.kernels, out);
  if (validation.power) {
    add_power(*validation.power, out);
  }
  add_worst(validation.accuracy, out);
  for (const std::string& note : header.notes) {
    out += "note: " + note + "\n";
  }
  return out;
}

}  // namespace sptc::compare::times
