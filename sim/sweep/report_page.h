// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sptc::sweep {

/// report.html, embedded by CMake.
std::string_view report_page();

}  // namespace sptc::sweep
