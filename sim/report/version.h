// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sptc::report {

/// Version of this build: "0.1.0".
std::string_view program_version();

}  // namespace sptc::report
