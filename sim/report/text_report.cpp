// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/report/explanation.h"
#include "sim/report/figures.h"
#include "sim/report/inference_report.h"
#include "sim/report/network_sums.h"
#include "sim/report/report.h"
#include "sim/report/verdict.h"
#include "sim/report/version.h"
#include "sim/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::report {
namespace {

constexpr std::size_t kWidth = 120;
constexpr std::size_t kNameWidth = 28;

// In the first column stands head_of(), or the extents of an operation.
constexpr const char* kRow = "{:<43} {} {:>12} {:>8} {:>6} {:>5} {:>8} {:<9}";

/// One line, without the blanks at its end.
template <typename... Args>
void line(std::string& out, const char* format, const Args&... args) {
  out += line_of(fmt::format(fmt::runtime(format), args...));
}

std::string time_text(double us) {
  return us < 1e7 ? fmt::format("{:.3f}", us) : fmt::format("{:.0f}", us);
}

std::string check_text(const std::optional<run::CheckResult>& check) {
  if (!check) {
    return "-";
  }
  if (check->mismatches > 0) {
    return "FAIL";
  }
  return check->undecided > 0 ? "undecided" : "ok";
}

/// The columns of variant and cycles; a long name ("128:2:16") takes of the blanks between.
std::string variant_cells(const std::string& variant, const std::string& cycles) {
  constexpr std::size_t kCells = 20;
  const std::size_t used = variant.size() + cycles.size();
  return variant + std::string(used < kCells ? kCells - used : 1, ' ') + cycles;
}

std::string head_of(std::string_view name, std::string_view launches, std::string_view type) {
  return fmt::format("{:<28} {:>9} {:<4}", name, launches, type);
}

void append_variant(std::string& out, const std::string& head, const std::string& variant,
                    const std::optional<run::VariantResult>& figures, const std::string& speedup) {
  if (!figures) {
    line(out, kRow, head, variant_cells(variant, "-"), "-", "-", "-", "-", "", "");
    return;
  }
  line(out, kRow, head, variant_cells(variant, std::to_string(figures->timing.cycles)),
       time_text(figures->timing.time_us), fmt::format("{:.1f}", figures->timing.tflops),
       fmt::format("{:.1f}", 100 * figures->timing.utilization),
       fmt::format("{:.1f}", 100 * figures->timing.padding), speedup, check_text(figures->check));
}

/// Figures, group by group, in lines of at most kWidth columns, each group behind `name`.
template <typename Result>
void append_figures(std::string& out, const std::string& name, const Figures<Result>& figures,
                    const Result& result) {
  constexpr int kDigits = 6;
  std::string text, group;
  visit_figures(figures, result, [&](const Figure<Result>& figure, const FigureValue& value) {
    const std::string item =
        figure.key + " " + fitted_name(figure_text(value, kDigits), kWidth / 2);
    if (text.empty() || figure.group != group) {
      out += text.empty() ? "" : text + "\n";
      group = figure.group;
      text = "    " + name + (group.empty() ? "" : " " + group) + ": " + item;
    } else if (text.size() + item.size() + 3 > kWidth) {
      out += text + ",\n";
      text = "      " + item;
    } else {
      text += ", " + item;
    }
  });
  out += text.empty() ? "" : text + "\n";
}

/// All of a launch, and what of it goes through each rail of the board.
void append_launch(std::string& out, const std::string& name,
                   const std::optional<run::VariantResult>& launch, bool explained) {
  if (launch) {
    append_figures(out, name, variant_figures(explained), *launch);
  }
  if (launch && launch->energy) {
    append_figures(out, name, rail_figures(*launch->energy), *launch->energy);
  }
}

void append_operation(std::string& out, const run::OperationResult& op, bool explained) {
  const auto speedup = op.speedup();
  append_variant(out,
                 head_of(fitted_layer(op.name, kNameWidth),
                         fmt::format("{}x{}", op.batch, op.count), numerics::name(op.dtype)),
                 "dense", op.dense, "");
  append_variant(out, fmt::format("  {} x {} x {}", op.shape.m, op.shape.n, op.shape.k), op.pattern,
                 op.sparse, speedup ? fmt::format("{:.2f}x", *speedup) : "");
  append_figures(out, "operation", operation_figures(false), op);
  append_launch(out, "dense", op.dense, explained);
  append_launch(out, op.pattern, op.sparse, explained);
}

void append_total(std::string& out, const char* label, const char* variant,
                  const std::optional<run::VariantTotals>& total, const std::string& speedup) {
  if (!total) {
    return;
  }
  line(out, kRow, head_of(label, "", ""), variant_cells(variant, ""), time_text(total->time_us),
       fmt::format("{:.1f}", total->tflops), "", "", speedup, total->mismatches > 0 ? "FAIL" : "");
}

void append_totals(std::string& out, const run::Totals& totals) {
  const std::string speedup = totals.speedup ? fmt::format("{:.2f}x", *totals.speedup) : "";
  append_total(out, "total, GEMMs only", "dense", totals.dense, "");
  append_total(out, totals.dense ? "" : "total, GEMMs only", "sparse", totals.sparse, speedup);
  if (totals.sparse) {
    out += "Operations without a sparse variant enter the sparse total with their dense time.\n";
  }
}

/// The time of a variant of the network by what it is made of, count-weighted.
struct TimeParts {
  double cycles_us = 0, launch_us = 0;
  double least_mhz = std::numeric_limits<double>::infinity(), most_mhz = 0;

