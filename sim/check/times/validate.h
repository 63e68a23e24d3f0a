// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/times/accuracy.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/recording.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::times {

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

/// What was compared: shown above the figures.
struct ValidationHeader {
  std::string arch;
  std::string measurements;  ///< file
  std::string fidelity;
  std::string made_by;  ///< see run::made_by()
  std::string clock;    ///< "limited", "boost", "1200 MHz"
  MeasurementDefaults defaults;
  std::vector<std::string> notes;
};

/// Every row of a file beside its simulation, and all figures of them.
struct Validation {
  ValidationHeader header;
  std::vector<Comparison> rows;  ///< in the order of the file
  Accuracy accuracy;
  std::optional<SpeedupAccuracy> speedup;
  std::vector<KernelAccuracy> kernels;  ///< of rows that name the kernel that ran
  std::optional<ErrorFigures> power;    ///< of the watts
};

/// `rows` must not be empty.
Validation validation_of(ValidationHeader header, std::vector<Comparison> rows);

/// One line of conditions, then tables of at most 120 columns.
std::string validation_text(const Validation& validation);

/// One JSON object (configs/schema/validation.schema.json): `baseline` is null for few rows, `speedup` without pairs,
/// `power` without watts.
std::string validation_json(const Validation& validation);

/// Every row, in the order of the file: m, n, k, dtype, sparsity, d_dtype, measured_us, simulated_us, error_percent,
/// launch_us, clock_mhz, power_w and measured_power_w (empty where they are not known), tile (of a CTA, k logical),
/// split_k, source. RFC 4180.
std::string rows_csv(std::span<const Comparison> rows);

/// `dtype`, `variants` ("dense" or "sparse") and `data` hold of rows that name none. Throws InputError, which begins
/// with the option of that name.
MeasurementDefaults parse_defaults(const std::string& dtype, const std::string& variants, const std::string& data,
                                   const run::SimulationOptions& options);

/// Simulates every launch of a file beside its measured time. Throws InputError.
Validation validate(const ValidationJob& job);

}  // namespace sptc::check::times
