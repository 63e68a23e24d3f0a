// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/word.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sptc::batched {

/// Operands of independent executions of one instruction, D = A B + C for each case, storage words
/// in contiguous arrays that outlive the call.
struct MmaBatch {
  std::size_t cases = 0;
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;                       ///< rows of B
  std::size_t depth = 0;                   ///< elements of a row of A as stored; dense: k
  std::span<const numerics::Word> a;       ///< [case, m, depth]
  std::span<const numerics::Word> b;       ///< [case, k, n]
  std::span<const numerics::Word> c = {};  ///< [case, m, n]; nothing: +0
  /// [case, m, depth]: sparse, the row of B that each element of A meets. Nothing: dense.
  std::span<const std::uint32_t> indices = {};
};

/// D [case, m, n] of all cases into `d`, on `threads` threads of the host: steps in increasing k, a
/// last step that is not full padded with zeros. Bit-identical to mma::dense_dot of every element
/// (sparse: over the elements of B that `indices` select, which is mma::sparse_dot of valid
/// metadata); for matrices as small as those of an instruction much quicker than a call of gemm()
/// each. Not for f64 and block-scaled instructions.
///
/// Throws InputError where extents do not fit together, an index is outside B, or threads < 1.
void mma_batch(const mma::MmaInstruction& instruction, const mma::StepRules& rules,
               const MmaBatch& batch, std::span<numerics::Word> d, int threads = 1);

}  // namespace sptc::batched