  void add(const run::VariantResult& figures, std::int64_t count) {
    const auto launches = static_cast<double>(count);
    cycles_us += launches * (figures.timing.time_us - figures.timing.launch_us);
    launch_us += launches * figures.timing.launch_us;
    least_mhz = std::min(least_mhz, figures.timing.clock_mhz);
    most_mhz = std::max(most_mhz, figures.timing.clock_mhz);
  }
  std::string clock() const {
    return most_mhz - least_mhz < 0.5 ? fmt::format("{:.0f} MHz", most_mhz)
                                      : fmt::format("{:.0f} to {:.0f} MHz", least_mhz, most_mhz);
  }
};

/// What the time is made of.
void append_time_parts(std::string& out, const run::RunResult& result) {
  TimeParts dense;
  TimeParts sparse;
  for (const run::OperationResult& op : result.operations) {
    if (op.dense) {
      dense.add(*op.dense, op.count);
    }
    const run::VariantResult* in_sparse = op.in_network(true);
    if (result.totals.sparse && in_sparse != nullptr) {
      sparse.add(*in_sparse, op.count);
    }
  }
  out += "time = cycles / clock + launches\n";
  const auto row = [&](const char* variant, const TimeParts& parts) {
    if (parts.most_mhz > 0) {
      line(out, "  {:<7} {} us of cycles at {} + {} of launches", variant,
           time_text(parts.cycles_us), parts.clock(), time_text(parts.launch_us));
    }
  };
  row("dense", dense);
  row("sparse", sparse);
}

/// Measured beside simulated times, per launch and in all; nothing where nothing was measured.
void append_measured(std::string& out, const std::vector<run::OperationResult>& operations) {
  static constexpr const char* kMeasuredRow = "  {:<28} {:>24} {:>9} {:<7} {:>12} {:>12} {:>8}\n";
  const auto row = [&](const std::string& name, const std::string& extents,
                       const std::string& launches, const std::string& variant, double measured,
                       double simulated) {
    out += fmt::format(kMeasuredRow, name, extents, launches, variant,
                       fmt::format("{:.3f}", measured), fmt::format("{:.3f}", simulated),
                       fmt::format("{:+.1f}", 100 * (simulated / measured - 1)));
  };
  const MeasuredTotals totals = measured_totals(operations);
  if (totals.launches == 0) {
    return;
  }
  out += "\nmeasured beside simulated, us per launch\n";
  out += fmt::format(kMeasuredRow, "operation", "m x n x k", "batch*cnt", "variant", "measured",
                     "simulated", "% off");
  for (const run::OperationResult& op : operations) {
    if (const run::VariantResult* simulated = op.as_measured()) {
      row(fitted_layer(op.name, kNameWidth),
          fmt::format("{} x {} x {}", op.shape.m, op.shape.n, op.shape.k),
          fmt::format("{}x{}", op.batch, op.count), op.measured_sparse ? op.pattern : "dense",
          op.measured_us, simulated->timing.time_us);
    }
  }
  row(fmt::format("all {} launches", totals.launches), "", "", "", totals.measured_us,
      totals.simulated_us);
}

/// Energies of the totals, dense beside sparse: what does not print as zero, so that the rows add
/// up to the total.
void append_energy(std::string& out, const run::Totals& totals) {
  const run::EnergyResult* dense =
      totals.dense && totals.dense->energy ? &*totals.dense->energy : nullptr;
  const run::EnergyResult* sparse =
      totals.sparse && totals.sparse->energy ? &*totals.sparse->energy : nullptr;
  const run::EnergyResult* any = dense != nullptr ? dense : sparse;
  if (any == nullptr) {
    return;
  }
  const auto row = [&](std::string_view what, const auto& text_of) {
    const auto cell = [&](const run::EnergyResult* energy) {
      return energy == nullptr ? std::string("-") : text_of(*energy);
    };
    line(out, "  {:<20} {:>14} {:>14}", what, cell(dense), cell(sparse));
  };
  const auto uj = [any](double value) { return uj_text(value, any->total_uj); };
  const auto shows = [any](const run::EnergyResult* energy, std::size_t part) {
    return energy != nullptr && uj_shows(energy->parts_uj[part].second, any->total_uj);
  };
  using Energy = run::EnergyResult;
  line(out, "\nenergy, GEMMs only, uJ");
  line(out, "  {:<20} {:>14} {:>14}", "", "dense", "sparse");
  for (std::size_t i = 0; i < any->parts_uj.size(); ++i) {
    if (shows(dense, i) || shows(sparse, i)) {
      row(any->parts_uj[i].first, [&](const Energy& e) { return uj(e.parts_uj[i].second); });
    }
  }
  row("total", [&](const Energy& e) { return uj(e.total_uj); });
  if (any->factors) {
    row("  constants low", [&](const Energy& e) { return uj(e.bounds_uj.low); });
    row("  constants high", [&](const Energy& e) { return uj(e.bounds_uj.high); });
  }
  row("average power W", [](const Energy& e) { return fmt::format("{:.1f}", e.power_w); });
  row("peak power W", [](const Energy& e) { return fmt::format("{:.1f}", e.peak_power_w); });
  row("pJ per flop", [](const Energy& e) { return fmt::format("{:.4f}", e.pj_per_flop); });
  for (std::size_t i = 0; i < any->rails_uj.size(); ++i) {
    const std::string& rail = any->rails_uj[i].first;
    row(rail + " uJ", [&](const Energy& e) { return uj(e.rails_uj[i].second); });
    row(rail + " W", [i](const Energy& e) { return fmt::format("{:.1f}", e.rail_w(i)); });
  }
  if (totals.performance_per_watt_ratio) {
    line(out, "  performance per watt, sparse / dense: {:.2f}x{}",
         *totals.performance_per_watt_ratio,
         totals.per_watt_bounds
             ? fmt::format(" ({:.2f}x to {:.2f}x within the ranges of the constants)",
                           totals.per_watt_bounds->low, totals.per_watt_bounds->high)
             : "");
  }
}

/// All checks of a run, and where the extremes are.
struct CheckSummary {
  std::string mode;
  std::int64_t elements = 0, mismatches = 0, undecided = 0;
  double worst_error = -1, bound = 0, worst_ratio = 0;
  std::string worst_at;
  std::string violation;
};

void add(const run::OperationResult& op, const run::CheckResult& check, bool sparse,
         CheckSummary& summary) {
  const std::string at = fitted_layer(op.name, kNameWidth) + (sparse ? ", sparse" : ", dense");
  summary.mode = check.mode;
  summary.elements += check.elements;
  summary.mismatches += check.mismatches;
  summary.undecided += check.undecided;
  summary.worst_ratio = std::max(summary.worst_ratio, check.worst_ratio);
  if (check.worst_error > summary.worst_error) {
    summary.worst_error = check.worst_error;
    summary.bound = check.bound;
    summary.worst_at = at;
  }
  if (summary.violation.empty() && check.first_violation) {
    const run::Violation& found = *check.first_violation;
    summary.violation = fmt::format("{}, batch {}, D[{}, {}]: got 0x{:08x}, expected {}0x{:08x}",
                                    at, found.batch, found.row, found.col, found.got,
                                    check.mode == "exact" ? "" : "about ", found.expected);
  }
}

void append_checks(std::string& out, const run::RunResult& result) {
  CheckSummary summary;
  result.for_each_variant(
      [&](const run::OperationResult& op, const run::VariantResult& variant, bool sparse) {
        if (variant.check) {
          add(op, *variant.check, sparse, summary);
        }
      });
  if (summary.mode.empty()) {
    out += "\ncheck none: values were not checked\n";
    return;
  }
  line(out, "\ncheck {} ({}): {} elements compared, {} mismatches", summary.mode,
       summary.mode == "exact" ? "bits against the plain arithmetic"
                               : "Eigen in double precision, proved error bound",
       summary.elements, summary.mismatches);
  line(out, "  worst error {:.3g}, bound there {:.3g} ({}); largest error/bound {:.3g}",
       summary.worst_error, summary.bound, summary.worst_at, summary.worst_ratio);
  if (summary.undecided > 0) {
    line(out, "  {} elements are undecided: their partial sums may reach 2^128 and overflow",
         summary.undecided);
  }
  if (!summary.violation.empty()) {
    line(out, "  first violation: {}", summary.violation);
  }
}

/// "label: item, item, ..." broken into lines of at most kWidth.
void append_list(std::string& out, const std::string& label,
                 const std::vector<std::string>& items) {
  std::string text = label;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = " " + items[i] + (i + 1 < items.size() ? "," : "");
    if (text.size() + item.size() > kWidth) {
      out += text + "\n";
      text = " ";
    }
    text += item;
  }
  out += text + "\n";
}

}  // namespace

