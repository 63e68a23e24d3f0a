// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace sptc::base {

/// Divides whole numbers by one that stays the same: multiplies by its reciprocal, several times
/// faster than the instruction that divides 64 bits.
class Divisor {
 public:
  explicit constexpr Divisor(std::uint64_t divisor)
      : divisor_(divisor), reciprocal_(std::numeric_limits<std::uint64_t>::max() / divisor) {}

  constexpr std::uint64_t value() const { return divisor_; }

  constexpr std::uint64_t quotient(std::uint64_t number) const {
    // The reciprocal is rounded down by less than 2^-64: the quotient is too small by at most one.
    const std::uint64_t about = high_half(number, reciprocal_);
    return number - about * divisor_ >= divisor_ ? about + 1 : about;
  }

  constexpr std::uint64_t remainder(std::uint64_t number) const {
    const std::uint64_t rest = number - high_half(number, reciprocal_) * divisor_;
    return rest >= divisor_ ? rest - divisor_ : rest;
  }

 private:
  static constexpr std::uint64_t high_half(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>((static_cast<__uint128_t>(a) * b) >> 64);
  }

  std::uint64_t divisor_, reciprocal_;
};

}  // namespace sptc::base
