// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/report/explanation.h"
#include "sim/report/figures.h"
#include "sim/report/inference_report.h"
#include "sim/report/message.h"
#include "sim/report/network_sums.h"
#include "sim/report/report.h"
#include "sim/report/verdict.h"
#include "sim/report/version.h"
#include "sim/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::report {
namespace {

constexpr std::size_t kNameWidth = 24;
constexpr std::size_t kMostRows = 12;

/// Where colours begin and end, or nothing. The escape sequences of a terminal come once the whole text is escaped,
/// which the strings of files are in; until then a mark that the text has nowhere stands on both sides of a code.
class Paint {
 public:
  static constexpr char kMark = '\x01';

  explicit Paint(bool color) : color_(color) {}

  /// What was painted, with escape sequences, and nothing else that a terminal obeys.
  static std::string in_colors(std::string_view painted) {
    std::string text;
    for (bool is_code = false; !painted.empty(); is_code = !is_code) {
      const std::string_view part = painted.substr(0, painted.find(kMark));
      text += is_code ? fmt::format("\033[{}m", part) : printed(part);
      painted.remove_prefix(std::min(painted.size(), part.size() + 1));
    }
    return text;
  }

  std::string bold(const std::string& text) const { return painted("1", text); }
  std::string dim(const std::string& text) const { return painted("2", text); }
  std::string red(const std::string& text) const { return painted("31", text); }
  /// Green for a gain, red for a loss.
  std::string by_sign(int sign, const std::string& text) const {
    return sign == 0 ? text : painted(sign > 0 ? "32" : "31", text);
  }

 private:
  std::string painted(std::string_view code, const std::string& text) const {
    return color_ ? fmt::format("{0}{1}{0}{2}{0}0{0}", kMark, code, text) : text;
  }

  bool color_;
};

std::string row(std::string_view name, std::string_view extents, std::string_view launches, std::string_view type,
                std::string_view dense, std::string_view sparse) {
  return fmt::format("{:<24} {:<23} {:>8} {:<5} {:>9} {:>9}", name, extents, launches, type, dense, sparse);
}

std::string gain_cell(const Paint& paint, const std::optional<double>& speedup) {
  return speedup ? paint.by_sign(sign_of_gain(*speedup), fmt::format("{:>6.2f}x", *speedup)) : fmt::format("{:>7}", "");
}

std::string time_cell(const std::optional<run::VariantResult>& variant) {
  return variant ? scaled_time(variant->timing.time_us) : "-";
}

std::string operation_row(const Paint& paint, const run::OperationResult& op) {
  const std::string launches = op.batch > 1 ? fmt::format("{}x{}", op.batch, op.count) : std::to_string(op.count);
  const auto& shown = op.sparse ? op.sparse : op.dense;
  return line_of(row(fitted_layer(op.name, kNameWidth), fmt::format("{} x {} x {}", op.shape.m, op.shape.n, op.shape.k),
                     launches, numerics::name(op.dtype), time_cell(op.dense), time_cell(op.sparse)) +
                 gain_cell(paint, op.speedup()) + "  " + std::string(shown ? bound_of(*shown) : std::string_view()));
}

/// The `most` operations that take most of the time, in the order of the workload.
std::vector<std::size_t> largest(const std::vector<run::OperationResult>& operations, std::size_t most) {
  std::vector<std::size_t> order(operations.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() <= most) {
    return order;
  }
  const auto time = [&](std::size_t i) {
    const run::OperationResult& op = operations[i];
    const auto& figures = op.dense ? op.dense : op.sparse;
    return figures ? static_cast<double>(op.count) * figures->timing.time_us : 0;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return time(a) > time(b); });
  order.resize(most);
  std::sort(order.begin(), order.end());
  return order;
}

std::string total_row(const Paint& paint, const run::RunResult& result) {
  std::int64_t launches = 0;
  for (const run::OperationResult& op : result.operations) {
    launches += op.count;
  }
  const auto time = [](const std::optional<run::VariantTotals>& total) {
    return total ? scaled_time(total->time_us) : std::string("-");
  };
  return line_of(paint.bold(row("all GEMMs", "", std::to_string(launches), "", time(result.totals.dense),
                                time(result.totals.sparse))) +
                 gain_cell(paint, result.totals.speedup));
}

