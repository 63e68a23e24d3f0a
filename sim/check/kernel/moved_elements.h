// SPDX-License-Identifier: Apache-2.0
//
// Kernels that take elements from a wrong place of an operand, or store those of D there.
#pragma once

#include "sim/check/kernel/trial.h"

namespace sptc::check::kernel {

/// What is moved: any of values of A [row, stored element], metadata [row, group] and B [column, k]; or C or D [row,
/// column].
struct Moved {
  bool values = false, metadata = false, b = false, c = false, d = false;
};
/// Where the element stands that a kernel takes for (line, at).
using Source = std::function<std::pair<std::size_t, std::size_t>(std::size_t line, std::size_t at)>;

/// Zeros come from outside of an operand; an element of D that would come from outside stays.
Hypothesis moved(const WrongKernel& kernel, Moved parts, std::string cause, std::string text, Source source);

/// Line `first` has what belongs to line `second`.
using LineMap = std::vector<std::pair<std::size_t, std::size_t>>;

/// c where every line i has what belongs to i ^ c; s where to i + s. `map` must not be empty.
std::optional<std::size_t> common_flip(const LineMap& map);
std::optional<std::ptrdiff_t> common_shift(const LineMap& map);
/// Lines of `parts`, which are rows of D or columns, stand where `map` says. Without a cause: lines that are permuted
/// or there twice. Text: "of D rows 3 and 11 are exchanged", "of A row i holds row i ^ 8, for rows 0 to 31".
Hypothesis moved_lines(const WrongKernel& kernel, Moved parts, bool of_rows, std::string cause, const char* what,
                       const LineMap& map);

}  // namespace sptc::check::kernel
