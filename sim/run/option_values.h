// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/simulation_options.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::run {

// Values of options, from text. Each throws InputError "<what> must be ..., not '<text>'".

std::int64_t parse_integer(std::string_view what, const std::string& text, std::int64_t min, std::int64_t max);

std::int64_t parse_positive(std::string_view what, const std::string& text, std::int64_t max);

/// "FIRST:LAST", cycles, the last behind the first.
std::pair<std::int64_t, std::int64_t> parse_window(std::string_view what, const std::string& text);

/// "ROW,COL", an element of D of a fragment.
std::pair<int, int> parse_element(std::string_view what, const std::string& text);

}  // namespace sptc::run
