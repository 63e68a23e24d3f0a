// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture_fields.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sptc::config {

/// The numbers of common/architecture.json, which are the same for every GPU that does not say
/// otherwise: shipped ones, overridden number by number by such a file in a configuration directory
/// of the user's own. Throws InputError where a file has a fault.
nlohmann::json read_common_numbers();

/// An architecture document with the numbers that its file leaves out, where there is a place for
/// them: those of `common`, which read_common_numbers() gave, and selector_bytes_per_cycle, which
/// is dot_units x dot_width_bytes.
///
/// A derived document keeps those of its base, unless null in it asks for them anew. Throws
/// InputError with a place in `file` where the document has one number of a pair that only has a
/// meaning together, or two whose product is too large.
nlohmann::json with_common_numbers(nlohmann::json document, const nlohmann::json& common, const std::string& file);

}  // namespace sptc::config
