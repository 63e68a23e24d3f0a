// SPDX-License-Identifier: Apache-2.0
#include "models/mma/f64_dot.h"

#include "models/base/error.h"

#include <bit>
#include <cmath>

namespace sptc::mma {

std::uint64_t f64_dot(std::span<const std::uint64_t> a_row, std::span<const std::uint64_t> b_column,
                      std::uint64_t c) {
  base::ensure(a_row.size() == b_column.size(), "f64_dot: row and column differ in length");
  constexpr std::uint64_t kCanonicalNan = 0x7FFF'FFFF'FFFF'FFFF;
  auto sum = std::bit_cast<double>(c);
  for (std::size_t k = 0; k < a_row.size(); ++k) {
    sum = std::fma(std::bit_cast<double>(a_row[k]), std::bit_cast<double>(b_column[k]), sum);
  }
  return std::isnan(sum) ? kCanonicalNan : std::bit_cast<std::uint64_t>(sum);
}

}  // namespace sptc::mma
