// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "tests/support/contract_oracle.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sptc::oracle {

// The two published models of mxf4 and mxf4nvf4, in exact integers. They share nothing with
// models/mma and models/numerics but the names of the scales.

/// One element of D: a row of A, what of B it meets, and their scales.
struct ScaledCase {
  std::vector<std::uint32_t> a, b, a_scales, b_scales;
  std::uint32_t c = 0;
};

struct ScaledNumber {
  bool nan = false;
  Integer scaled;    ///< value * 2^kScale
  int exponent = 0;  ///< as encoded
};

inline Integer power(int exponent) {
  return Integer(1) << (exponent + kScale);
}

inline ScaledNumber e2m1(std::uint32_t word) {
  constexpr std::array kHalves{0, 1, 2, 3, 4, 6, 8, 12};
  constexpr std::array kExponents{0, 0, 0, 0, 1, 1, 2, 2};
  const Integer value = kHalves[word & 7] * power(-1);
  return {false, (word & 8) != 0 ? Integer(-value) : value, kExponents[word & 7]};
}

inline ScaledNumber scale(std::uint32_t word, numerics::ScaleType type) {
  if (type == numerics::ScaleType::kUe8m0) {
    const int exponent = static_cast<int>(word) - 127;
    return {word == 0xFF, power(exponent), exponent};
  }
  const int field = static_cast<int>(word >> 3 & 0xF);
  const int mantissa = static_cast<int>(word & 7);
  const int exponent = std::max(field, 1) - 7;
  const int significand = field == 0 ? mantissa : 8 + mantissa;
  return {field == 15 && mantissa == 7, significand * power(exponent - 3), exponent};
}

inline Integer times(const Integer& x, const Integer& y) {
  return (x * y) >> kScale;  // exact: all are multiples of 2^-256
}

/// Cut toward zero to a multiple of 2^exponent, as cpp_int divides.
inline Integer cut(const Integer& value, int exponent) {
  return value / power(exponent) * power(exponent);
}

struct ScaledProducts {
  bool nan = false;
  std::vector<Integer> value;
  std::vector<int> exponent, scale;  ///< of the product with its scales, of the scales alone
};

inline ScaledProducts products_of(const ScaledCase& one, const mma::BlockScales& scales) {
  ScaledProducts result;
  for (std::size_t k = 0; k < one.a.size(); ++k) {
    const std::size_t block = k / static_cast<std::size_t>(scales.block);
    const ScaledNumber x = scale(one.a_scales[block], scales.type);
    const ScaledNumber y = scale(one.b_scales[block], scales.type);
    const ScaledNumber a = e2m1(one.a[k]);
    const ScaledNumber b = e2m1(one.b[k]);
    result.nan = result.nan || x.nan || y.nan;
    result.value.push_back(times(times(a.scaled, b.scaled), times(x.scaled, y.scaled)));
    result.scale.push_back(x.exponent + y.exponent);
    result.exponent.push_back(result.scale.back() + a.exponent + b.exponent);
  }
  return result;
}

struct ScaledSum {
  Integer value;
  std::optional<int> exponent, scale;  ///< largest of the products that are not zero
};

inline ScaledSum sum_of(const ScaledProducts& products, std::size_t begin, std::size_t end) {
  ScaledSum sum;
  for (std::size_t k = begin; k < end; ++k) {
    sum.value += products.value[k];
    if (products.value[k] != 0) {
      sum.exponent = std::max(sum.exponent.value_or(products.exponent[k]), products.exponent[k]);
      sum.scale = std::max(sum.scale.value_or(products.scale[k]), products.scale[k]);
    }
  }
  return sum;
}

inline std::vector<ScaledSum> sums_of(const ScaledProducts& products, std::size_t width) {
  std::vector<ScaledSum> sums;
  for (std::size_t k = 0; k < products.value.size(); k += width) {
    sums.push_back(sum_of(products, k, k + width));
  }
  return sums;
}