/// Figures, group by group, in lines of at most kListWidth columns, each group behind `name`.
template <typename Result>
std::string figures_text(const std::string& name, const Figures<Result>& figures, const Result& result) {
  constexpr int kDigits = 6;
  std::string out, text, group;
  visit_figures(figures, result, [&](const Figure<Result>& figure, const FigureValue& value) {
    const std::string item = figure.key + " " + fitted_name(figure_text(value, kDigits), kListWidth / 2);
    if (text.empty() || figure.group != group) {
      out += text.empty() ? "" : text + "\n";
      group = figure.group;
      text = "    " + name + (group.empty() ? "" : " " + group) + ": " + item;
    } else if (text.size() + item.size() + 3 > kListWidth) {
      out += text + ",\n";
      text = "      " + item;
    } else {
      text += ", " + item;
    }
  });
  return text.empty() ? out : out + text + "\n";
}

/// All figures of a launch or of a network, and those of each rail of the board.
template <typename Result>
std::string figures_with_rails(const std::string& name, const Figures<Result>& figures,
                               const std::optional<Result>& result) {
  if (!result) {
    return "";
  }
  const std::string text = figures_text(name, figures, *result);
  return result->energy ? text + figures_text(name, rail_figures(*result->energy), *result->energy) : text;
}

std::string details(const run::OperationResult& op, bool explained) {
  const Figures<run::VariantResult>& figures = variant_figures(explained);
  std::string text = figures_text("operation", operation_figures(false), op);
  if (const run::VariantResult* simulated = op.as_measured()) {
    text += fmt::format("    measured {:.3f} us, simulated {:.3f} ({:+.1f} %)\n", op.measured_us,
                        simulated->timing.time_us, 100 * (simulated->timing.time_us / op.measured_us - 1));
  }
  return text + figures_with_rails("dense", figures, op.dense) + figures_with_rails(op.pattern, figures, op.sparse);
}

std::string details(const run::RunResult& result) {
  return figures_with_rails("dense", total_figures(), result.totals.dense) +
         figures_with_rails(sparse_column(result), total_figures(), result.totals.sparse) +
         figures_text("all GEMMs", total_comparison_figures(), result.totals);
}

std::string table(const Paint& paint, const run::RunResult& result, bool verbose) {
  std::string out =
      paint.dim(row("layer", "m x n x k", "launches", "type", "dense", sparse_column(result)) + "   gain  bound by") +
      "\n";
  const std::vector<std::size_t> shown = largest(result.operations, verbose ? result.operations.size() : kMostRows);
  for (const std::size_t i : shown) {
    out += operation_row(paint, result.operations[i]);
    out += verbose ? details(result.operations[i], result.explained) : "";
  }
  if (shown.size() < result.operations.size()) {
    out += paint.dim(fmt::format("and {} that take less (--verbose)", result.operations.size() - shown.size())) + "\n";
  }
  return out + total_row(paint, result) + (verbose ? details(result) : "");
}

std::string energy_lines(const Paint& paint, const run::Totals& totals) {
  const auto& dense = totals.dense ? totals.dense->energy : std::nullopt;
  const auto& sparse = totals.sparse ? totals.sparse->energy : std::nullopt;
  if (!dense && !sparse) {
    return "";
  }
  const auto cell = [](const std::optional<run::EnergyResult>& energy, std::size_t part) {
    return energy ? scaled_energy(energy_shares(*energy)[part].uj) : std::string("-");
  };
  std::string out =
      "\n" + paint.dim(fmt::format("{:<42} {:>9} {:>9}", "energy", "dense", sparse ? "sparse" : "-")) + "\n";
  const auto shares = energy_shares(dense ? *dense : *sparse);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    out += fmt::format("{:<42} {:>9} {:>9}\n", shares[i].name, cell(dense, i), cell(sparse, i));
  }
  const auto total = [](const std::optional<run::EnergyResult>& energy) {
    return energy ? scaled_energy(energy->total_uj) : std::string("-");
  };
  std::string watts;
  for (const auto& [name, energy] : {std::pair{"dense", &dense}, {"sparse", &sparse}}) {
    watts += *energy ? fmt::format("{}{:.0f} W {}", watts.empty() ? ", " : " and ", (*energy)->power_w, name) : "";
  }
  out += paint.bold(fmt::format("{:<42} {:>9} {:>9}", "total" + watts, total(dense), total(sparse))) + "\n";
  const auto& rails = (dense ? *dense : *sparse).rails_uj;
  for (std::size_t i = 0; i < rails.size(); ++i) {
    const auto rail_w = [i](const std::optional<run::EnergyResult>& energy) {
      return energy ? fmt::format("{:.1f} W", energy->rail_w(i)) : std::string("-");
    };
    out += fmt::format("{:<42} {:>9} {:>9}\n", "of it through " + rails[i].first, rail_w(dense), rail_w(sparse));
  }
  return out;
}

