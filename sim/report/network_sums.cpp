// SPDX-License-Identifier: Apache-2.0
#include "sim/report/network_sums.h"

#include "sim/report/verdict.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sptc::report {
namespace {

/// The sums that the causes are made of, over all launches.
struct Sums {
  double ideal = 0, stays_dense = 0, launches = 0, clock = 0;
  std::vector<std::pair<std::string_view, double>> bounds;

  void add_bound(std::string_view name, double us) {
    const auto at = std::find_if(bounds.begin(), bounds.end(),
                                 [name](const auto& bound) { return bound.first == name; });
    if (at == bounds.end()) {
      bounds.emplace_back(name, us);
    } else {
      at->second += us;
    }
  }
};

/// A launch of weights: half of its cycles at the dense clock is the ideal.
void add_sparse(const run::VariantResult& dense, const run::VariantResult& sparse, double count,
                Sums& sums) {
  const double share = sparse.timing.executed_share;
  const auto in_kernel = [](const run::VariantResult& variant) {
    return variant.timing.time_us - variant.timing.launch_us;
  };
  sums.ideal += count * share * dense.timing.time_us;
  sums.launches += count * (sparse.timing.launch_us - share * dense.timing.launch_us);
  const double at_dense_clock = static_cast<double>(sparse.timing.cycles) / dense.timing.clock_mhz;
  sums.add_bound(bound_of(sparse), count * (at_dense_clock - share * in_kernel(dense)));
  sums.clock += count * (in_kernel(sparse) - at_dense_clock);
}

/// A launch that has no sparse variant.
void add_dense(const run::VariantResult& dense, const run::VariantResult& among_sparse,
               double share, double count, Sums& sums) {
  sums.ideal += count * share * dense.timing.time_us;
  sums.stays_dense += count * (1 - share) * dense.timing.time_us;
  sums.clock += count * (among_sparse.timing.time_us - dense.timing.time_us);
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

std::vector<PowerInterval> power_over_time(const std::vector<run::OperationResult>& operations,
                                           bool sparse) {
  std::vector<PowerInterval> trace;
  bool any_sparse = false;
  double now_us = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const run::OperationResult& op = operations[i];
    any_sparse = any_sparse || op.sparse.has_value();
    const run::VariantResult* variant =
        sparse ? op.in_sparse_network() : (op.dense ? &*op.dense : nullptr);
    if (variant == nullptr || !variant->energy) {
      return {};
    }
    const double end_us = now_us + variant->timing.time_us * static_cast<double>(op.count);
    trace.push_back({i, now_us, end_us, variant->energy->power_w, variant->energy->peak_power_w,
                     variant->timing.clock_mhz});
    now_us = end_us;
  }
  return sparse && !any_sparse ? std::vector<PowerInterval>{} : trace;
}

Waterfall waterfall_of(const run::RunResult& result) {
  Waterfall waterfall;
  if (!result.totals.dense || !result.totals.sparse) {
    return waterfall;
  }
  Sums sums;
  const double share = ideal_share(result);
  for (const run::OperationResult& op : result.operations) {
    const auto count = static_cast<double>(op.count);
    const run::VariantResult* in_sparse = op.in_sparse_network();
    if (!op.dense || in_sparse == nullptr) {
      continue;
    }
    if (op.sparse) {
      add_sparse(*op.dense, *op.sparse, count, sums);
    } else {
      add_dense(*op.dense, *in_sparse, share, count, sums);
    }
  }
  waterfall.dense_us = result.totals.dense->time_us;
  waterfall.ideal_us = sums.ideal;
  waterfall.losses.push_back({"layers that stay dense", sums.stays_dense});
  waterfall.losses.push_back({"launches", sums.launches});
  for (const auto& [name, us] : sums.bounds) {
    const std::string bound(name.empty() ? std::string_view("?") : name);
    waterfall.losses.push_back({"kernels bound by " + bound, us});
  }
  waterfall.losses.push_back({"clock", sums.clock});
  return waterfall;
}

}  // namespace sptc::report
