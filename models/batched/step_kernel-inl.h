// SPDX-License-Identifier: Apache-2.0
// The steps of one or two rows against a panel of columns, compiled once per vector target.

#if defined(SPTC_ENGINE_STEP_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPTC_ENGINE_STEP_KERNEL_INL_H_
#undef SPTC_ENGINE_STEP_KERNEL_INL_H_
#else
#define SPTC_ENGINE_STEP_KERNEL_INL_H_
#endif

#include "models/batched/half.h"
#include "models/batched/packing-inl.h"
#include "models/batched/unrolled-inl.h"
#include "models/mma/step_rules.h"
#include "models/numerics/codec.h"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using UintTag = hn::RebindToUnsigned<FloatTag>;
using ByteTag = hn::Repartition<std::uint8_t, FloatTag>;
using FloatVector = hn::Vec<FloatTag>;
using IntVector = hn::Vec<IntTag>;
using UintVector = hn::Vec<UintTag>;

inline constexpr std::size_t kVectors = 4;  // as many as there are bytes in a lane
inline constexpr std::size_t kLanes = hn::MaxLanes(FloatTag());
inline constexpr std::size_t kPanelColumns = kVectors * kLanes;
using Panel = PackedPanel<kPanelColumns>;

// Rows that share the vectors of B: what the registers hold.
#if HWY_TARGET <= HWY_AVX3
inline constexpr std::size_t kRowsAtOnce = 2;
#else
inline constexpr std::size_t kRowsAtOnce = 1;
#endif

/// Toward zero, for |v| < 2^31 (hn::ConvertTo pays for the values beyond).
HWY_INLINE IntVector truncate_to_int(FloatVector v) {
#if HWY_TARGET <= HWY_AVX3
  return IntVector{_mm512_cvttps_epi32(v.raw)};
#elif HWY_TARGET == HWY_AVX2
  return IntVector{_mm256_cvttps_epi32(v.raw)};
#else
  return hn::ConvertTo(IntTag(), v);
#endif
}

/// GCC would rather load again than share a vector among rows.
HWY_INLINE FloatVector in_register(FloatVector v) {
#if HWY_TARGET <= HWY_AVX3
  auto raw = v.raw;
  asm("" : "+v"(raw));
  return FloatVector{raw};
#else
  return v;
#endif
}

enum class Output {
  kFloat,       // RZ to f32
  kShortFloat,  // RZ to f32 with low fraction bits cleared
  kHalf,        // RNE to f16, kept as f32
};

struct StepConstants {
  std::size_t step;            // L
  std::size_t steps;           // of one run
  int fraction_bits;           // F
  std::uint32_t floor_field;   // smallest exponent field of the largest term
  std::uint32_t kept_bits;     // mask of the result, kShortFloat
  std::size_t first_step = 0;  // of the run, in this block
};

inline StepConstants step_constants(const mma::StepRules& rules) {
  const int floor = std::max(rules.exponent_floor.value_or(-127) + 127, 0);
  return {static_cast<std::size_t>(rules.products_per_step), 0, rules.fraction_bits,
          static_cast<std::uint32_t>(std::max(floor, rules.fraction_bits + 1)), ~0U << rules.cleared_output_bits};
}

inline Output output_of(const mma::StepRules& rules) {
  return rules.output == numerics::DataType::kF16 ? Output::kHalf
         : rules.cleared_output_bits != 0         ? Output::kShortFloat
                                                  : Output::kFloat;
}

/// The sums of the significands of A in a step up to which 32 bits hold the sum of its products.
inline float narrow_step_sum(const mma::StepRules& rules, const Decoding& b_format) {
  const float largest_b = 2.0F - std::ldexp(1.0F, -b_format.mantissa_bits);
  return (std::ldexp(1.0F, 31 - rules.fraction_bits) - 2.0F) / largest_b;
}

/// Exponent fields, in place, of the largest product of each lane of vector `index`.
template <std::size_t kIndex>
HWY_INLINE UintVector product_field(UintVector bytes) {
  const auto mask = hn::Set(UintTag(), 0x7F800000U);
  if constexpr (kIndex == 3) {
    return hn::And(hn::ShiftRight<1>(bytes), mask);
  } else {
    return hn::And(hn::ShiftLeft<23 - 8 * static_cast<int>(kIndex)>(bytes), mask);
  }
}

/// Exponent field of an accumulator, in place; 0 for zero. A subnormal f16 has the exponent -14.
template <Output kOutput>
HWY_INLINE UintVector accumulator_field(UintVector bits) {
  const UintTag du;
  const auto field = hn::And(bits, hn::Set(du, 0x7F800000U));
  if constexpr (kOutput == Output::kHalf) {
    const auto subnormal = hn::Set(du, (127U - 14U) << 23);
    return hn::IfThenZeroElse(field == hn::Zero(du), hn::Max(field, subnormal));
  } else {
    return field;
  }
}

