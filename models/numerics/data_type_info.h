// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "models/numerics/float_format.h"

#include <optional>
#include <string_view>

namespace sptc::numerics {

/// One row of the table of types.
struct DataTypeInfo {
  DataType type;
  std::string_view name;              ///< PTX name: f16, e4m3, s8, ...
  int storage_bits;                   ///< bits of one element
  std::optional<FloatFormat> format;  ///< nothing for integers
  bool is_signed = true;              ///< of integers

  bool is_float() const { return format.has_value(); }
};

const DataTypeInfo& info(DataType type);

}  // namespace sptc::numerics
