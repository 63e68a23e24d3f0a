// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/validate/accuracy.h"

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

}  // namespace sptc::sim