/// A float to f16 by RNE and back, exactly; a zero becomes +0.
HWY_INLINE FloatVector round_to_half(FloatVector v) {
  const FloatTag df;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_AVX2
  const hn::Rebind<hwy::float16_t, FloatTag> dh;
  return hn::PromoteTo(df, hn::DemoteTo(dh, v)) + hn::Zero(df);
#else
  alignas(64) float lanes[kLanes];
  hn::Store(v, df, lanes);
  for (float& lane : lanes) {
    lane = std::bit_cast<float>(widen_half(narrow_half(std::bit_cast<std::uint32_t>(lane))));
  }
  return hn::Load(df, lanes) + hn::Zero(df);
#endif
}

inline constexpr std::uint32_t kOverflowed = 0xFFFFFFFFU;

HWY_INLINE UintVector is_infinite(FloatVector v) {
  const UintTag du;
  const auto infinity = hn::Set(du, 0x7F800000U);
  return hn::VecFromMask(du, hn::And(hn::BitCast(du, v), infinity) == infinity);
}

/// The sum in units of 2^(emax - F) to the output, `unit` = 2^(emax - F).
template <Output kOutput>
HWY_INLINE FloatVector rounded(IntVector sum, FloatVector unit, const StepConstants& constants) {
  const FloatTag df;
  const UintTag du;
  const FloatVector cut = hn::ConvertTo(df, sum);  // in the mode of the thread: toward zero
  if constexpr (kOutput == Output::kHalf) {
    // Round to odd first: a float keeps 13 bits more than f16, so the second rounding is right.
    const auto inexact = hn::VecFromMask(IntTag(), truncate_to_int(cut) != sum);
    const auto sticky = hn::And(hn::BitCast(du, inexact), hn::Set(du, 1));
    return round_to_half(hn::BitCast(df, hn::Or(hn::BitCast(du, cut), sticky)) * unit);
  }
  const FloatVector result = cut * unit;
  if constexpr (kOutput == Output::kShortFloat) {
    return hn::BitCast(df, hn::And(hn::BitCast(du, result), hn::Set(du, constants.kept_bits)));
  }
  return result;
}

/// first + second, each of 32 bits. Where the sum needs 33, half of it rounded to odd, and twice
/// the unit: every output keeps fewer bits than that, so it rounds as the exact sum would.
HWY_INLINE IntVector wide_sum(IntVector first, IntVector second, FloatVector& unit) {
  const IntTag di;
  const auto sum = first + second;
  const auto overflow = hn::MaskFromVec(hn::BroadcastSignBit(hn::And(hn::Xor(first, sum), hn::Xor(second, sum))));
  const auto one = hn::Set(di, 1);
  const auto half = hn::ShiftRight<1>(first) + hn::ShiftRight<1>(second) + hn::And(hn::And(first, second), one);
  const auto odd = hn::Or(half, hn::And(hn::Xor(first, second), one));
  unit = hn::IfThenElse(hn::RebindMask(FloatTag(), overflow), unit + unit, unit);
  return hn::IfThenElse(overflow, odd, sum);
}

/// The largest exponent field over the products of a step, a byte for each column.
template <bool kSparse>
HWY_INLINE UintVector largest_fields(const PackedRow& row, const std::uint8_t* exponents, std::size_t first,
                                     const StepConstants& constants) {
  const ByteTag db;
  const UintTag du;
  const auto field = [&](std::size_t t) HWY_ATTR {
    const std::uint8_t* column = exponents + (kSparse ? row.offset[t] : t * kPanelColumns);
    return hn::SaturatedSub(hn::BitCast(db, hn::Set(du, row.exponent[t])), hn::Load(db, column));
  };
  auto even = hn::BitCast(db, hn::Set(du, constants.floor_field * 0x01010101U));
  auto odd = even;
  for (std::size_t t = first; t < first + constants.step; t += 2) {  // a step is even
    even = hn::Max(even, field(t));
    odd = hn::Max(odd, field(t + 1));
  }
  return hn::BitCast(du, hn::Max(even, odd));
}

/// 2^(F - emax) of each lane, emax over the products and the accumulator.
template <Output kOutput, std::size_t kIndex>
HWY_INLINE FloatVector scale_of(UintVector bytes, FloatVector c, const StepConstants& constants) {
  const UintTag du;
  const auto field = hn::Max(product_field<kIndex>(bytes), accumulator_field<kOutput>(hn::BitCast(du, c)));
  const auto offset = hn::Set(du, static_cast<std::uint32_t>(constants.fraction_bits + 254) << 23);
  return hn::BitCast(FloatTag(), offset - field);
}

/// 2^(emax - F) from 2^(F - emax).
HWY_INLINE FloatVector inverse_of(FloatVector scale) {
  const UintTag du;
  return hn::BitCast(FloatTag(), hn::Set(du, 254U << 23) - hn::BitCast(du, scale));
}

