// SPDX-License-Identifier: Apache-2.0
#include "sim/report/measured.h"

#include "sim/report/fitted_name.h"

#include <fmt/format.h>

namespace sptc::report {
namespace {

constexpr std::size_t kNameWidth = 28;
constexpr const char* kRow = "  {:<28} {:>24} {:>9} {:<7} {:>12} {:>12} {:>8}\n";

std::string difference(double simulated, double measured) {
  constexpr double kPercent = 100;
  return fmt::format("{:+.1f}", kPercent * (simulated / measured - 1));
}

}  // namespace

MeasuredTotals measured_totals(const std::vector<run::OperationResult>& operations) {
  MeasuredTotals totals;
  for (const run::OperationResult& op : operations) {
    if (const run::VariantResult* simulated = op.as_measured()) {
      totals.launches += op.count;
      totals.measured_us += static_cast<double>(op.count) * op.measured_us;
      totals.simulated_us += static_cast<double>(op.count) * simulated->timing.time_us;
    }
  }
  return totals;
}

std::string measured_text(const std::vector<run::OperationResult>& operations) {
  const MeasuredTotals totals = measured_totals(operations);
  if (totals.launches == 0) {
    return "";
  }
  std::string text = "\nmeasured beside simulated, us per launch\n";
  text += fmt::format(kRow, "operation", "m x n x k", "batch*cnt", "variant", "measured",
                      "simulated", "% off");
  for (const run::OperationResult& op : operations) {
    if (const run::VariantResult* simulated = op.as_measured()) {
      text += fmt::format(
          kRow, fitted_layer(op.name, kNameWidth),
          fmt::format("{} x {} x {}", op.shape.m, op.shape.n, op.shape.k),
          fmt::format("{}x{}", op.batch, op.count), op.measured_sparse ? op.pattern : "dense",
          fmt::format("{:.3f}", op.measured_us), fmt::format("{:.3f}", simulated->timing.time_us),
          difference(simulated->timing.time_us, op.measured_us));
    }
  }
  return text + fmt::format(kRow, fmt::format("all {} launches", totals.launches), "", "", "",
                            fmt::format("{:.3f}", totals.measured_us),
                            fmt::format("{:.3f}", totals.simulated_us),
                            difference(totals.simulated_us, totals.measured_us));
}

}  // namespace sptc::report
