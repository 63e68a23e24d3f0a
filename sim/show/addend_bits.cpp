// SPDX-License-Identifier: Apache-2.0
#include "sim/show/addend_bits.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

namespace sptc::show {
namespace {

std::string binary(std::uint64_t value, int bits) {
  std::string text;
  for (int bit = bits - 1; bit >= 0; --bit) {
    text += bit < 64 && ((value >> bit) & 1) != 0 ? '1' : '0';
  }
  return text;
}

}  // namespace

BitWindow bit_window(const mma::ElementStep& step, int fraction_bits) {
  constexpr int kProductBits = 2;  // a product of two numbers in [1, 2) is below 4
  BitWindow window;
  window.largest_exponent = step.trace.largest_exponent.value_or(0);
  window.unit_exponent = window.largest_exponent - fraction_bits;
  window.bits = fraction_bits + kProductBits;
  const auto widen = [&window](std::int64_t value) {
    const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::abs(value))));
    window.bits = std::max(window.bits, width);
  };
  widen(step.trace.sum);
  for (const mma::Addend& addend : step.addends) {
    widen(addend.aligned);
  }
  window.point = window.bits - fraction_bits;
  return window;
}

AddendBits addend_bits(const mma::Addend& addend, const BitWindow& window) {
  AddendBits result = sum_bits(addend.aligned, window);
  result.negative = addend.negative;
  const int lost = std::min(window.unit_exponent - addend.unit_exponent, 64 + window.bits);
  if (lost > 0) {
    result.cut = binary(addend.significand, lost);
    result.cut.erase(result.cut.find_last_not_of('0') + 1);
  }
  return result;
}

AddendBits sum_bits(std::int64_t sum, const BitWindow& window) {
  return {sum < 0, binary(static_cast<std::uint64_t>(std::abs(sum)), window.bits), ""};
}

}  // namespace sptc::show
