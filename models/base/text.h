// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sptc {

/// The shortest candidate that begins with `word`; else the one with the smallest edit distance to
/// it; upper and lower case are alike. An empty view where there is no candidate.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// "'word' (nearest valid: 'x'; allowed: a, b, c)" or "'word' (none is known)": the tail of every
/// "unknown name" message. `meant`: what `word` is another name of, said
/// instead of the nearest.
std::string unknown_name(std::string_view word, std::span<const std::string_view> allowed,
                         std::string_view meant = {});

/// `name` for comparisons: lower case, without blanks, hyphens and underscores.
std::string plain_name(std::string_view name);

}  // namespace sptc
