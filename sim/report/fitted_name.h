// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sptc::report {

/// A name from a file, escaped and of at most `width` bytes: what is too long ends in "..", behind
/// a whole character of UTF-8.
std::string fitted_name(std::string_view name, std::size_t width);

}  // namespace sptc::report
