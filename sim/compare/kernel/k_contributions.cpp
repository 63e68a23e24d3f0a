// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/k_contributions.h"

#include "sim/compare/kernel/k_samples.h"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sptc::compare::kernel {
namespace {

constexpr std::size_t kMostTiles = 128;
constexpr int kMostTimes = 3;  // that a tile may be there

/// About `wanted` wrong elements of the region, spread over it.
std::vector<KSample> spread_samples(const RegionTrial& trial, std::size_t wanted) {
  std::vector<std::pair<std::size_t, std::size_t>> wrong;
  for (const std::size_t row : trial.selection().rows) {
    for (const std::size_t column : trial.selection().columns) {
      if (trial.kernel().wrong(row, column) != 0) {
        wrong.emplace_back(row, column);
      }
    }
  }
  std::vector<KSample> samples;
  for (std::size_t i = 0; i < std::min(wanted, wrong.size()); ++i) {
    const auto& [row, column] = wrong[i * wrong.size() / std::min(wanted, wrong.size())];
    samples.emplace_back(trial.kernel(), row, column);
  }
  std::erase_if(samples, [](const KSample& sample) { return !sample.is_useful(); });
  return samples;
}

}  // namespace

std::optional<std::vector<int>> k_contributions(const RegionTrial& trial, std::size_t tile) {
  const WrongKernel& kernel = trial.kernel();
  const std::size_t units = kernel.data.k / unit_of(kernel.model.instruction);
  const std::size_t count = (units + tile - 1) / tile;
  // A sum that an activation cuts off is no equation.
  if (count < 2 || count > kMostTiles || kernel.model.epilogue.activation != Activation::kNone) {
    return std::nullopt;
  }
  const std::vector<KSample> samples = spread_samples(trial, 4 * count);
  if (samples.size() < 2 * count) {
    return std::nullopt;
  }
  Eigen::MatrixXd parts(samples.size(), count);
  Eigen::VectorXd off(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    for (std::size_t t = 0; t < count; ++t) {
      parts(row, static_cast<Eigen::Index>(t)) =
          samples[i].prefix(std::min((t + 1) * tile, units)) - samples[i].prefix(t * tile);
    }
    off(row) = samples[i].missing_sum();
  }
  const Eigen::VectorXd solution = parts.colPivHouseholderQr().solve(off);
  std::vector<int> times;
  for (const double value : solution) {
    const double rounded = std::nearbyint(value);
    constexpr double kWhole = 0.1;
    if (!(std::fabs(value - rounded) < kWhole) || rounded < -1 || rounded >= kMostTimes) {
      return std::nullopt;
    }
    times.push_back(1 + static_cast<int>(rounded));
  }
  return times;
}

}  // namespace sptc::compare::kernel
