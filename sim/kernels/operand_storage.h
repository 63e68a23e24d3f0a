// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

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

/// What a word such as "nvfp4" says of the operands of a GEMM: their type, and how many elements
/// along K share a scale.
struct OperandFormat {
  numerics::DataType type = numerics::DataType::kF16;
  int scale_block = 0;  ///< 0: the word says none
  /// The type of the weights in memory of a word such as "w4a16": these alone have the scales.
  std::optional<numerics::DataType> weight = std::nullopt;

  auto operator<=>(const OperandFormat&) const = default;
};

/// The format called `name`, in any case: nvfp4 or fp4 (e2m1, a scale for each 16 elements), mxfp4
/// (e2m1, 32), mxfp8 (e4m3, 32), mxfp8_e5m2, and all types by their names of
/// numerics::parse_usual_type(). Nothing where it is none.
std::optional<OperandFormat> parse_operand_format(std::string_view name);

/// The formats with scales, those first that people ask for most.
std::span<const std::string_view> block_format_names();

/// The format called `name`, in any case, whose weights alone are quantised, and multiplied as
/// bf16: w4a16 (s4, a scale for each 128 elements, as GPTQ and AWQ have them) and w8a16 (s8, a
/// scale for each row). Nothing where it is none.
std::optional<OperandFormat> parse_weight_format(std::string_view name);
std::span<const std::string_view> weight_format_names();

/// "nvfp4", "w4a16", or the name of the type where no format has such blocks or such weights.
std::string_view name(const OperandFormat& format);

/// Whether a format has elements of that type in such blocks.
bool is_block_format(const OperandFormat& format);

}  // namespace sptc::kernels
