// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/base/shape.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/pattern.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::sparsity {

/// N:M or V:N:M sparsity of weights, as one asks for it. V:N:M (VENOM: Castro et al., SC 2023,
/// arXiv 2310.02065): each block of V rows keeps 4 of every M columns, and each row N = 2 of those
/// 4, so that 2:4 hardware runs it over the columns that the block keeps.
struct WeightPattern {
  Pattern pattern;
  int vector_rows = 0;  ///< V; 0: N:M

  bool operator==(const WeightPattern&) const = default;
  /// "2:8", "64:2:8"
  std::string name() const { return (vector_rows > 0 ? std::to_string(vector_rows) + ":" : "") + pattern.name(); }
};

/// "2:8", "64:2:8". Throws InputError unless 0 < N < M <= 64 and, with V, N = 2 and M > 4.
WeightPattern parse_weight_pattern(std::string_view text);

/// Columns of a group that a block of V:N:M keeps.
inline constexpr int kVectorColumns = 4;

/// How weights of a pattern run on a tensor core.
struct PatternExecution {
  Pattern instruction;  ///< that mma.sp executes
  int group = 4;        ///< K of the weights is padded to whole groups of this
  /// K of the instruction stream over K of the weights. (2N-2):2N on 2:4 hardware runs N-1 windows
  /// of 4 per group of 2N (SlideSparse, arXiv 2603.05232), V:N:M the 4 kept columns of each M.
  int k_numerator = 1, k_denominator = 1;
  int vector_rows = 0;  ///< rows that share a choice of columns; 0: no columns are left out

  /// K of the instruction stream for weights with `k` columns.
  std::int64_t executed_k(std::int64_t k) const { return base::round_up(k, group) / k_denominator * k_numerator; }
};

/// How `weights` of `type` run where the multipliers have `selector`: by the pattern itself where
/// the selector reaches that far, else within or decomposed on the pattern that hardware has for
/// the type. Throws InputError, with what is missing, where there is no way; patterns of 4-bit
/// types are those of the hardware.
PatternExecution pattern_execution(const WeightPattern& weights, numerics::DataType type,
                                   const SelectorWidth& selector);

/// What the multipliers get of one row: its kept elements in the order of the steps, and the
/// columns that they stand in.
struct KeptElements {
  std::vector<numerics::Word> values;
  std::vector<std::size_t> columns;
};

/// Prunes `dense` [m, k] to `weights` by magnitude and gives what the multipliers get of each row:
/// in every group as many elements as the executed pattern keeps, explicit zeros at the smallest
/// unused places where there are fewer. V:N:M: row 0 begins a block of V; a block keeps the columns
/// whose magnitudes have the largest sum (close to the energy criterion of VENOM), then each row 2
/// of 4. k must be whole groups of `execution`.
std::vector<KeptElements> prune_to_kept(const base::Matrix<numerics::Word>& dense, numerics::DataType type,
                                        const WeightPattern& weights, const PatternExecution& execution);

}  // namespace sptc::sparsity
