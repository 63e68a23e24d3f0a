// SPDX-License-Identifier: Apache-2.0
// Packing of operands for the float kernel, compiled once per vector target (Highway).

#if defined(SPTC_ENGINE_PACKING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPTC_ENGINE_PACKING_INL_H_
#undef SPTC_ENGINE_PACKING_INL_H_
#else
#define SPTC_ENGINE_PACKING_INL_H_
#endif

#include "models/batched/lowered_operand.h"
#include "models/batched/prefetch.h"
#include "models/batched/window.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/compress.h"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {

inline constexpr std::size_t kBlockDepth = 128;  // elements of a row of A in one block, at most

inline constexpr std::size_t kPadding = HWY_MAX_BYTES / sizeof(float);  // whole vectors are stored

/// Elements of one row or column: exact values, exponents as bytes, and whether all are finite and
/// inside the window.
struct DecodedRun {
  float value[2 * kBlockDepth + kPadding];
  std::uint8_t exponent[2 * kBlockDepth + kPadding];
  bool safe;
  bool has_nan;
};

/// What decoding needs to know of a format.
struct Decoding {
  explicit Decoding(const numerics::FloatFormat& format)
      : drop(format.discarded_low_bits),
        mantissa_bits(format.mantissa_bits),
        magnitude_bits(format.mantissa_bits + format.exponent_bits),
        bias(format.bias()),
        rescale(std::ldexp(1.0F, 127 - format.bias())) {
    const std::uint32_t all = (1U << magnitude_bits) - 1;
    switch (format.special) {
      case numerics::SpecialEncoding::kIeee:
        first_special = ((1U << format.exponent_bits) - 1) << mantissa_bits;
        first_nan = first_special + 1;
        break;
      case numerics::SpecialEncoding::kNanOnly:
        first_special = all;
        first_nan = all;
        break;
      default:
        first_special = all + 1;
        first_nan = all + 1;
    }
  }

  int drop;
  int mantissa_bits;
  int magnitude_bits;
  int bias;
  float rescale;                // 2^(127 - bias): reads the magnitude bits as a float with the wrong bias
  std::uint32_t first_special;  // magnitudes from here on are not finite
  std::uint32_t first_nan;
};

// Rows and columns differ only in how the exponent becomes a byte. Writes whole vectors.
template <bool kIsColumn>
HWY_NOINLINE void decode_run(const numerics::Word* words, std::size_t count, const Decoding& format, DecodedRun& run) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<std::uint8_t, decltype(df)> db;
  const std::size_t lanes = hn::Lanes(df);
  const auto magnitude_mask = hn::Set(du, (1U << format.magnitude_bits) - 1);
  const auto last_finite = hn::Set(di, static_cast<std::int32_t>(format.first_special) - 1);
  const auto rescale = hn::Set(df, format.rescale);
  const auto bias = hn::Set(di, format.bias);
  const auto one = hn::Set(di, 1);
  const auto offset = hn::Set(di, kIsColumn ? kByteOffset - 127 : kByteOffset);
  const auto zero_byte = hn::Set(du, kIsColumn ? kColumnZeroByte : kRowZeroByte);
  const auto lowest = hn::Set(di, kMinOperandExponent);
  const auto highest = hn::Set(di, kMaxOperandExponent);
  auto unsafe = hn::Zero(du);
  auto largest = hn::Zero(du);
  numerics::Word tail[HWY_MAX_BYTES / sizeof(numerics::Word)] = {};
  for (std::size_t i = 0; i < count; i += lanes) {
    const numerics::Word* source = words + i;
    if (count - i < lanes) {
      std::copy(source, words + count, tail);
      source = tail;
    }
    const auto word = hn::ShiftRightSame(hn::LoadU(du, source), format.drop);
    const auto magnitude = hn::And(word, magnitude_mask);
    largest = hn::Max(largest, magnitude);
    const auto sign = hn::ShiftLeft<31>(hn::ShiftRightSame(word, format.magnitude_bits));
    const auto field = hn::BitCast(di, hn::ShiftRightSame(magnitude, format.mantissa_bits));
    const auto exponent = hn::Max(field, one) - bias;
    const auto absolute = hn::BitCast(df, hn::ShiftLeftSame(magnitude, 23 - format.mantissa_bits)) * rescale;
    hn::StoreU(hn::BitCast(df, hn::Or(hn::BitCast(du, absolute), sign)), df, run.value + i);
    const auto byte = hn::BitCast(du, kIsColumn ? offset - exponent : offset + exponent);
    const auto is_zero = magnitude == hn::Zero(du);
    const auto kept = hn::And(hn::IfThenElse(is_zero, zero_byte, byte), hn::Set(du, 0xFF));
    hn::StoreU(hn::U8FromU32(kept), db, run.exponent + i);
    const auto outside = hn::Or(hn::VecFromMask(di, exponent < lowest), hn::VecFromMask(di, exponent > highest));
    const auto special = hn::VecFromMask(di, hn::BitCast(di, magnitude) > last_finite);
    unsafe = hn::Or(unsafe, hn::IfThenZeroElse(is_zero, hn::BitCast(du, hn::Or(outside, special))));
  }
  const auto last_number = hn::Set(du, format.first_nan - 1);
  run.safe = hn::AllTrue(du, unsafe == hn::Zero(du));
  run.has_nan = !hn::AllTrue(du, hn::Max(largest, last_number) == last_number);
}

