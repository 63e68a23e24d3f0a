// SPDX-License-Identifier: Apache-2.0
// 2:4 sparse products of bytes, for vector targets that permute and multiply bytes (AVX3_DL).

#if defined(SPTC_ENGINE_SPARSE_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPTC_ENGINE_SPARSE_BYTES_INL_H_
#undef SPTC_ENGINE_SPARSE_BYTES_INL_H_
#else
#define SPTC_ENGINE_SPARSE_BYTES_INL_H_
#endif

#include "models/batched/unrolled-inl.h"
#include "models/sparsity/compress.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

namespace hn = hwy::HWY_NAMESPACE;

// An octet is eight logical k of which a row of A keeps four: two groups of 2:4, one of 4:8. A lane
// is a row: one shuffle of an octet of a column, the same in every pair of lanes, makes the vector
// that the four kept elements of sixteen rows meet.
inline constexpr std::size_t kOctet = 8;
inline constexpr std::size_t kKeptOfOctet = 4;

using ByteQuads = hn::Vec<hn::ScalableTag<std::int32_t>>;

/// sum + the products of the four unsigned and signed bytes of each lane.
HWY_INLINE ByteQuads multiply_add_bytes(ByteQuads as_unsigned, ByteQuads as_signed, ByteQuads sum) {
  // Highway's target has VNNI, but before 1.0.5 does not tell GCC so: no intrinsic.
  auto raw = sum.raw;
  asm("vpdpbusd %2, %1, %0" : "+v"(raw) : "v"(as_unsigned.raw), "v"(as_signed.raw));
  return ByteQuads{raw};
}

/// The bytes of an octet that each pair of nibbles selects.
struct OctetTable {
  explicit OctetTable(const sparsity::SelectionTable& selection) {
    for (std::uint32_t key = 0; key < 256; ++key) {
      const auto low = static_cast<std::uint8_t>(key & 15U);
      const auto high = static_cast<std::uint8_t>(key >> 4);
      for (std::size_t slot = 0; slot < kKeptOfOctet; ++slot) {
        const std::size_t k = selection.logical(slot, slot < selection.kept ? low : high);
        bytes[key] |= static_cast<std::int32_t>(k << (8 * slot));
      }
    }
  }

  std::int32_t bytes[256] = {};
};

/// What the nibbles of octets [first, first + octets) of a row select, to every kStride-th element
/// of `selected`. A last group without a neighbour has nibble 0 beside it.
template <std::size_t kStride>
HWY_INLINE void select_of_octets(std::span<const std::uint8_t> nibbles, std::size_t first, std::size_t octets,
                                 std::size_t kept, const OctetTable& table, std::int32_t* selected) {
  if (kept == kKeptOfOctet) {
    for (std::size_t o = 0; o < octets; ++o) {
      selected[o * kStride] = table.bytes[nibbles[first + o] & 15U];
    }
    return;
  }
  const std::size_t whole = std::min(octets, nibbles.size() / 2 - first);
  const std::uint8_t* pair = nibbles.data() + 2 * first;
  for (std::size_t o = 0; o < whole; ++o) {
    selected[o * kStride] = table.bytes[(pair[2 * o] & 15U) | (pair[2 * o + 1] & 15U) << 4];
  }
  if (whole < octets) {
    selected[whole * kStride] = table.bytes[pair[2 * whole] & 15U];
  }
}

/// kVectors vectors of rows against kColumns columns: `a` [octet][row], the four kept bytes of
/// each; `selected` likewise, which bytes of the octet they meet; `b` [octet][column], eight bytes
/// in k each; `sums` [column][row]. The machine multiplies unsigned bytes by signed ones: kSignedA
/// says which are A's.
template <std::size_t kVectors, std::size_t kColumns, bool kSignedA>
HWY_NOINLINE void multiply_octets(const std::int32_t* HWY_RESTRICT a, const std::int32_t* HWY_RESTRICT selected,
                                  const std::uint64_t* HWY_RESTRICT b, std::size_t octets,
                                  std::int32_t* HWY_RESTRICT sums) {
  const hn::ScalableTag<std::int32_t> di;
  const hn::Repartition<std::uint64_t, decltype(di)> d64;
  const hn::Repartition<std::uint8_t, decltype(di)> d8;
  constexpr std::size_t kLanes = hn::MaxLanes(di);
  constexpr std::size_t kRows = kVectors * kLanes;
  ByteQuads sum[kColumns][kVectors];
  const auto each_sum = [](auto body) HWY_ATTR {
    unrolled<kColumns>([&](auto c) HWY_ATTR { unrolled<kVectors>([&](auto v) HWY_ATTR { body(c, v); }); });
  };
  each_sum([&](auto c, auto v) HWY_ATTR { sum[c][v] = hn::Zero(di); });
  for (std::size_t o = 0; o < octets; ++o) {
    ByteQuads row[kVectors];
    ByteQuads index[kVectors];
    unrolled<kVectors>([&](auto v) HWY_ATTR {
      row[v] = hn::Load(di, a + o * kRows + v * kLanes);
      index[v] = hn::Load(di, selected + o * kRows + v * kLanes);
    });
    unrolled<kColumns>([&](auto c) HWY_ATTR {
      const auto octet = hn::BitCast(d8, hn::Set(d64, b[o * kColumns + c]));
      unrolled<kVectors>([&](auto v) HWY_ATTR {
        const ByteQuads met = hn::BitCast(di, hn::TableLookupBytes(octet, hn::BitCast(d8, index[v])));
        sum[c][v] = kSignedA ? multiply_add_bytes(met, row[v], sum[c][v]) : multiply_add_bytes(row[v], met, sum[c][v]);
      });
    });
  }
  each_sum([&](auto c, auto v) HWY_ATTR { hn::Store(sum[c][v], di, sums + c * kRows + v * kLanes); });
}

/// Four columns of `sums`, kStride apart, sixteen rows each, as rows: row 4 b + i is block b of
/// rows[i].
template <std::size_t kStride>
HWY_INLINE void transpose_four(const std::int32_t* sums, ByteQuads* rows) {
  const hn::ScalableTag<std::int32_t> di;
  const hn::Repartition<std::int64_t, decltype(di)> d64;
  const auto pairs = [&](std::size_t c, bool upper) HWY_ATTR {
    const ByteQuads first = hn::Load(di, sums + c * kStride);
    const ByteQuads second = hn::Load(di, sums + (c + 1) * kStride);
    return hn::BitCast(d64, upper ? hn::InterleaveUpper(di, first, second) : hn::InterleaveLower(di, first, second));
  };
  for (std::size_t half = 0; half < 2; ++half) {
    const auto left = pairs(0, half != 0);
    const auto right = pairs(2, half != 0);
    rows[2 * half] = hn::BitCast(di, hn::InterleaveLower(d64, left, right));
    rows[2 * half + 1] = hn::BitCast(di, hn::InterleaveUpper(d64, left, right));
  }
}

#endif  // HWY_TARGET

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
