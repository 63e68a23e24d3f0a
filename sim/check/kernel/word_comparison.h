// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/numerics/word.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sptc::check::kernel {

/// Units in the last place between two words of `type`: steps along the numbers of the format,
/// through zero (whose two signs are one apart); of integers their difference. Nothing where one is
/// NaN or infinite and the other is not the same.
std::optional<std::uint64_t> ulp_distance(numerics::Word x, numerics::Word y,
                                          numerics::DataType type);

/// Elements whose distance is in [from, to].
struct UlpBucket {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::size_t elements = 0;
};

/// How two matrices of words differ, bit for bit.
struct WordComparison {
  std::size_t elements = 0;
  std::size_t mismatches = 0;
  std::size_t special = 0;           ///< mismatches of NaN or infinity
  std::vector<UlpBucket> histogram;  ///< 0, 1, 2, 3..4, 5..8 and so on to the largest distance
  double mean_log2_ulps = 0;         ///< of log2(1 + distance) over all elements; special: 33
};

WordComparison compare_words(const base::Matrix<numerics::Word>& computed,
                             const base::Matrix<numerics::Word>& observed, numerics::DataType type);

}  // namespace sptc::check::kernel
