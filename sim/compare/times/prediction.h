// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "sim/compare/times/measurements.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sptc::compare::times {

/// What one launch takes.
struct Prediction {
  double time_us = 0;
  double launch_us = 0;  ///< part of it that no SM has a part in
  double clock_mhz = 0;
  std::optional<double> power_w;    ///< mean over the launch; nothing without energies
  std::optional<double> energy_uj;  ///< of the launch
  base::GemmShape cta_tile;         ///< of the kernel that was taken; k is logical
  int split_k = 1;
  int cluster_ctas = 1;
  std::array<std::int64_t, 3> bytes{};  ///< of DRAM, L2 and shared memory
};

/// The launch of a row.
using LaunchPredictor = std::function<Prediction(const Measurement& row)>;

/// Simulated launches of `rows`, in their order. Each of `jobs` processes makes a predictor of its
/// own and takes the next of the distinct launches; with one job nothing is forked. `progress`
/// hears launches done and how many there are. An InputError of a launch is thrown here.
std::vector<Prediction> predict_launches(
    std::span<const Measurement> rows, int jobs,
    const std::function<LaunchPredictor()>& make_predictor,
    const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace sptc::compare::times
