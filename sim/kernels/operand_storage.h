// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <compare>
#include <cstdint>
#include <optional>

namespace sptc::kernels {

/// How the operands of a GEMM lie in memory, where that is not as they are multiplied.
struct OperandStorage {
  /// Type of A in memory: its kernel turns it into the operand type in registers (weight-only
  /// quantisation). Nothing: A lies there as it is multiplied.
  std::optional<numerics::DataType> weight = std::nullopt;
  /// Elements along K that share a scale: one of 16 bits of such a weight, one of 8 bits for A and
  /// for B of block-scaled types. 0: none.
  int scale_block = 0;

  bool block_scaled() const { return !weight && scale_block > 0; }
  /// Elements along K that share a scale of a block-scaled type; 0: no such type.
  int operand_block() const { return block_scaled() ? scale_block : 0; }
  bool plain() const { return !weight && scale_block == 0; }
  int a_bits(int operand_bits) const { return weight ? numerics::storage_bits(*weight) : operand_bits; }
  std::int64_t scale_bits(bool of_a, std::int64_t elements) const {
    constexpr int kOfWeight = 16, kOfBlock = 8;
    const int bits = weight ? (of_a ? kOfWeight : 0) : kOfBlock;
    return scale_block == 0 ? 0 : elements * bits / scale_block;
  }
  /// Instructions of a lane that turn an element of A into `operand`.
  double dequantise_operations(numerics::DataType operand) const;

  auto operator<=>(const OperandStorage&) const = default;
};

/// What `operand` allows, as a sentence; empty: `storage` is possible.
const char* impossible_storage(const OperandStorage& storage, numerics::DataType operand);

}  // namespace sptc::kernels
