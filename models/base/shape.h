// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace sptc::base {

/// Extents of D[m,n] = A[m,k] B[k,n] + C[m,n], as in BLAS. k is always the logical depth: for a 2:4
/// matrix A it counts the zeros that are skipped.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  auto operator<=>(const GemmShape&) const = default;

  /// Multiply-accumulates of one GEMM, zeros included (m*n*k).
  std::int64_t macs() const { return m * n * k; }
};

/// a*b, or nothing where the product does not fit 64 bits.
inline std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return std::nullopt;
  }
  return product;
}

inline double product(std::initializer_list<std::int64_t> factors) {
  double result = 1;
  for (const std::int64_t factor : factors) {
    result *= static_cast<double>(factor);
  }
  return result;
}

/// Smallest integer that is not below numerator/denominator; numerator >= 0, denominator > 0. Never
/// overflows.
constexpr std::int64_t ceil_div(std::int64_t numerator, std::int64_t denominator) {
  return numerator / denominator + (numerator % denominator != 0 ? 1 : 0);
}

/// `value` rounded up to a multiple of `multiple`.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_div(value, multiple) * multiple;
}

}  // namespace sptc::base
