// SPDX-License-Identifier: Apache-2.0
#include "sim/report/network_sums.h"

#include "sim/report/verdict.h"

#include <algorithm>
#include <string_view>

namespace sptc::report {
namespace {

void add(const std::string& cause, double us, Waterfall& waterfall) {
  const auto at = std::ranges::find(waterfall.losses, cause, &GainLoss::cause);
  if (at == waterfall.losses.end()) {
    waterfall.losses.push_back({cause, us});
  } else {
    at->us += us;
  }
}

constexpr const char* kStaysDense = "layers that stay dense";
constexpr const char* kLaunches = "launches";

/// A launch of weights: half of its cycles at the dense clock is the ideal. Returns what its clock adds.
double add_sparse(const run::VariantResult& dense, const run::VariantResult& sparse, double count,
                  Waterfall& waterfall) {
  const double share = sparse.timing.executed_share;
  const auto in_kernel = [](const run::VariantResult& variant) {
    return variant.timing.time_us - variant.timing.launch_us;
  };
  waterfall.ideal_us += count * share * dense.timing.time_us;
  add(kLaunches, count * (sparse.timing.launch_us - share * dense.timing.launch_us), waterfall);
  const double at_dense_clock = static_cast<double>(sparse.timing.cycles) / dense.timing.clock_mhz;
  const std::string_view bound = bound_of(sparse);
  add("kernels bound by " + std::string(bound.empty() ? "?" : bound),
      count * (at_dense_clock - share * in_kernel(dense)), waterfall);
  return count * (in_kernel(sparse) - at_dense_clock);
}

/// A launch that has no sparse variant. Returns what its clock adds.
double add_dense(const run::VariantResult& dense, const run::VariantResult& among_sparse, double share, double count,
                 Waterfall& waterfall) {
  waterfall.ideal_us += count * share * dense.timing.time_us;
  add(kStaysDense, count * (1 - share) * dense.timing.time_us, waterfall);
  return count * (among_sparse.timing.time_us - dense.timing.time_us);
}

/// The executed share of the pattern of the first sparse kernel: the ideal of the whole network.
double ideal_share(const run::RunResult& result) {
  for (const run::OperationResult& op : result.operations) {
    if (op.sparse) {
      return op.sparse->timing.executed_share;
    }
  }
  return 1;
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

std::vector<PowerInterval> power_over_time(const std::vector<run::OperationResult>& operations, bool sparse) {
  std::vector<PowerInterval> trace;
  bool any_sparse = false;
  double now_us = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const run::OperationResult& op = operations[i];
    any_sparse = any_sparse || op.sparse.has_value();
    const run::VariantResult* variant = op.in_network(sparse);
    if (variant == nullptr || !variant->energy) {
      return {};
    }
    const double end_us = now_us + variant->timing.time_us * static_cast<double>(op.count);
    trace.push_back(
        {i, now_us, end_us, variant->energy->power_w, variant->energy->peak_power_w, variant->timing.clock_mhz});
    now_us = end_us;
  }
  return sparse && !any_sparse ? std::vector<PowerInterval>{} : trace;
}

Waterfall waterfall_of(const run::RunResult& result) {
  Waterfall waterfall;
  if (!result.totals.dense || !result.totals.sparse) {
    return waterfall;
  }
  waterfall.dense_us = result.totals.dense->time_us;
  waterfall.losses = {{kStaysDense, 0}, {kLaunches, 0}};
  double clock_us = 0;
  const double share = ideal_share(result);
  for (const run::OperationResult& op : result.operations) {
    const auto count = static_cast<double>(op.count);
    const run::VariantResult* in_sparse = op.in_network(true);
    if (op.dense && in_sparse != nullptr) {
      clock_us += op.sparse ? add_sparse(*op.dense, *op.sparse, count, waterfall)
                            : add_dense(*op.dense, *in_sparse, share, count, waterfall);
    }
  }
  waterfall.losses.push_back({"clock", clock_us});
  return waterfall;
}

}  // namespace sptc::report
