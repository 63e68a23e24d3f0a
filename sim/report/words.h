// SPDX-License-Identifier: Apache-2.0
//
// Names, numbers and sentences as text reports print them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sptc::report {

/// A name from a file, escaped and of at most `width` bytes: what is too long ends in "..", behind a whole character of
/// UTF-8.
std::string fitted_name(std::string_view name, std::size_t width);

/// A name of a layer, fitted so that layers stay apart: words before the last '/' or '.' keep their first letter and
/// what begins with a digit, from the left, until the rest fits: "/b/e/l.0/o/dense/MatMul", "/i3a/conv". Of the last of
/// them as much of the end stays as fits: "m.l.0.s..query.weight".
std::string fitted_layer(std::string_view name, std::size_t width);

/// Three digits and the unit that fits: "12.5 us", "1.69 ms", "3.2 s".
std::string scaled_time(double us);
/// "448 mJ".
std::string scaled_energy(double uj);

/// Columns of a text for people, and of its lists and figures.
inline constexpr std::size_t kTextWidth = 100, kListWidth = 120;
/// `text` in lines of at most `width` columns, each ended and behind `indent`.
std::string wrapped(const std::string& text, std::size_t width, std::string_view indent = "");

/// `text` as a line: without the blanks at its end.
std::string line_of(std::string text);

}  // namespace sptc::report
