// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace sptc::sim {

/// `text` in lines of at most `width` columns, each ended; `indent` blanks in front of all but the
/// first.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent = 0);

}  // namespace sptc::sim
