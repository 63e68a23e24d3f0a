// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::sim {

/// One row of a file of measured GEMM times.
struct Measurement {
  GemmShape shape;
  double time_us = 0;
  std::string source;  ///< as the file says; may be empty
};

/// Reads CSV whose header names the columns; `m`, `n`, `k` and `time_us_median` must be among them,
/// `source` may be, others are ignored. Throws InputError "file:line: ...".
std::vector<Measurement> read_measurements(const std::filesystem::path& path);

/// The same from text; `file` is for messages.
std::vector<Measurement> parse_measurements(std::string_view text, const std::string& file);

}  // namespace sptc::sim
