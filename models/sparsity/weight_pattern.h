// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/pattern.h"

#include <string>
#include <string_view>

namespace sptc::sparsity {

/// N:M or V:N:M sparsity of weights, as one asks for it. V:N:M (VENOM: Castro et al., SC 2023,
/// arXiv 2310.02065): each block of V rows keeps 4 of every M columns, and each row N = 2 of those
/// 4, so that 2:4 hardware runs it over the columns that the block keeps.
struct WeightPattern {
  Pattern pattern;
  int vector_rows = 0;  ///< V; 0: N:M

  bool operator==(const WeightPattern&) const = default;
  std::string name() const;  ///< "2:8", "64:2:8"
};

/// "2:8", "64:2:8". Throws InputError unless 0 < N < M <= 64 and, with V, N = 2 and M > 4.
WeightPattern parse_weight_pattern(std::string_view text);

}  // namespace sptc::sparsity
