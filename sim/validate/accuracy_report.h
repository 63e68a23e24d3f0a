// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/validate/accuracy.h"
#include "sim/validate/prediction.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sptc::sim {

/// What was compared: shown above the figures.
struct ValidationHeader {
  std::string arch;
  std::string measurements;  ///< file
  std::string fidelity;
  std::string clock;
  std::vector<std::string> notes;
  /// Mean absolute error [%] of the same rows without one effect each; may be empty.
  std::vector<std::pair<std::string, double>> ablations;
};

/// Tables of at most 120 columns.
std::string accuracy_text(const ValidationHeader& header, const Accuracy& accuracy);

/// One JSON object (schema "sptcsim-validation/0.1"): count, mape_percent, median_ape_percent,
/// p90_ape_percent, bias_percent, residual_correlation (null for few rows), baseline, bands, worst,
/// ablations where there are any.
std::string accuracy_json(const ValidationHeader& header, const Accuracy& accuracy);

/// Every row, in the order of the file: m, n, k, source, operands, measured_us, simulated_us,
/// error_percent, tile (of a CTA, k logical), split_k, clock_mhz. RFC 4180.
std::string rows_csv(std::span<const Measurement> measured, std::span<const Prediction> launches);

}  // namespace sptc::sim