/// What the checks of values found, in a line; a failure says where.
std::string checks(const Paint& paint, const run::RunResult& result, bool verbose) {
  std::int64_t elements = 0, mismatches = 0, undecided = 0;
  result.for_each_variant([&](const run::OperationResult& /*op*/, const run::VariantResult& variant, bool /*sparse*/) {
    if (variant.check) {
      elements += variant.check->elements;
      mismatches += variant.check->mismatches;
      undecided += variant.check->undecided;
    }
  });
  if (elements == 0) {
    return "Values were not checked.\n";
  }
  std::string text = fmt::format("Values: {} elements compared, {} mismatches", elements, mismatches);
  text += undecided > 0 ? fmt::format(", {} undecided", undecided) : "";
  return mismatches == 0 ? text + ".\n"
                         : paint.red(text + ": FAIL" + (verbose ? "." : " (--verbose says where).")) + "\n";
}

std::string measured_line(const run::RunResult& result) {
  const MeasuredTotals totals = measured_totals(result.operations);
  return totals.launches == 0
             ? ""
             : fmt::format("{} launches were measured: {}; simulated: {} ({:+.1f} %).\n", totals.launches,
                           scaled_time(totals.measured_us), scaled_time(totals.simulated_us),
                           100 * (totals.simulated_us / totals.measured_us - 1));
}

std::string assumed_line(const run::RunResult& result) {
  constexpr double kPercent = 100;
  return fmt::format("This rests on {} assumed numbers{}; --verbose lists them.", result.assumed.size(),
                     result.assumed_share ? fmt::format(", whose doubled costs would add {:.0f} % of the time",
                                                        kPercent * *result.assumed_share)
                                          : "");
}

/// "label: item, item, ..." broken into lines of at most kListWidth.
std::string list_text(const std::string& label, const std::vector<std::string>& items) {
  if (items.empty()) {
    return "";
  }
  std::string out, text = label;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = " " + items[i] + (i + 1 < items.size() ? "," : "");
    if (text.size() + item.size() > kListWidth) {
      out += text + "\n";
      text = " ";
    }
    text += item;
  }
  return out + text + "\n";
}

std::string options_text(const run::RunResult& result) {
  std::vector<std::string> options;
  for (const auto& [key, value] : result.options) {
    options.push_back(key + " " + fitted_name(value, kListWidth / 2));
  }
  options.push_back("seed " + std::to_string(result.seed));
  return list_text(fmt::format("sptcsim {}, options:", program_version()), options);
}

std::string painted_report(const run::RunResult& result, const Paint& paint, bool verbose) {
  const Verdict verdict = verdict_of(result);
  std::string out = paint.bold(wrapped(verdict.gain, kTextWidth));
  if (!result.does_not_fit.empty()) {
    out += paint.red(wrapped("It " + result.does_not_fit + ".", kTextWidth));
  }
  for (const std::string& sentence : {verdict.path, verdict.extremes, verdict.measured, verdict.evidence}) {
    out += wrapped(sentence, kTextWidth);
  }
  out += verbose ? options_text(result) : "";
  out += result.inference ? inference_text(result, verbose) : "";
  out += "\n" + table(paint, result, verbose) + energy_lines(paint, result.totals);
  out += accuracy_text(result) + "\n" + measured_line(result) + checks(paint, result, verbose);
  for (const std::string& note : result.notes) {
    out += verbose ? "note: " + note + "\n" : wrapped("note: " + note, kTextWidth);
  }
  out +=
      verbose ? list_text("assumed, not measured or cited:", result.assumed) : paint.dim(assumed_line(result)) + "\n";
  return out + explanation_text(result);
}

}  // namespace

std::string text_report(const run::RunResult& result, const TextStyle& style) {
  const std::string plain = painted_report(result, Paint(false), style.verbose);
  const bool has_mark = plain.find(Paint::kMark) != std::string::npos;
  return !style.color ? plain
         : has_mark   ? printed(plain)
                      : Paint::in_colors(painted_report(result, Paint(true), style.verbose));
}

}  // namespace sptc::report
