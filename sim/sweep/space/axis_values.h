// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace sptc::sweep::space {

/// The values of an axis: "values": [...], or "range": {from, to, step | factor}, or "random":
/// {from, to, count, seed, scale, integer}. Whole numbers come back as integers. Throws InputError
/// unless there is exactly one of them, all values are numbers, words or booleans, and no two are
/// equal where the axis is not `zipped` with others.
std::vector<nlohmann::json> read_axis_values(const io::JsonObject& axis, bool zipped);

}  // namespace sptc::sweep::space