/// All steps of a run for kRows rows. Values: per product an exact multiplication, an exact
/// scaling to units of 2^(emax - F), a truncating conversion (the cut of the magnitude) and an
/// integer addition. `state[r]` are the accumulators of row r, kPanelColumns of them. An f16
/// accumulator that overflowed on the way ends as kOverflowed: infinity is beyond this arithmetic.
template <std::size_t kRows, Output kOutput, bool kSparse, bool kWide>
HWY_NOINLINE void run_steps(const PackedRow* rows, const Panel& panel, std::uint32_t* const* state,
                            const StepConstants& constants) {
  const FloatTag df;
  const UintTag du;
  FloatVector c[kRows][kVectors];
  FloatVector scale[kRows][kVectors];
  IntVector sum[kRows][kVectors];
  [[maybe_unused]] IntVector first_half[kRows][kVectors];
  [[maybe_unused]] UintVector overflowed[kRows][kVectors];
  const auto each_vector = [](auto body) HWY_ATTR {
    unrolled<kRows>([&](auto r) HWY_ATTR { unrolled<kVectors>([&](auto v) HWY_ATTR { body(r, v); }); });
  };
  const auto add_product = [&](std::size_t t) HWY_ATTR {
    FloatVector b[kVectors];
    unrolled<kRows>([&](auto r) HWY_ATTR {
      if constexpr (kSparse || r == 0) {
        const float* column = panel.value + (kSparse ? rows[r].offset[t] : t * kPanelColumns);
        unrolled<kVectors>([&](auto v) HWY_ATTR { b[v] = hn::Load(df, column + v * kLanes); });
        if constexpr (kRows > 1 && !kSparse) {
          unrolled<kVectors>([&](auto v) HWY_ATTR { b[v] = in_register(b[v]); });
        }
      }
      const FloatVector a = hn::Set(df, rows[r].value[t]);
      unrolled<kVectors>([&](auto v) HWY_ATTR { sum[r][v] = sum[r][v] + truncate_to_int(a * b[v] * scale[r][v]); });
    });
  };

  each_vector([&](auto r, auto v) HWY_ATTR {
    c[r][v] = hn::BitCast(df, hn::LoadU(du, state[r] + v * kLanes));
    overflowed[r][v] = hn::Zero(du);
  });
  const std::size_t middle = kWide ? constants.step / 2 : constants.step;
  for (std::size_t s = 0; s < constants.steps; ++s) {
    const std::size_t first = (constants.first_step + s) * constants.step;
    unrolled<kRows>([&](auto r) HWY_ATTR {
      const UintVector bytes = largest_fields<kSparse>(rows[r], panel.exponent, first, constants);
      unrolled<kVectors>([&](auto v) HWY_ATTR {
        scale[r][v] = scale_of<kOutput, v>(bytes, c[r][v], constants);
        sum[r][v] = truncate_to_int(c[r][v] * scale[r][v]);
      });
    });
    for (std::size_t t = first; t < first + middle; ++t) {
      add_product(t);
    }
    if constexpr (kWide) {
      each_vector([&](auto r, auto v) HWY_ATTR {
        first_half[r][v] = sum[r][v];
        sum[r][v] = hn::Zero(IntTag());
      });
      for (std::size_t t = first + middle; t < first + constants.step; ++t) {
        add_product(t);
      }
    }
    each_vector([&](auto r, auto v) HWY_ATTR {
      FloatVector unit = inverse_of(scale[r][v]);
      if constexpr (kWide) {
        sum[r][v] = wide_sum(first_half[r][v], sum[r][v], unit);
      }
      c[r][v] = rounded<kOutput>(sum[r][v], unit, constants);
      if constexpr (kOutput == Output::kHalf) {
        overflowed[r][v] = hn::Or(overflowed[r][v], is_infinite(c[r][v]));
      }
    });
  }
  each_vector([&](auto r, auto v) HWY_ATTR {
    hn::StoreU(hn::Or(hn::BitCast(du, c[r][v]), overflowed[r][v]), du, state[r] + v * kLanes);
  });
}

/// The end of a lowered instruction in `count` lanes, whole vectors of them: the accumulator plus
/// what the two steps left, to nearest, which is for the caller to set. Marks overflow of f16 as
/// run_steps does; what is marked stays so, for kOverflowed reads as NaN.
template <Output kOutput>
HWY_NOINLINE void add_to_nearest(const std::uint32_t* result_of_steps, std::size_t count, std::uint32_t* state) {
  const FloatTag df;
  const UintTag du;
  for (std::size_t i = 0; i < count; i += kLanes) {
    const auto c = hn::BitCast(df, hn::LoadU(du, state + i));
    // f16: a float holds 24 bits, twice 11 and two more, so the second rounding is right.
    auto d = c + hn::BitCast(df, hn::LoadU(du, result_of_steps + i));
    auto overflowed = hn::Zero(du);
    if constexpr (kOutput == Output::kHalf) {
      d = round_to_half(d);
      overflowed = is_infinite(d);
    }
    hn::StoreU(hn::Or(hn::BitCast(du, d), overflowed), du, state + i);
  }
}

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
