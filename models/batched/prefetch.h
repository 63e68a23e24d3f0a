// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/operand_view.h"

#include <cstddef>

namespace sptc::batched {

/// How many rows ahead to ask for, a row of a few kilobytes being packed.
inline constexpr std::size_t kPrefetchRows = 6;

/// Asks the cache for elements [begin, end) of a row. Rows of A and columns of B are far apart in
/// memory: nothing else fetches the next one in time.
inline void prefetch_elements(const numerics::OperandView& matrix, std::size_t row, std::size_t begin,
                              std::size_t end) {
  if (row < matrix.rows()) {
    const std::byte* last = matrix.address(row, end);
    for (const std::byte* line = matrix.address(row, begin); line < last; line += 64) {
      __builtin_prefetch(line);
    }
  }
}

}  // namespace sptc::batched
