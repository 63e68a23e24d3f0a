// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/report/energy_explanation.h"
#include "sim/report/figures.h"
#include "sim/report/fitted_name.h"
#include "sim/report/inference_report.h"
#include "sim/report/measured.h"
#include "sim/report/report.h"
#include "sim/report/text_parts.h"
#include "sim/report/verdict.h"
#include "sim/report/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::report {
namespace {

constexpr std::size_t kWidth = 120;
constexpr std::size_t kNameWidth = 28;

// The second row of an operation has its extents where the first has name, launches and type.
constexpr const char* kRow = "{:<28} {:>9} {:<4} {:<7} {:>12} {:>12} {:>8} {:>6} {:>5} {:>8} {:<9}";

constexpr const char* kFigures = "{} {} {:>12} {:>8} {:>6} {:>5} {:>8} {:<9}";

/// One line, without the blanks at its end.
template <typename... Args>
void line(std::string& out, const char* format, const Args&... args) {
  std::string text = fmt::format(fmt::runtime(format), args...);
  text.erase(text.find_last_not_of(' ') + 1);
  out += text + "\n";
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

void append_variant(std::string& out, const std::string& first, const std::string& launches,
                    std::string_view type, const std::string& variant,
                    const std::optional<run::VariantResult>& figures, const std::string& speedup) {
  const std::string head = launches.empty()
                               ? fmt::format("{:<43}", first)
                               : fmt::format("{:<28} {:>9} {:<4}", first, launches, type);
  if (!figures) {
    line(out, kFigures, head, variant_cells(variant, "-"), "-", "-", "-", "-", "", "");
    return;
  }
  line(out, kFigures, head, variant_cells(variant, std::to_string(figures->timing.cycles)),
       time_text(figures->timing.time_us), fmt::format("{:.1f}", figures->timing.tflops),
       fmt::format("{:.1f}", 100 * figures->timing.utilization),
       fmt::format("{:.1f}", 100 * figures->timing.padding), speedup, check_text(figures->check));
}

/// Figures, group by group, in lines of at most kWidth columns, each group behind `name`.
class FigureLines {
 public:
  FigureLines(std::string& out, std::string name) : out_(out), name_(std::move(name)) {}
  FigureLines(const FigureLines&) = delete;
  FigureLines& operator=(const FigureLines&) = delete;
  ~FigureLines() { out_ += text_.empty() ? "" : text_ + "\n"; }

  template <typename Result>
  void add(const Figures<Result>& figures, const Result& result) {
    visit_figures(figures, result, [&](const Figure<Result>& figure, const FigureValue& value) {
      append(figure.group, figure.key + " " + fitted_name(figure_text(value, kDigits), kWidth / 2));
    });
  }

 private:
  static constexpr int kDigits = 6;

  void append(const std::string& group, const std::string& item) {
    if (text_.empty() || group != group_) {
      out_ += text_.empty() ? "" : text_ + "\n";
      text_ = "    " + name_ + (group.empty() ? "" : " " + group) + ": " + item;
      group_ = group;
    } else if (text_.size() + item.size() + 3 > kWidth) {
      out_ += text_ + ",\n";
      text_ = "      " + item;
    } else {
      text_ += ", " + item;
    }
  }

  std::string& out_;
  std::string name_, group_, text_;
};

void append_figures(std::string& out, const std::string& name,
                    const std::optional<run::VariantResult>& variant, bool explained) {
  FigureLines lines(out, name);
  for (const auto* const figures : variant_figures(explained)) {
    if (variant) {
      lines.add(*figures, *variant);
    }
  }
}

void append_operation(std::string& out, const run::OperationResult& op, bool explained) {
  const auto speedup = op.speedup();
  append_variant(out, fitted_layer(op.name, kNameWidth), fmt::format("{}x{}", op.batch, op.count),
                 numerics::name(op.dtype), "dense", op.dense, "");
  append_variant(out, fmt::format("  {} x {} x {}", op.shape.m, op.shape.n, op.shape.k), "", "",
                 op.pattern, op.sparse, speedup ? fmt::format("{:.2f}x", *speedup) : "");
  {
    FigureLines lines(out, "operation");
    lines.add(operation_figures(), op);
    lines.add(comparison_figures(), op);
  }
  append_figures(out, "dense", op.dense, explained);
  append_figures(out, op.pattern, op.sparse, explained);
}

void append_total(std::string& out, const char* label, const char* variant,
                  const std::optional<run::VariantTotals>& total, const std::string& speedup) {
  if (!total) {
    return;
  }
  line(out, kRow, label, "", "", variant, "", time_text(total->time_us),
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
    const run::VariantResult* in_sparse = op.in_sparse_network();
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
  const auto uj = [](const run::EnergyResult* energy, std::size_t part) {
    return energy == nullptr ? 0 : energy->parts_uj[part].second;
  };
  const auto cell = [any](const run::EnergyResult* energy, double value) {
    return energy == nullptr ? std::string("-") : uj_text(value, any->total_uj);
  };
  constexpr const char* kEnergyRow = "  {:<20} {:>14} {:>14}";
  line(out, "\nenergy, GEMMs only, uJ");
  line(out, kEnergyRow, "", "dense", "sparse");
  for (std::size_t i = 0; i < any->parts_uj.size(); ++i) {
    if (uj_shows(uj(dense, i), any->total_uj) || uj_shows(uj(sparse, i), any->total_uj)) {
      line(out, kEnergyRow, any->parts_uj[i].first, cell(dense, uj(dense, i)),
           cell(sparse, uj(sparse, i)));
    }
  }
  const auto row = [&](const char* what, double run::EnergyResult::*member, const char* format) {
    const auto text = [&](const run::EnergyResult* energy) {
      return energy == nullptr ? std::string("-")
                               : fmt::format(fmt::runtime(format), energy->*member);
    };
    line(out, kEnergyRow, what, text(dense), text(sparse));
  };
  const auto total = [&](const run::EnergyResult* energy) {
    return cell(energy, energy == nullptr ? 0 : energy->total_uj);
  };
  line(out, kEnergyRow, "total", total(dense), total(sparse));
  const auto end = [&](const run::EnergyResult* energy, double energy::Bounds::*which) {
    return cell(energy, energy == nullptr ? 0 : energy->bounds_uj.*which);
  };
  if (any->factors) {
    line(out, kEnergyRow, "  constants low", end(dense, &energy::Bounds::low),
         end(sparse, &energy::Bounds::low));
    line(out, kEnergyRow, "  constants high", end(dense, &energy::Bounds::high),
         end(sparse, &energy::Bounds::high));
  }
  row("average power W", &run::EnergyResult::power_w, "{:.1f}");
  row("peak power W", &run::EnergyResult::peak_power_w, "{:.1f}");
  row("pJ per flop", &run::EnergyResult::pj_per_flop, "{:.4f}");
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

void add(const run::OperationResult& op, const char* variant,
         const std::optional<run::VariantResult>& figures, CheckSummary& summary) {
  if (!figures || !figures->check) {
    return;
  }
  const run::CheckResult& check = *figures->check;
  const std::string at = fitted_layer(op.name, kNameWidth) + ", " + variant;
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
  for (const run::OperationResult& op : result.operations) {
    add(op, "dense", op.dense, summary);
    add(op, "sparse", op.sparse, summary);
  }
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
  line(out, kRow, "operation, m x n x k", "batch*cnt", "type", "variant", "cycles", "time us",
       "TFLOP/s", "util %", "pad %", "speed-up", "check");
  for (const run::OperationResult& op : result.operations) {
    append_operation(out, op, result.explained);
  }
  append_totals(out, result.totals);
  append_time_parts(out, result);
  const Verdict verdict = verdict_of(result);
  for (const std::string& sentence : {verdict.path, verdict.measured}) {
    if (!sentence.empty()) {
      out += sentence + "\n";
    }
  }
  out += measured_text(result.operations);
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
