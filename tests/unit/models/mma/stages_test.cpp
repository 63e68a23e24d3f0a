// SPDX-License-Identifier: Apache-2.0
#include "models/mma/stages.h"

#include "models/base/error.h"

#include <gtest/gtest.h>

namespace sptc::mma {
namespace {

TEST(StepContext, TimesLoweredFp8AsF16AndComputesNoValues) {
  const MmaInstruction fp8 = gemm_instruction(numerics::DataType::kE4m3, false);
  const StepContext lowered(fp8, step_rules("hopper", fp8));
  EXPECT_EQ(lowered.steps, 2);
  EXPECT_EQ(lowered.operand_bits, 16);
  EXPECT_THROW(lowered.require_values(), base::InputError);
  const StepContext native(fp8, step_rules("ada", fp8));
  EXPECT_EQ(native.operand_bits, 8);
  native.require_values();
}

TEST(StepContext, DotUnitsNarrowerThanAnElementTakeThemOneByOne) {
  const MmaInstruction f16 = gemm_instruction(numerics::DataType::kF16, false);
  const StepContext narrow = StepContext::timing_only(f16, 1);
  EXPECT_EQ(narrow.rules.products_per_step, 1);
  EXPECT_EQ(narrow.steps, f16.shape.k);
}

}  // namespace
}  // namespace sptc::mma
