// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sptc::sweep {

/// Fingerprints of the files that `value` of `option` names, and of those that they have as base.
/// Empty where it names none. Throws InputError where one cannot be read.
std::string option_files_digest(std::string_view option, const std::string& value);

}  // namespace sptc::sweep
