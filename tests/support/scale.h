// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace sptc::support {

/// Multiplies a number of an architecture; whole ones are rounded and stay positive.
template <typename Number>
void scale(Number& number, double factor) {
  const double scaled = static_cast<double>(number) * factor;
  number = static_cast<Number>(std::is_integral_v<Number> ? std::max(1.0, std::round(scaled)) : scaled);
}

inline void scale(base::Bytes& bytes, double factor) {
  bytes = base::Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.count()) * factor));
}

}  // namespace sptc::support
