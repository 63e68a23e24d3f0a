// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"
#include "sim/check/vectors/bit_array.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sptc::check::vectors {

/// Operands of independent executions of one instruction, as raw bits. M may be less than the instruction's (rows are
/// independent); K may be any multiple of its depth, executed in increasing k.
struct MmaOperands {
  BitArray a;                                      ///< [case, M, compressed K]; b1: 8 per byte, bit 0 first
  BitArray b;                                      ///< [case, K, N]; b1: [case, K/8, N]
  BitArray c;                                      ///< [case, M, N]
  std::optional<BitArray> indices = std::nullopt;  ///< sparse: [case, M, compressed K], the k that each meets
  /// Sparse tf32: [M, K/2] of each case, where nibbles mix words, which no index says. Else none.
  std::vector<base::Matrix<std::uint8_t>> nibbles = {};
  /// Block-scaled: bytes, [case, M, compressed K / block] with instruction.scales->block.
  std::optional<BitArray> a_scales = std::nullopt;
  std::optional<BitArray> b_scales = std::nullopt;  ///< [case, compressed K / block, N]

  std::size_t cases() const { return a.shape[0]; }
  std::size_t rows() const { return a.shape[1]; }
  std::size_t columns() const { return b.shape[2]; }
};

/// Bytes that one element of `type` takes in such arrays: whole bytes, b1 eight in one.
int element_bytes(numerics::DataType type);

/// Throws InputError, with `what` in front, unless shapes and element sizes are those of `instruction` and indices are
/// inside B.
void require_operands(const MmaOperands& operands, const mma::MmaInstruction& instruction, const std::string& what);

/// One row of A and the column of B that it meets, in the words of the arithmetic.
struct DotOperands {
  std::vector<numerics::Word> a, b;  ///< all but f64
  std::vector<std::uint64_t> a64, b64;
  std::vector<numerics::Word> a_scales, b_scales;
  std::uint64_t c = 0;
};

DotOperands dot_operands(const MmaOperands& operands, const mma::MmaInstruction& instruction, std::size_t index,
                         std::size_t row, std::size_t column);

/// One element of D by the plain arithmetic.
std::uint64_t dot(const DotOperands& operands, const mma::MmaInstruction& instruction, const mma::StepRules& rules);

/// All of D: [case, M, N].
BitArray execute(const MmaOperands& operands, const mma::MmaInstruction& instruction, const mma::StepRules& rules);

}  // namespace sptc::check::vectors
