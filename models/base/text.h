// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sptc::base {

/// `text`, of which the middle is left out where it has more than `max_bytes`: of a path the end
/// matters most. No character of UTF-8 is cut in two.
std::string shortened(std::string_view text, std::size_t max_bytes);

/// `text` as a terminal shows it and obeys none of it. Control characters (those of C1, too),
/// invisible ones, those that turn its direction, and bytes that are no UTF-8 are written as
/// "\x1b", from U+007F on as "\u202e": JSON, which escapes those before itself, stays JSON.
std::string escaped(std::string_view text);

/// `message` escaped, with lines of more than 384 bytes shortened; lines beyond the hundredth are
/// counted alone.
std::string bounded_message(std::string_view message);

/// The shortest candidate that begins with `word`; else the one that differs from it by the fewest
/// edits for its length, a common beginning weighing more; upper and lower case are alike. An empty
/// view where there is no candidate.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// "'word' (nearest valid: 'x'; allowed: a, b, c)" or "'word' (none is known)": the tail of every
/// "unknown name" message. Of names too many for one sentence it says the nearest three: "'word'
/// (nearest valid: 'x', 'y', 'z'; 60 are allowed)". `meant`: what `word` is another name of, said
/// instead of the nearest.
std::string unknown_name(std::string_view word, std::span<const std::string_view> allowed, std::string_view meant = {});

/// The place of `word` among the names of an enumeration. Throws InputError where it is none: "unknown
/// `what` ...", with the nearest.
std::size_t place_of_name(std::string_view what, std::string_view word, std::span<const std::string_view> names);

/// Letters of ASCII as small ones.
std::string lower_case(std::string_view text);

/// `name` for comparisons: lower case, without blanks, hyphens and underscores.
std::string plain_name(std::string_view name);

}  // namespace sptc::base
