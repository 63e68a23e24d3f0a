// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/peaks.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sptc::report {

/// The peaks of a board as a table of at most 100 columns: at the boost clock and at the power limit, dense and sparse,
/// and what its data sheet prints.
std::string peaks_text(const run::BoardPeaks& board);

/// The same, a row for each type; what is not known is null.
nlohmann::ordered_json peaks_json(const run::BoardPeaks& board);

/// A rate in three digits: "19.5", "312", "4510".
std::string rate_text(double tflops);

}  // namespace sptc::report