inline std::uint32_t to_f32(const Integer& value) {
  return encode(value, {8, 23, 0}, false);
}

/// C + the sums, all cut to multiples of 2^unit.
inline std::uint32_t cut_sum(const std::vector<ScaledSum>& sums, const Integer& c, int unit) {
  Integer total = cut(c, unit);
  for (const ScaledSum& sum : sums) {
    total += cut(sum.value, unit);
  }
  return to_f32(total);
}

/// The result where a scale is NaN, or C is NaN or infinite.
inline std::optional<std::uint32_t> special(const ScaledProducts& products, std::uint32_t c) {
  const Number number = decode(c, {8, 23, 0});
  if (products.nan || number.nan) {
    return 0x7FFFFFFF;
  }
  return number.infinite ? std::optional(c) : std::nullopt;
}

/// The tcgen05 model of sf-tensor: its MODEL.md, section 5.
inline std::uint32_t sf_tensor(const ScaledCase& one, const mma::BlockScales& scales) {
  const ScaledProducts products = products_of(one, scales);
  if (const auto word = special(products, one.c)) {
    return *word;
  }
  const Number c = decode(one.c, {8, 23, 0});
  const ScaledSum all = sum_of(products, 0, products.value.size());
  if (!all.exponent) {
    return to_f32(c.scaled);
  }
  const std::vector<ScaledSum> groups = sums_of(products, 16);
  if (!c.zero() && c.exponent >= *all.exponent) {
    return cut_sum(groups, c.scaled, c.exponent - 35);
  }
  int unit = std::max(*all.exponent - 39, *all.scale - 35);
  unit = c.zero() ? unit : std::max(unit, c.exponent - 39);
  if (scales.type == numerics::ScaleType::kUe4m3) {
    return cut_sum(sums_of(products, 4), c.scaled, unit);
  }
  Integer total = cut(c.scaled, unit);
  Integer without_lost = total;
  for (const ScaledSum& group : groups) {
    const bool below_c = !c.zero() && group.exponent && c.exponent >= *group.exponent;
    const Integer value = cut(group.value, below_c ? std::max(unit, c.exponent - 35) : unit);
    const bool lost = group.scale && *group.scale < *all.scale && abs(value) < power(-174);
    total += value;
    without_lost += lost ? Integer(0) : value;
  }
  const std::uint32_t word = to_f32(total);
  const std::uint32_t magnitude = word & 0x7FFFFFFF;
  return magnitude > 0 && magnitude < 0x00800000 ? to_f32(without_lost) : word;
}

/// MMA-Sim: nv_fused_dot_add_with_block_scale(). Where `all_take_part` is false, groups whose
/// products are all zero, and a C of zero, do not count for the largest exponent.
inline std::uint32_t mma_sim(const ScaledCase& one, const mma::BlockScales& scales, bool all_take_part) {
  constexpr int kZeroExponent = -126;
  const ScaledProducts products = products_of(one, scales);
  if (const auto word = special(products, one.c)) {
    return *word;
  }
  const std::vector<ScaledSum> groups = sums_of(products, 16);
  std::vector<int> exponents;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::size_t block = 16 * g / static_cast<std::size_t>(scales.block);
    const ScaledNumber x = scale(one.a_scales[block], scales.type);
    const ScaledNumber y = scale(one.b_scales[block], scales.type);
    if (all_take_part) {
      exponents.push_back((x.scaled == 0 ? kZeroExponent : x.exponent) + (y.scaled == 0 ? kZeroExponent : y.exponent));
    } else if (groups[g].scale) {
      exponents.push_back(*groups[g].scale);
    }
  }
  const Number c = decode(one.c, {8, 23, 0});
  if (!c.zero() || all_take_part) {
    exponents.push_back(c.zero() ? kZeroExponent : c.exponent);
  }
  if (exponents.empty()) {
    return 0;
  }
  return cut_sum(groups, c.scaled, *std::max_element(exponents.begin(), exponents.end()) - 35);
}

}  // namespace sptc::oracle