std::string text_report(const run::RunResult& result) {
  std::string out;
  line(out, "sptcsim {}: {} on {} ({})", program_version(), fitted_name(result.workload, 60),
       result.arch, result.made_by);
  std::vector<std::string> options;
  for (const auto& [key, value] : result.options) {
    options.push_back(key + " " + fitted_name(value, kWidth / 2));
  }
  options.push_back("seed " + std::to_string(result.seed));
  append_list(out, "options:", options);
  if (!result.does_not_fit.empty()) {
    out += "warning: the network " + result.does_not_fit + "\n";
  }
  out +=
      "TFLOP/s are effective: skipped zeros count. "
      "util = useful executed MACs, of the peak in these cycles.\n\n";
  line(out, kRow, head_of("operation, m x n x k", "batch*cnt", "type"),
       variant_cells("variant", "cycles"), "time us", "TFLOP/s", "util %", "pad %", "speed-up",
       "check");
  for (const run::OperationResult& op : result.operations) {
    append_operation(out, op, result.explained);
  }
  append_totals(out, result.totals);
  append_time_parts(out, result);
  const Verdict verdict = verdict_of(result);
  for (const std::string& sentence : {verdict.path, verdict.measured, verdict.evidence}) {
    if (!sentence.empty()) {
      out += sentence + "\n";
    }
  }
  append_measured(out, result.operations);
  append_energy(out, result.totals);
  if (result.inference) {
    out += inference_text(result);
  }
  out += explanation_text(result);
  out += accuracy_text(result);
  append_checks(out, result);
  for (const std::string& note : result.notes) {
    out += "note: " + note + "\n";
  }
  if (!result.assumed.empty()) {
    append_list(out, "assumed, not measured or cited:", result.assumed);
  }
  return out;
}

}  // namespace sptc::report
