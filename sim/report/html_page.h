// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sptc::report {

/// `page`, a text of sptc_page() (scripts/cmake/SptcPage.cmake), with `json` where it says [[DATA]]. The result needs
/// no network.
std::string html_page(std::string_view page, std::string_view json);

}  // namespace sptc::report
