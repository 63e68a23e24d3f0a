// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/kernel_accuracy.h"

#include <cmath>
#include <map>
#include <tuple>

namespace sptc::compare::times {
namespace {

/// Adds one row to what become means by finish().
void add(double simulated_us, double measured_us, ErrorFigures& errors) {
  const double error = 100 * (simulated_us / measured_us - 1);
  ++errors.count;
  errors.mape_percent += std::abs(error);
  errors.bias_percent += error;
}

void finish(ErrorFigures& errors) {
  const auto count = static_cast<double>(errors.count);
  errors.mape_percent /= count;
  errors.bias_percent /= count;
}

}  // namespace

std::vector<KernelAccuracy> measure_kernels(std::span<const Comparison> rows) {
  std::map<std::tuple<numerics::DataType, std::string, kernels::Algorithm>, KernelAccuracy> kinds;
  for (const Comparison& row : rows) {
    if (!row.recorded) {
      continue;
    }
    const MeasuredLaunch& launch = row.measured.launch;
    const std::tuple kind(launch.dtype, launch.sparsity(), launch.conditions.algorithm);
    KernelAccuracy& figures = kinds[kind];
    std::tie(figures.dtype, figures.sparsity, figures.algorithm) = kind;
    const Prediction& chosen = row.simulated;
    const Prediction& ran = *row.recorded;
    add(chosen.time_us, row.measured.time_us, figures.chosen);
    add(ran.time_us, row.measured.time_us, figures.recorded);
    const bool same_tile =
        chosen.cta_tile.m == ran.cta_tile.m && chosen.cta_tile.n == ran.cta_tile.n;
    const bool same_cut = chosen.cluster_ctas == ran.cluster_ctas && chosen.split_k == ran.split_k;
    figures.same_tile_percent += same_tile ? 100 : 0;
    figures.same_kernel_percent += same_tile && same_cut ? 100 : 0;
  }
  std::vector<KernelAccuracy> result;
  for (auto& [kind, figures] : kinds) {
    const auto count = static_cast<double>(figures.chosen.count);
    figures.same_tile_percent /= count;
    figures.same_kernel_percent /= count;
    finish(figures.chosen);
    finish(figures.recorded);
    result.push_back(figures);
  }
  return result;
}

}  // namespace sptc::compare::times
