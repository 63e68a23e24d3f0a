// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/evidence.h"
#include "sim/io/json_reader.h"

#include <optional>
#include <string>
#include <vector>

namespace sptc::config {

inline constexpr int kMaxNode = 1000;  ///< process node [nm]

/// A number of an energy file as the file has it.
struct WireNumber {
  double value = 0;
  double low = 0, high = 0;
  std::optional<int> node_nm;
  Evidence evidence;
};

/// {"value", "evidence", "source"}, with "node_nm" where `on_chip`, and "range": [low, high]; what
/// is assumed needs a range. From 0 where `zero`, else above it. Throws InputError.
WireNumber read_number(const io::JsonObject& number, bool zero, double max, bool on_chip);

/// Adds a problem for each key of `object` that is none of `allowed`.
void check_keys(const io::JsonObject& object, const std::vector<std::string>& allowed,
                ErrorList& errors);

}  // namespace sptc::config
