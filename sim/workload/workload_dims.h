// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"
#include "sim/workload/workload.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload {

/// The value of a named dimension. Throws InputError for a name that is none.
using DimLookup = std::function<std::int64_t(const std::string& name)>;

/// The value of an integer expression over named dimensions, such as "batch*seq" or
/// "min(8, 2*batch)": + - * /, parentheses, min(a, b), max(a, b), ceil_div(a, b). A division by /
/// must be exact; ceil_div rounds up. Throws InputError at `place` for anything else, for a
/// division by zero or with a remainder, and where a value exceeds 64 bits.
std::int64_t evaluate_extent(std::string_view text, const DimLookup& dim,
                             const io::JsonPlace& place);

/// Replaces every expression among the extents of the operations of `document` (a workload of
/// schema 0.2) by its value. Its "dims" have defaults: a number, an expression of other
/// dimensions, or null where the user must give one; `given` replaces defaults. Where "context" is
/// "seq" by default and given alone, "seq" is 1, which `notes` says. Returns the value of every
/// dimension. Throws InputError at the JSON pointer of what is wrong.
NamedDims resolve_dims(nlohmann::json& document, const NamedDims& given, const std::string& file,
                       std::vector<std::string>& notes);

}  // namespace sptc::workload
