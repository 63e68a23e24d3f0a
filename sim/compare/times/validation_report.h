// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/times/accuracy.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sptc::compare::times {

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

/// All figures of a validation.
struct Validation {
  ValidationHeader header;
  Accuracy accuracy;
  std::optional<SpeedupAccuracy> speedup;
  std::vector<KernelAccuracy> kernels;  ///< of rows that name the kernel that ran
  std::optional<PowerAccuracy> power;
};

/// `rows` must not be empty.
Validation validation_of(ValidationHeader header, std::span<const Comparison> rows);

/// One line of conditions, then tables of at most 120 columns.
std::string validation_text(const Validation& validation);

/// One JSON object (schema "sptcsim-validation/0.2"): arch, measurements, fidelity, made_by, clock,
/// defaults, count, mape_percent, median_ape_percent, p90_ape_percent, bias_percent, by,
/// residual_correlation and baseline (null for few rows), bands, worst, speedup (null without
/// pairs), kernels (of rows that name theirs), power (null without watts), notes.
std::string validation_json(const Validation& validation);

/// Every row, in the order of the file: m, n, k, dtype, sparsity, d_dtype, measured_us,
/// simulated_us, error_percent, launch_us, clock_mhz, power_w and measured_power_w (empty where
/// they are not known), tile (of a CTA, k logical), split_k, source. RFC 4180.
std::string rows_csv(std::span<const Comparison> rows);

}  // namespace sptc::compare::times
