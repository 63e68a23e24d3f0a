// SPDX-License-Identifier: Apache-2.0
// 2:4 sparse products of bytes, for vector targets that permute and multiply bytes (AVX3_DL).

#if defined(SPTC_ENGINE_SPARSE_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPTC_ENGINE_SPARSE_BYTES_INL_H_
#undef SPTC_ENGINE_SPARSE_BYTES_INL_H_
#else
#define SPTC_ENGINE_SPARSE_BYTES_INL_H_
#endif

#include "models/engine/fallback.h"
#include "models/engine/unrolled-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

HWY_BEFORE_NAMESPACE();
namespace sptc::engine::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

namespace hn = hwy::HWY_NAMESPACE;

// An octet is eight logical k of which a row of A keeps four: two groups of 2:4, one of 4:8. Of two
// vectors with four bytes of each column, one permutation makes the vector that the four kept
// elements meet.
inline constexpr std::size_t kOctet = 8;
inline constexpr std::size_t kKeptOfOctet = 4;

using ByteQuads = hn::Vec<hn::ScalableTag<std::int32_t>>;

// Highway's target has both instructions, but before 1.0.5 does not tell GCC so: no intrinsics.

/// Bytes of `low` (indices 0 to 63) and `high` (64 to 127).
HWY_INLINE ByteQuads permute_bytes(ByteQuads low, ByteQuads high, ByteQuads indices) {
  auto raw = low.raw;
  asm("vpermt2b %2, %1, %0" : "+v"(raw) : "v"(indices.raw), "v"(high.raw));
  return ByteQuads{raw};
}

/// sum + the products of the four unsigned and signed bytes of each lane.
HWY_INLINE ByteQuads multiply_add_bytes(ByteQuads as_unsigned, ByteQuads as_signed, ByteQuads sum) {
  auto raw = sum.raw;
  asm("vpdpbusd %2, %1, %0" : "+v"(raw) : "v"(as_unsigned.raw), "v"(as_signed.raw));
  return ByteQuads{raw};
}

/// For each pair of nibbles the indices of the permutation (vpermt2b: bit 6 is the second vector).
struct OctetTable {
  static constexpr std::size_t kBytes = 64;

  explicit OctetTable(const SelectionTable& selection) {
    for (std::size_t key = 0; key < 256; ++key) {
      const auto low = static_cast<std::uint8_t>(key & 15U);
      const auto high = static_cast<std::uint8_t>(key >> 4);
      for (std::size_t slot = 0; slot < kKeptOfOctet; ++slot) {
        const std::size_t k = selection.logical(slot, slot < selection.kept ? low : high);
        for (std::size_t lane = 0; lane < kBytes / 4; ++lane) {
          index[key][4 * lane + slot] =
              static_cast<std::uint8_t>(k / 4 * kBytes + 4 * lane + k % 4);
        }
      }
    }
  }

  alignas(64) std::uint8_t index[256][kBytes];
};

/// The nibbles of octets [first, first + octets) of a row, the first of each in the low bits, to
/// every kStride-th byte of `keys`. A last group without a neighbour has 0 beside it.
template <std::size_t kStride>
HWY_INLINE void octet_keys(std::span<const std::uint8_t> nibbles, std::size_t first,
                           std::size_t octets, std::size_t kept, std::uint8_t* keys) {
  if (kept == kKeptOfOctet) {
    for (std::size_t o = 0; o < octets; ++o) {
      keys[o * kStride] = nibbles[first + o] & 15U;
    }
    return;
  }
  const std::size_t whole = std::min(octets, nibbles.size() / 2 - first);
  const std::uint8_t* pair = nibbles.data() + 2 * first;
  for (std::size_t o = 0; o < whole; ++o) {
    keys[o * kStride] = static_cast<std::uint8_t>((pair[2 * o] & 15U) | pair[2 * o + 1] << 4);
  }
  if (whole < octets) {
    keys[whole * kStride] = pair[2 * whole] & 15U;
  }
}

/// kRows rows against a panel: `a` [octet][row], the four kept bytes of each; `keys` likewise; `b`
/// [2 octet][column], four bytes in k each; `sums` [row][column]. The machine multiplies unsigned
/// bytes by signed ones: kSignedA says which are A's.
template <std::size_t kRows, std::size_t kVectors, bool kSignedA>
HWY_NOINLINE void multiply_octets(const std::int32_t* HWY_RESTRICT a,
                                  const std::uint8_t* HWY_RESTRICT keys, const OctetTable& table,
                                  const std::int32_t* HWY_RESTRICT b, std::size_t octets,
                                  std::int32_t* HWY_RESTRICT sums) {
  const hn::ScalableTag<std::int32_t> di;
  constexpr std::size_t kLanes = hn::MaxLanes(di);
  constexpr std::size_t kColumns = kVectors * kLanes;
  ByteQuads sum[kRows][kVectors];
  const auto each_vector = [](auto body) HWY_ATTR {
    unrolled<kRows>([&](auto r)
                        HWY_ATTR { unrolled<kVectors>([&](auto v) HWY_ATTR { body(r, v); }); });
  };
  each_vector([&](auto r, auto v) HWY_ATTR { sum[r][v] = hn::Zero(di); });
  for (std::size_t o = 0; o < octets; ++o) {
    ByteQuads low[kVectors];
    ByteQuads high[kVectors];
    unrolled<kVectors>([&](auto v) HWY_ATTR {
      low[v] = hn::Load(di, b + 2 * o * kColumns + v * kLanes);
      high[v] = hn::Load(di, b + (2 * o + 1) * kColumns + v * kLanes);
    });
    unrolled<kRows>([&](auto r) HWY_ATTR {
      const ByteQuads row = hn::Set(di, a[o * kRows + r]);
      const auto* index = reinterpret_cast<const std::int32_t*>(table.index[keys[o * kRows + r]]);
      const ByteQuads selection = hn::Load(di, index);
      unrolled<kVectors>([&](auto v) HWY_ATTR {
        const ByteQuads selected = permute_bytes(low[v], high[v], selection);
        sum[r][v] = kSignedA ? multiply_add_bytes(selected, row, sum[r][v])
                             : multiply_add_bytes(row, selected, sum[r][v]);
      });
    });
  }
  each_vector([&](auto r, auto v)
                  HWY_ATTR { hn::Store(sum[r][v], di, sums + r * kColumns + v * kLanes); });
}

#endif  // HWY_TARGET

}  // namespace sptc::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
