// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <optional>
#include <string_view>

namespace sptc::numerics {

/// As parse_data_type(), in any case, and for the names that other programs have: fp16, half,
/// float16, bfloat16, float8_e4m3fn, fp8 (e4m3), int8, float32, ...
std::optional<DataType> parse_usual_type(std::string_view name);

}  // namespace sptc::numerics
