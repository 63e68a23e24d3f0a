// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace sptc::workload {

/// Replaces every expression among the extents of the operations of `document` (a workload of
/// schema 0.2) by its value. Its "dims" have defaults: a number, an expression of other
/// dimensions, or null where the user must give one; `given` replaces defaults. Where "context" is
/// "seq" by default and given alone, "seq" is 1, which `notes` says. Returns the value of every
/// dimension. Throws InputError at the JSON pointer of what is wrong.
NamedDims resolve_dims(nlohmann::json& document, const NamedDims& given, const std::string& file,
                       std::vector<std::string>& notes);

}  // namespace sptc::workload
