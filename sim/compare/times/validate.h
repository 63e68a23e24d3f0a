// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/times/validation_report.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/recording.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::compare::times {

/// The board of measurements that name none.
inline constexpr std::string_view kUsualBoard = "a100-sxm4-80gb";

/// A file of measured times, and how its launches are simulated.
struct ValidationJob {
  std::string file;  ///< CSV (read_measurements()), or a recording with times
  std::string arch;  ///< empty: the board that a recording names, else kUsualBoard
  run::SimulationOptions options;
  bool fidelity_given = false;   ///< else more than 50 rows take the closed form
  MeasurementDefaults defaults;  ///< but what `options` say
  int jobs = 1;                  ///< processes
  std::function<void(const workload::Recording&)> on_recording = {};
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

struct ValidatedFile {
  Validation validation;
  std::vector<Comparison> rows;
};

/// `dtype`, `variants` ("dense" or "sparse") and `data` hold of rows that name none. Throws
/// InputError, which begins with the option of that name.
MeasurementDefaults parse_defaults(const std::string& dtype, const std::string& variants,
                                   const std::string& data, const run::SimulationOptions& options);

/// Simulates every launch of a file beside its measured time. Throws InputError.
ValidatedFile validate(const ValidationJob& job);

}  // namespace sptc::compare::times
