// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/instruction.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "sim/compare/vectors/metadata_input.h"
#include "sim/compare/vectors/mma_batch.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sptc::show {

/// The operands of one instruction.
struct ShownOperands {
  std::string source;                     ///< in words: "random, seed 1"
  base::Matrix<numerics::Word> a;         ///< [M, K]; sparse: before pruning, or empty
  sparsity::CompressedMatrix compressed;  ///< sparse only
  base::Matrix<numerics::Word> b;         ///< [K, N]
  base::Matrix<numerics::Word> c;         ///< [M, N]
};

/// Seeded values of --data ("random", ..), A pruned by magnitude where the instruction is sparse. C
/// is of the same kind as A. Throws InputError.
ShownOperands generated_operands(const mma::MmaInstruction& instruction, const std::string& data,
                                 std::uint64_t seed);

/// Case `index` of arrays as `mma` takes them. A sparse A with `metadata` is [M, K/2], without it
/// [M, K] and pruned by magnitude. An empty C is zeros, and so are rows that A and C lack. Throws
/// InputError where the arrays do not hold operands of one instruction.
ShownOperands file_operands(const mma::MmaInstruction& instruction,
                            const compare::vectors::MmaOperands& arrays,
                            const std::optional<compare::vectors::MetadataInput>& metadata,
                            std::size_t index);

}  // namespace sptc::show
