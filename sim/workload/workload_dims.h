// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"
#include "sim/workload/workload.h"

#include <functional>

namespace sptc::workload {

/// The value of a named dimension. Throws InputError for a name that is none.
using DimLookup = std::function<std::int64_t(const std::string& name)>;

/// The value of an expression such as "min(8, 2*batch)": + - * /, parentheses, min, max, ceil_div.
/// / must be exact. Throws InputError at `place` for anything else, for a division by zero, and
/// where a value exceeds 64 bits.
std::int64_t evaluate_extent(std::string_view text, const DimLookup& dim, const io::JsonPlace& place);

/// Replaces the expressions in `document` (a workload of schema 0.2) by their values. "dims" has
/// defaults: a number, an expression, or null where the user must give one; `given` replaces them.
/// Where "context" is "seq" by default and given alone, "seq" is 1, which `notes` says. Returns the
/// value of every dimension. Throws InputError at the JSON pointer of what is wrong.
NamedDims resolve_dims(nlohmann::json& document, const NamedDims& given, const std::string& file,
                       std::vector<std::string>& notes);

}  // namespace sptc::workload
