// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/pattern.h"

#include "tests/unit/models/sparsity/test_matrix.h"

#include <gtest/gtest.h>

namespace sptc::sparsity {
namespace {

using numerics::DataType;

TEST(HardwarePattern, IsTwoOfFourForSixteenAndEightBitsAndOneOfTwoForTf32) {
  EXPECT_EQ(hardware_pattern(DataType::kF16), (Pattern{2, 4, 1}));
  EXPECT_EQ(hardware_pattern(DataType::kBf16), (Pattern{2, 4, 1}));
  EXPECT_EQ(hardware_pattern(DataType::kS8), (Pattern{2, 4, 1}));
  EXPECT_EQ(hardware_pattern(DataType::kTf32), (Pattern{1, 2, 1}));
}

TEST(HardwarePattern, RefusesAccumulatorTypes) {
  EXPECT_EQ(refusal([] { hardware_pattern(DataType::kF32); }),
            "no N:M pattern for the accumulator type 'f32' (nearest valid: 'tf32'; allowed: f16, "
            "bf16, tf32, s8, f64, e4m3, e5m2, e3m2, e2m3, e2m1, u8, s4, u4, b1)");
  EXPECT_THROW(hardware_pattern(DataType::kS32), base::InputError);
}

TEST(Pattern, CountsChoicesInRuns) {
  const Pattern pairs{4, 8, 2};
  EXPECT_EQ(pairs.candidates(), 4);
  EXPECT_EQ(pairs.choices(), 2);
  EXPECT_EQ(pairs.name(), "4:8");
}

}  // namespace
}  // namespace sptc::sparsity
