// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>

namespace sptc::sweep::space {

/// Fingerprints of the files that `value` of `option` names, and of those that they have as base.
/// Empty where it names none. Throws InputError where one cannot be read.
std::string option_files_digest(std::string_view option, const std::string& value);

/// The same of the files that `architecture` names itself: by the option that names another one,
/// "energy" and "library".
std::map<std::string, std::string> default_files_digests(const config::Architecture& architecture,
                                                         const nlohmann::json& document);

}  // namespace sptc::sweep::space
