// SPDX-License-Identifier: Apache-2.0
// The steps of a vector of rows against a few columns, compiled once per vector target.

#if defined(SPTC_ENGINE_LANE_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPTC_ENGINE_LANE_KERNEL_INL_H_
#undef SPTC_ENGINE_LANE_KERNEL_INL_H_
#else
#define SPTC_ENGINE_LANE_KERNEL_INL_H_
#endif

#include "models/batched/step_kernel-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {

/// What the kernel reads: a lane is a row of A, and four columns of B share a pass over the
/// exponents, a byte of a lane each.
struct LaneOperands {
  const float* a;                   // [depth][kLanes]
  const std::uint32_t* a_exponent;  // [depth][kLanes], the byte four times
  const float* b;                   // [k][columns]; sparse [k / 4][columns][4]
  const std::uint8_t* b_exponent;   // likewise
  std::size_t columns;              // n up to whole fours
  // Sparse: all lanes find their element of B among four neighbours in k.
  const std::size_t* first_of_block;    // [depth], where in b the four stand
  const std::uint32_t* value_bytes;     // [depth][kLanes], which bytes of four values
  const std::uint32_t* exponent_bytes;  // [depth][kLanes], and of four columns' four exponents
};

/// All steps of kLanes rows against kFours * 4 columns from `column`; `state` [column][lane] are
/// the accumulators. The arithmetic is that of run_steps.
template <std::size_t kFours, Output kOutput, bool kSparse, bool kWide>
HWY_NOINLINE void run_lane_steps(const LaneOperands& operands, std::size_t column,
                                 std::uint32_t* state, const StepConstants& constants) {
  const FloatTag df;
  const UintTag du;
  const ByteTag db;
  const IntTag di;
  constexpr std::size_t kCount = kFours * kVectors;
  FloatVector c[kCount];
  FloatVector scale[kCount];
  IntVector sum[kCount];
  [[maybe_unused]] IntVector first_half[kCount];
  [[maybe_unused]] UintVector overflowed[kCount];
  constexpr std::size_t kNeighbours = kSparse ? 4 : 1;
  const float* b = operands.b + kNeighbours * column;
  const std::uint8_t* b_exponent = operands.b_exponent + kNeighbours * column;
  const auto field = [&](std::size_t t, std::size_t four) HWY_ATTR {
    const auto row = hn::BitCast(db, hn::Load(du, operands.a_exponent + t * kLanes));
    if constexpr (kSparse) {
      const auto exponents = hn::LoadDup128(
          db, b_exponent + operands.first_of_block[t] + four * kVectors * kNeighbours);
      const auto index = hn::BitCast(db, hn::Load(du, operands.exponent_bytes + t * kLanes));
      return hn::SaturatedSub(row, hn::TableLookupBytes(exponents, index));
    } else {
      std::uint32_t bytes;
      std::memcpy(&bytes, b_exponent + t * operands.columns + four * kVectors, sizeof(bytes));
      return hn::SaturatedSub(row, hn::BitCast(db, hn::Set(du, bytes)));
    }
  };
  const auto add_product = [&](std::size_t t) HWY_ATTR {
    const FloatVector row = in_register(hn::Load(df, operands.a + t * kLanes));
    unrolled<kCount>([&](auto v) HWY_ATTR {
      FloatVector factor;
      if constexpr (kSparse) {
        const auto values =
            hn::BitCast(db, hn::LoadDup128(df, b + operands.first_of_block[t] + v * kNeighbours));
        const auto index = hn::BitCast(db, hn::Load(du, operands.value_bytes + t * kLanes));
        factor = hn::BitCast(df, hn::TableLookupBytes(values, index));
      } else {
        factor = hn::Set(df, b[t * operands.columns + v]);
      }
      sum[v] = sum[v] + truncate_to_int(row * factor * scale[v]);
    });
  };

  unrolled<kCount>([&](auto v) HWY_ATTR {
    c[v] = hn::BitCast(df, hn::Load(du, state + v * kLanes));
    overflowed[v] = hn::Zero(du);
  });
  const std::size_t middle = kWide ? constants.step / 2 : constants.step;
  for (std::size_t s = 0; s < constants.steps; ++s) {
    const std::size_t first = (constants.first_step + s) * constants.step;
    unrolled<kFours>([&](auto four) HWY_ATTR {
      auto largest = hn::BitCast(db, hn::Set(du, constants.floor_field * 0x01010101U));
      for (std::size_t t = first; t < first + constants.step; ++t) {
        largest = hn::Max(largest, field(t, four));
      }
      const UintVector bytes = hn::BitCast(du, largest);
      unrolled<kVectors>([&](auto index) HWY_ATTR {
        constexpr std::size_t kVector = four * kVectors + index;
        scale[kVector] = scale_of<kOutput, index>(bytes, c[kVector], constants);
        sum[kVector] = truncate_to_int(c[kVector] * scale[kVector]);
      });
    });
    for (std::size_t t = first; t < first + middle; ++t) {
      add_product(t);
    }
    if constexpr (kWide) {
      unrolled<kCount>([&](auto v) HWY_ATTR {
        first_half[v] = sum[v];
        sum[v] = hn::Zero(di);
      });
      for (std::size_t t = first + middle; t < first + constants.step; ++t) {
        add_product(t);
      }
    }
    unrolled<kCount>([&](auto v) HWY_ATTR {
      FloatVector unit = inverse_of(scale[v]);
      if constexpr (kWide) {
        sum[v] = wide_sum(first_half[v], sum[v], unit);
      }
      c[v] = rounded<kOutput>(sum[v], unit, constants);
      if constexpr (kOutput == Output::kHalf) {
        overflowed[v] = hn::Or(overflowed[v], is_infinite(c[v]));
      }
    });
  }
  unrolled<kCount>([&](auto v) HWY_ATTR {
    hn::Store(hn::Or(hn::BitCast(du, c[v]), overflowed[v]), du, state + v * kLanes);
  });
}

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
