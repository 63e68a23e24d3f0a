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
  std::string source;          ///< as the file says; may be empty
  bool zeros = false;          ///< an operand was zero throughout
  bool zeros_by_name = false;  ///< so `source` says, and no column of the file says otherwise
};

/// Reads CSV whose header names the columns; `m`, `n`, `k` and `time_us_median` must be among them,
/// `source` and `operands` (random or zeros) may be, others are ignored. Without `operands` those
/// of "model/mlp_down_proj" are zeros: so are they in Vidur's profiles, where weights of the order
/// of 1e-3 make the product before it vanish in f16 (scripts/limited_clock_error.py --operands).
/// Column `b` of a workload (zeros or nothing) is heeded too. What is scored is one f16 GEMM, dense
/// or `sparse`: where the columns `dtype`, `sparsity` and `batch` of a workload are there, each row
/// must say so or nothing. The names of the columns that are ignored are added to `ignored`, if
/// there is one. Throws InputError "file:line: ...".
std::vector<Measurement> read_measurements(const std::filesystem::path& path, bool sparse = false,
                                           std::vector<std::string>* ignored = nullptr);

/// The same from text; `file` is for messages.
std::vector<Measurement> parse_measurements(std::string_view text, const std::string& file,
                                            bool sparse = false,
                                            std::vector<std::string>* ignored = nullptr);

}  // namespace sptc::sim
