// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sptc::workload {

/// The value of a named dimension. Throws InputError for a name that is none.
using DimLookup = std::function<std::int64_t(const std::string& name)>;

/// The value of an integer expression over named dimensions, such as "batch*seq" or
/// "min(8, 2*batch)": + - * /, parentheses, min(a, b), max(a, b), ceil_div(a, b). A division by /
/// must be exact; ceil_div rounds up. Throws InputError at `place` for anything else, for a
/// division by zero or with a remainder, and where a value exceeds 64 bits.
std::int64_t evaluate_extent(std::string_view text, const DimLookup& dim,
                             const io::JsonPlace& place);

/// Whether `name` can stand in an expression: a letter, then letters, digits and underscores.
bool is_dim_name(std::string_view name);

}  // namespace sptc::workload
