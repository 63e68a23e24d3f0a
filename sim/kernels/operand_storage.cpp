// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/operand_storage.h"

#include "models/base/text.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sptc::kernels {
namespace {

using numerics::DataType;

// Counted from the routines of Marlin (IST-DASLab/marlin, dequant(); vLLM, marlin/dequant.h,
// recalled): of four 4-bit integers two lop3, a subtraction, and a fused multiply-add of pairs, and
// a shift for every other four; of four bytes two permutations and two subtractions of pairs of
// f16, or of bf16 ten instructions through f32. A scale is a multiplication of pairs.
constexpr double kOfFourBits = 9.0 / 8;
constexpr double kOfByteToF16 = 1;
constexpr double kOfByteToBf16 = 2.5;
constexpr double kOfScale = 0.5;

constexpr std::array<std::string_view, 6> kNames{"nvfp4", "mxfp8", "mxfp4", "fp4", "mxfp8_e5m2", "mxfp8_e4m3"};
constexpr std::array<OperandFormat, kNames.size()> kFormats{{{DataType::kE2m1, 16},
                                                             {DataType::kE4m3, 32},
                                                             {DataType::kE2m1, 32},
                                                             {DataType::kE2m1, 16},
                                                             {DataType::kE5m2, 32},
                                                             {DataType::kE4m3, 32}}};
constexpr std::size_t kAskedFor = 3;

constexpr std::array<std::string_view, 2> kWeightNames{"w4a16", "w8a16"};
constexpr std::array<OperandFormat, kWeightNames.size()> kWeightFormats{
    {{DataType::kBf16, 128, DataType::kS4}, {DataType::kBf16, 0, DataType::kS8}}};

template <std::size_t kCount>
std::optional<OperandFormat> called(std::string_view name, const std::array<std::string_view, kCount>& names,
                                    const std::array<OperandFormat, kCount>& formats) {
  const auto* const found = std::ranges::find(names, base::lower_case(name));
  return found == names.end() ? std::nullopt : std::optional(formats[static_cast<std::size_t>(found - names.begin())]);
}

}  // namespace

std::optional<OperandFormat> parse_operand_format(std::string_view name) {
  if (const auto format = called(name, kNames, kFormats)) {
    return format;
  }
  const std::optional<DataType> type = numerics::parse_usual_type(name);
  return type ? std::optional(OperandFormat{*type}) : std::nullopt;
}

std::optional<OperandFormat> parse_weight_format(std::string_view name) {
  return called(name, kWeightNames, kWeightFormats);
}

std::span<const std::string_view> weight_format_names() {
  return kWeightNames;
}

std::span<const std::string_view> block_format_names() {
  return std::span(kNames).first(kAskedFor);
}

std::string_view name(const OperandFormat& format) {
  if (format.weight) {
    const auto* const found = std::ranges::find(kWeightFormats, format);
    return found == kWeightFormats.end() ? numerics::name(format.type)
                                         : kWeightNames[static_cast<std::size_t>(found - kWeightFormats.begin())];
  }
  const auto* const found = std::ranges::find(kFormats, format);
  return found == kFormats.end() ? numerics::name(format.type)
                                 : kNames[static_cast<std::size_t>(found - kFormats.begin())];
}

bool is_block_format(const OperandFormat& format) {
  return std::ranges::find(kFormats, format) != kFormats.end();
}

double OperandStorage::dequantise_operations(DataType operand) const {
  if (!weight) {
    return 0;
  }
  const double conversion = *weight == DataType::kS4    ? kOfFourBits
                            : operand == DataType::kF16 ? kOfByteToF16
                                                        : kOfByteToBf16;
  return conversion + (scale_block > 0 ? kOfScale : 0);
}

const char* impossible_storage(const OperandStorage& storage, DataType operand) {
  if (storage.weight) {
    const bool possible = operand == DataType::kF16 || operand == DataType::kBf16;
    return possible ? "" : "a quantised weight is multiplied as f16 or bf16";
  }
  if (is_block_format({operand, storage.scale_block}) || (storage.scale_block == 0 && operand != DataType::kE2m1)) {
    return "";
  }
  return operand == DataType::kE2m1 ? "e2m1 needs a scale for each 16 elements (nvfp4) or 32 (mxfp4): --dtype nvfp4 or "
                                      "mxfp4, or scale_block 16 or 32 in a workload"
                                    : "blocks have scales where a weight is quantised, of 32 elements of e4m3 or e5m2 "
                                      "(mxfp8), and of 16 (nvfp4) or 32 (mxfp4) of e2m1";
}

}  // namespace sptc::kernels
