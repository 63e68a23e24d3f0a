// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/codec.h"

#include <cstddef>

namespace sptc::batched {

/// How many rows ahead to ask for, a row of a few kilobytes being packed.
inline constexpr std::size_t kPrefetchRows = 6;

/// Asks the cache for elements [begin, end) of a row. Rows of A and columns of B are far apart in
/// memory: nothing else fetches the next one in time.
inline void prefetch_words(const base::Matrix<numerics::Word>& matrix, std::size_t row,
                           std::size_t begin, std::size_t end) {
  if (row < matrix.rows()) {
    const numerics::Word* words = matrix.row(row).data();
    for (std::size_t i = begin; i < end; i += 64 / sizeof(numerics::Word)) {
      __builtin_prefetch(words + i);
    }
  }
}

}  // namespace sptc::batched
