// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/type_name.h"

#include "models/base/text.h"

#include <algorithm>
#include <array>
#include <string>

namespace sptc::numerics {
namespace {

struct OtherName {
  std::string_view name;
  DataType type;
};

/// Names of other programs, in small letters.
constexpr std::array kOtherNames{
    OtherName{"fp8", DataType::kE4m3},
    OtherName{"f8", DataType::kE4m3},
    OtherName{"float8", DataType::kE4m3},
    OtherName{"fp8_e4m3", DataType::kE4m3},
    OtherName{"fp8e4m3", DataType::kE4m3},
    OtherName{"f8e4m3", DataType::kE4m3},
    OtherName{"f8_e4m3", DataType::kE4m3},
    OtherName{"float8_e4m3", DataType::kE4m3},
    OtherName{"float8_e4m3fn", DataType::kE4m3},
    OtherName{"fp8_e5m2", DataType::kE5m2},
    OtherName{"fp8e5m2", DataType::kE5m2},
    OtherName{"f8e5m2", DataType::kE5m2},
    OtherName{"f8_e5m2", DataType::kE5m2},
    OtherName{"float8_e5m2", DataType::kE5m2},
    OtherName{"fp16", DataType::kF16},
    OtherName{"half", DataType::kF16},
    OtherName{"float16", DataType::kF16},
    OtherName{"bfloat16", DataType::kBf16},
    OtherName{"int8", DataType::kS8},
    OtherName{"i8", DataType::kS8},
    OtherName{"int4", DataType::kS4},
    OtherName{"i4", DataType::kS4},
    OtherName{"uint8", DataType::kU8},
    OtherName{"int32", DataType::kS32},
    OtherName{"i32", DataType::kS32},
    OtherName{"fp32", DataType::kF32},
    OtherName{"float32", DataType::kF32},
    OtherName{"float", DataType::kF32},
    OtherName{"single", DataType::kF32},
    OtherName{"fp64", DataType::kF64},
    OtherName{"float64", DataType::kF64},
    OtherName{"double", DataType::kF64},
};

}  // namespace

std::optional<DataType> parse_usual_type(std::string_view name) {
  const std::string lower = base::lower_case(name);
  const auto other = std::find_if(kOtherNames.begin(), kOtherNames.end(),
                                  [&](const OtherName& row) { return row.name == lower; });
  return other == kOtherNames.end() ? parse_data_type(lower) : std::optional(other->type);
}

}  // namespace sptc::numerics
