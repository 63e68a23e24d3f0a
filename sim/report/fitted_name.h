// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sptc::report {

/// A name from a file, escaped and of at most `width` bytes: what is too long ends in "..", behind
/// a whole character of UTF-8.
std::string fitted_name(std::string_view name, std::size_t width);

/// A name of a layer, fitted so that layers stay apart: words before the last '/' or '.' keep their
/// first letter and what begins with a digit, from the left, until the rest fits:
/// "/b/e/l.0/o/dense/MatMul", "/i3a/conv". Of the last of them as much of the end stays as fits:
/// "m.l.0.s..query.weight".
std::string fitted_layer(std::string_view name, std::size_t width);

}  // namespace sptc::report
