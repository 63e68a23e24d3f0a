// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace sptc::base {

/// 64 well-mixed bits from 64 bits (the finaliser of SplitMix64, Steele, Lea and Flood, OOPSLA
/// 2014).
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// A random function of an index: element i of a stream costs the same whichever i is asked for and
/// in whichever order, so a sample of a huge operand needs no more memory than the sample. Integer
/// arithmetic only, therefore the same on every platform.
class RandomStream {
 public:
  /// Mixed twice: with the key mix_bits(seed), element i of stream s would equal element s of
  /// stream i.
  constexpr explicit RandomStream(std::uint64_t seed) : key_(mix_bits(mix_bits(seed))) {}

  /// An independent stream named by `label`.
  constexpr RandomStream fork(std::string_view label) const {
    std::uint64_t key = key_;
    for (const char c : label) {
      key = mix_bits(key ^ static_cast<unsigned char>(c));
    }
    return RandomStream(key);
  }

  /// 64 uniform bits.
  constexpr std::uint64_t bits(std::uint64_t index) const { return mix_bits(key_ ^ mix_bits(index)); }

  /// Uniform in [0, bound); bound > 0 and far below 2^32, so the bias of the multiply-shift is
  /// negligible.
  constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    return ((bits(index) >> 32) * bound) >> 32;
  }

  /// Approximately N(0,1): the sum of twelve uniforms of 16 bits, less six (Irwin-Hall). Exact in
  /// double, |x| < 6.
  constexpr double normal(std::uint64_t index) const {
    std::int64_t sum = 0;
    for (std::uint64_t word = 0; word < 3; ++word) {
      std::uint64_t random = bits(index * 3 + word);
      for (int part = 0; part < 4; ++part) {
        sum += static_cast<std::int64_t>(random & 0xFFFF);
        random >>= 16;
      }
    }
    // Twelve uniforms on {0..65535}/65536 have mean 12*(1/2 - 2^-17) and variance 12*(1/12)(1 -
    // 2^-32).
    return static_cast<double>(2 * sum - 12 * 65535) / 131072.0;
  }

 private:
  std::uint64_t key_;
};

}  // namespace sptc::base
