// SPDX-License-Identifier: Apache-2.0
#include "models/mma/f64_dot.h"

#include "models/base/error.h"

#include <bit>
#include <cmath>
#include <initializer_list>

namespace sptc::mma {
namespace {

std::uint64_t fused_multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  constexpr std::uint64_t kQuietBit = std::uint64_t{1} << 51;
  constexpr std::uint64_t kInvalid = 0xFFF8'0000'0000'0000;
  const double sum =
      std::fma(std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c));
  if (!std::isnan(sum)) {
    return std::bit_cast<std::uint64_t>(sum);
  }
  for (const std::uint64_t operand : {b, c, a}) {
    if (std::isnan(std::bit_cast<double>(operand))) {
      return operand | kQuietBit;
    }
  }
  return kInvalid;
}

}  // namespace

std::uint64_t f64_dot(std::span<const std::uint64_t> a_row, std::span<const std::uint64_t> b_column,
                      std::uint64_t c) {
  base::ensure(a_row.size() == b_column.size(), "f64_dot: row and column differ in length");
  for (std::size_t k = 0; k < a_row.size(); ++k) {
    c = fused_multiply_add(a_row[k], b_column[k], c);
  }
  return c;
}

}  // namespace sptc::mma
