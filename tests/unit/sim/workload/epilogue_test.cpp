// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/epilogue.h"

#include "sim/workload/workload.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::workload {
namespace {

using Kinds = std::vector<VectorKind>;

TEST(Epilogue, NamesOfCublasLtSayWhatIsDone) {
  EXPECT_EQ(parse_epilogue("")->operations, Kinds{});
  EXPECT_EQ(parse_epilogue("DEFAULT")->operations, Kinds{});
  EXPECT_EQ(parse_epilogue("RELU_BIAS")->operations, (Kinds{VectorKind::kRelu, VectorKind::kBias}));
  EXPECT_FALSE(parse_epilogue("RELU_BIAS")->writes_mask);
  EXPECT_EQ(parse_epilogue("SWISH_BIAS")->operations,
            (Kinds{VectorKind::kSilu, VectorKind::kBias}));
  EXPECT_FALSE(parse_epilogue("SOMETHING_NEW"));
}

TEST(Epilogue, AuxiliaryOutputsAndDerivativesMoveATensorOrAMask) {
  EXPECT_TRUE(parse_epilogue("RELU_AUX_BIAS")->writes_mask);
  EXPECT_FALSE(parse_epilogue("RELU_AUX_BIAS")->writes_tensor);
  EXPECT_TRUE(parse_epilogue("GELU_AUX")->writes_tensor);
  EXPECT_TRUE(parse_epilogue("DRELU_BGRAD")->reads_mask);
  EXPECT_TRUE(parse_epilogue("DGELU")->reads_tensor);
  EXPECT_EQ(parse_epilogue("BGRADA")->operations, Kinds{});
}

TEST(Epilogue, TheSumWithCReadsATensor) {
  Recorded recorded;
  recorded.epilogue = "BIAS";
  EXPECT_FALSE(epilogue_of(recorded).reads_tensor);
  recorded.adds_c = true;
  EXPECT_TRUE(epilogue_of(recorded).reads_tensor);
  EXPECT_EQ(epilogue_of(recorded).operations, (Kinds{VectorKind::kBias, VectorKind::kResidual}));
}

TEST(Epilogue, SpecialFunctionsTakeEightSlots) {
  EXPECT_EQ(epilogue_operations(Kinds{}), 0);
  EXPECT_EQ(epilogue_operations(Kinds{VectorKind::kBias, VectorKind::kRelu}), 2);
  EXPECT_EQ(epilogue_operations(Kinds{VectorKind::kGelu}), 8);
  EXPECT_EQ(epilogue_operations(Kinds{VectorKind::kSilu}), 16);
}

}  // namespace
}  // namespace sptc::workload
