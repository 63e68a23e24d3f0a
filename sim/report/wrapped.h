// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace sptc::report {

/// `text` in lines of at most `width` columns, each ended.
std::string wrapped(const std::string& text, std::size_t width);

}  // namespace sptc::report
