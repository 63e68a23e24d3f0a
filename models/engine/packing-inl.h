// SPDX-License-Identifier: Apache-2.0
// Packing of operands for the float kernel, compiled once per vector target (Highway).

#if defined(SPTC_ENGINE_PACKING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPTC_ENGINE_PACKING_INL_H_
#undef SPTC_ENGINE_PACKING_INL_H_
#else
#define SPTC_ENGINE_PACKING_INL_H_
#endif

#include "models/engine/fallback.h"
#include "models/engine/window.h"
#include "models/numerics/float_format.h"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sptc::engine::HWY_NAMESPACE {

inline constexpr std::size_t kBlockDepth = 128;  // elements of a row of A in one block, at most

/// Elements of one row or column: exact values, exponents as bytes, and whether all are finite and
/// inside the window.
struct DecodedRun {
  float value[2 * kBlockDepth];
  std::uint8_t exponent[2 * kBlockDepth];
  bool safe;
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
        break;
      case numerics::SpecialEncoding::kNanOnly:
        first_special = all;
        break;
      default:
        first_special = all + 1;
    }
  }

  int drop;
  int mantissa_bits;
  int magnitude_bits;
  int bias;
  float rescale;  // 2^(127 - bias): reads the magnitude bits as a float with the wrong bias
  std::uint32_t first_special;
};

// Rows and columns differ only in how the exponent becomes a byte.
template <bool kIsColumn>
HWY_NOINLINE void decode_run(const numerics::Word* words, std::size_t count, const Decoding& format,
                             DecodedRun& run) {
  const std::uint32_t magnitude_mask = (1U << format.magnitude_bits) - 1;
  const int to_float = 23 - format.mantissa_bits;
  std::uint32_t unsafe = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t word = static_cast<std::uint32_t>(words[i]) >> format.drop;
    const std::uint32_t magnitude = word & magnitude_mask;
    const std::uint32_t sign = (word >> format.magnitude_bits) << 31;
    const int field = static_cast<int>(magnitude >> format.mantissa_bits);
    const int exponent = std::max(field, 1) - format.bias;
    const float absolute = std::bit_cast<float>(magnitude << to_float) * format.rescale;
    run.value[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(absolute) | sign);
    const int byte = kIsColumn ? kByteOffset - 127 - exponent : kByteOffset + exponent;
    constexpr int kZero = kIsColumn ? kColumnZeroByte : kRowZeroByte;
    run.exponent[i] = static_cast<std::uint8_t>(magnitude == 0 ? kZero : byte);
    const bool outside =
        (magnitude != 0) & ((exponent < kMinOperandExponent) | (exponent > kMaxOperandExponent));
    unsafe |= static_cast<std::uint32_t>(outside | (magnitude >= format.first_special));
  }
  run.safe = unsafe == 0;
}

/// A row of A ready for the kernel. `exponent` holds the byte four times, `offset` where the row of
/// B stands that element t meets (sparse only).
struct PackedRow {
  float value[kBlockDepth];
  std::uint32_t exponent[kBlockDepth];
  std::uint32_t offset[kBlockDepth];
  bool safe;
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

/// Packs elements [begin, end) of a row and fills up to `depth`, a multiple of the step, with
/// zeros.
inline void pack_row(const numerics::Word* words, std::size_t begin, std::size_t end,
                     std::size_t depth, const Decoding& format, PackedRow& packed) {
  DecodedRun run;
  const std::size_t count = end - begin;
  decode_run<false>(words + begin, count, format, run);
  for (std::size_t i = 0; i < count; ++i) {
    packed.value[i] = run.value[i];
    packed.exponent[i] = run.exponent[i] * 0x01010101U;
  }
  for (std::size_t i = count; i < depth; ++i) {
    packed.value[i] = 0;
    packed.exponent[i] = kRowZeroByte;
  }
  packed.safe = run.safe;
}

inline void pack_offsets(const std::uint8_t* nibbles, std::size_t begin, std::size_t end,
                         std::size_t depth, const SelectionTable& table, std::size_t first_logical,
                         std::size_t columns, PackedRow& packed) {
  for (std::size_t t = begin; t < end; ++t) {
    const std::size_t logical = table.logical(t, nibbles[t / table.kept]);
    packed.offset[t - begin] = static_cast<std::uint32_t>((logical - first_logical) * columns);
  }
  std::fill(packed.offset + (end - begin), packed.offset + depth, 0U);
}

/// A panel of B: `kColumns` columns side by side, k downward. A column is a lane of one of four
/// vectors; the exponent bytes of the four columns of a lane stand in one 32-bit word.
template <std::size_t kColumns>
struct PackedPanel {
  alignas(64) float value[2 * kBlockDepth * kColumns];
  alignas(64) std::uint8_t exponent[2 * kBlockDepth * kColumns];
  alignas(64) std::uint32_t unsafe[kColumns];  // all ones where the lane must not be trusted
};

template <std::size_t kColumns>
HWY_NOINLINE void pack_panel(const Matrix<numerics::Word>& b_columns, std::size_t first_column,
                             std::size_t begin, std::size_t end, std::size_t depth,
                             const Decoding& format, PackedPanel<kColumns>& panel) {
  constexpr std::size_t kLanes = kColumns / 4;
  const std::size_t count = end - begin;
  DecodedRun run;
  for (std::size_t j = 0; j < kColumns; ++j) {
    const std::size_t byte = j % kLanes * 4 + j / kLanes;
    std::size_t filled = 0;
    panel.unsafe[j] = 0;
    if (first_column + j < b_columns.rows()) {
      decode_run<true>(b_columns.row(first_column + j).data() + begin, count, format, run);
      panel.unsafe[j] = run.safe ? 0U : ~0U;
      for (; filled < count; ++filled) {
        panel.value[filled * kColumns + j] = run.value[filled];
        panel.exponent[filled * kColumns + byte] = run.exponent[filled];
      }
    }
    for (; filled < depth; ++filled) {
      panel.value[filled * kColumns + j] = 0;
      panel.exponent[filled * kColumns + byte] = kColumnZeroByte;
    }
  }
}

}  // namespace sptc::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
