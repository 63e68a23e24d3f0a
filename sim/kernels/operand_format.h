// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <compare>
#include <optional>
#include <span>
#include <string_view>

namespace sptc::kernels {

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