/// A row of A ready for the kernel. `exponent` holds the byte four times, `offset` where the row of
/// B stands that element t meets (sparse only).
struct PackedRow {
  float value[kBlockDepth];
  std::uint32_t exponent[kBlockDepth];
  std::uint32_t offset[kBlockDepth];
  bool safe;
  bool has_nan;
  bool wide;  // sums may leave 32 bits
};

// The largest sum of the significands of one step: bounds the sum of its products.
inline float largest_step_sum(const PackedRow& row, std::size_t depth, std::size_t step) {
  float largest = 0;
  for (std::size_t t = 0; t < depth; t += step) {
    float sum = 0;
    for (std::size_t i = t; i < t + step; ++i) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(row.value[i]);
      sum += row.exponent[i] == 0 ? 0.0F : std::bit_cast<float>((bits & 0x7FFFFFU) | 0x3F800000U);
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Packs `count` elements of a row and fills up to `depth`, a multiple of the step, with
/// zeros. `lowered`: of f16 steps that stand for fp8 instructions, or null.
inline void pack_row(const numerics::Word* words, std::size_t count, std::size_t depth, const Decoding& format,
                     const LoweredOperand* lowered, PackedRow& packed) {
  DecodedRun run;
  numerics::Word arranged[kBlockDepth];
  if (lowered != nullptr) {
    lowered->arrange(words, count, depth, arranged);
    words = arranged;
    count = depth;
  }
  decode_run<false>(words, count, format, run);
  for (std::size_t i = 0; i < count; ++i) {
    packed.value[i] = run.value[i];
    packed.exponent[i] = run.exponent[i] * 0x01010101U;
  }
  for (std::size_t i = count; i < depth; ++i) {
    packed.value[i] = 0;
    packed.exponent[i] = kRowZeroByte;
  }
  packed.safe = run.safe;
  packed.has_nan = run.has_nan;
}

inline void pack_offsets(const std::uint8_t* nibbles, std::size_t begin, std::size_t end, std::size_t depth,
                         const sparsity::SelectionTable& table, std::size_t first_logical, std::size_t columns,
                         const LoweredOperand* lowered, PackedRow& packed) {
  std::size_t first_row = begin / table.kept * table.group - first_logical;
  for (std::size_t t = begin; t < end; t += table.kept) {
    const std::uint8_t* position = table.position[nibbles[t / table.kept] & 15U];
    for (std::size_t slot = 0; slot < table.kept; ++slot) {
      packed.offset[t - begin + slot] = static_cast<std::uint32_t>((first_row + position[slot]) * columns);
    }
    first_row += table.group;
  }
  std::fill(packed.offset + (end - begin), packed.offset + depth, 0U);
  if (lowered != nullptr) {
    std::uint32_t arranged[kBlockDepth] = {};
    for (std::size_t t = 0; t < end - begin; ++t) {
      arranged[lowered->place(t)] = packed.offset[t];
    }
    std::copy_n(arranged, depth, packed.offset);
  }
}

/// A panel of B: `kColumns` columns side by side, k downward. A column is a lane of one of four
/// vectors; the exponent bytes of the four columns of a lane stand in one 32-bit word.
template <std::size_t kColumns>
struct PackedPanel {
  alignas(64) float value[2 * kBlockDepth * kColumns];
  alignas(64) std::uint8_t exponent[2 * kBlockDepth * kColumns];
  alignas(64) std::uint32_t unsafe[kColumns];  // all ones where the lane must not be trusted
  bool has_nan[kColumns];
};

/// `lowered`: as in pack_row. It stands in the order of the steps, as the rows of A do, or in that of
/// memory, where sparse rows find it by their offsets.
template <std::size_t kColumns>
HWY_NOINLINE void pack_panel(const numerics::OperandView& b_columns, std::size_t first_column, std::size_t begin,
                             std::size_t end, std::size_t depth, const Decoding& format, const LoweredOperand* lowered,
                             bool in_order_of_steps, PackedPanel<kColumns>& panel) {
  constexpr std::size_t kLanes = kColumns / 4;
  const std::size_t count = lowered != nullptr ? depth : end - begin;
  const std::size_t columns = std::min(kColumns, b_columns.rows() - first_column);
  if (columns < kColumns) {
    std::memset(panel.value, 0, depth * kColumns * sizeof(float));
    std::memset(panel.exponent, kColumnZeroByte, depth * kColumns);
    std::memset(panel.unsafe, 0, sizeof(panel.unsafe));
  }
  DecodedRun run;
  numerics::Word buffer[2 * kBlockDepth];
  numerics::Word f16[2 * kBlockDepth];
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t byte = j % kLanes * 4 + j / kLanes;
    prefetch_elements(b_columns, first_column + j + kPrefetchRows, begin, end);
    const numerics::Word* words = b_columns.words(first_column + j, begin, end, buffer);
    if (lowered != nullptr) {
      in_order_of_steps ? lowered->arrange(words, end - begin, depth, f16)
                        : lowered->convert(words, end - begin, depth, f16);
      words = f16;
    }
    decode_run<true>(words, count, format, run);
    panel.unsafe[j] = run.safe ? 0U : ~0U;
    panel.has_nan[j] = run.has_nan;
    for (std::size_t k = 0; k < count; ++k) {
      panel.value[k * kColumns + j] = run.value[k];
      panel.exponent[k * kColumns + byte] = run.exponent[k];
    }
    for (std::size_t k = count; k < depth; ++k) {
      panel.value[k * kColumns + j] = 0;
      panel.exponent[k * kColumns + byte] = kColumnZeroByte;
    }
  }
}

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
