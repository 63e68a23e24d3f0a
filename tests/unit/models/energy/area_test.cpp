// SPDX-License-Identifier: Apache-2.0
#include "models/energy/area.h"

#include "tests/support/expect_input_error.h"

namespace sptc::energy {
namespace {

using numerics::DataType;

AreaTable table() {
  return {{{DataType::kF16, 100}}, {{DataType::kF16, 50}}, 20, 0.5, 2, 1};
}
// 4 units of 8 products, 2:4.
constexpr TensorCoreShape kSparse = [] {
  TensorCoreShape shape;
  shape.dot_units = 4;
  shape.products_per_unit = 8;
  shape.selector_inputs = 4;
  shape.kept = 2;
  shape.operand_bits = 16;
  shape.metadata_bits = 128;
  return shape;
}();

TEST(TensorCoreArea, SkippingZerosIsMultiplexersAndBitmaps) {
  TensorCoreShape shape = kSparse;
  shape.selector_inputs = shape.kept = 1;
  shape.zero_skipping = {4, 4};
  shape.instruction_m = 16;
  shape.instruction_n = 8;
  const TensorCoreArea area = tensor_core_area(shape, table());
  // Two arrays, each with 4 multiplexers of 16 inputs and 4 of 8, of 16 bits; and each of 32
  // multipliers for one of 8 sums of 32 bits.
  EXPECT_DOUBLE_EQ(area.selector_um2, (2 * (4 * 16 + 4 * 8) * 16 + 32 * 8 * 32) * 0.5);
  EXPECT_DOUBLE_EQ(area.metadata_um2, 128 * 2);
  EXPECT_DOUBLE_EQ(area.candidates_um2, 0);
}

TEST(TensorCoreArea, IsTheSumOfItsElementsByHand) {
  const TensorCoreArea area = tensor_core_area(kSparse, table());
  EXPECT_DOUBLE_EQ(area.multipliers_um2, 32 * 100);
  EXPECT_DOUBLE_EQ(area.adders_um2, 32 * 50);
  EXPECT_DOUBLE_EQ(area.rounding_um2, 4 * 20);
  EXPECT_DOUBLE_EQ(area.operand_registers_um2, (32 * 2 * 16 + 4 * 32) * 2);
  // 32 multiplexers of 4 x 16 bits; 2 more candidates for each 2 multipliers.
  EXPECT_DOUBLE_EQ(area.selector_um2, 32 * 4 * 16 * 0.5 + 32 * 16 * 2);
  EXPECT_DOUBLE_EQ(area.metadata_um2, 128 * 2);
}

TEST(TensorCoreArea, WiderAddersScaleTheRoundingOfEachOfTheirSums) {
  TensorCoreShape shape = kSparse;
  shape.adder_scale = 1.5;
  shape.rounders_per_unit = 2;
  const TensorCoreArea area = tensor_core_area(shape, table());
  EXPECT_DOUBLE_EQ(area.adders_um2, 32 * 50 * 1.5);
  EXPECT_DOUBLE_EQ(area.rounding_um2, 4 * 2 * 20 * 1.5);
  EXPECT_DOUBLE_EQ(area.multipliers_um2, 32 * 100);
}

TEST(TensorCoreArea, AWayPastTheSelectorIsAMultiplexerOfTwo) {
  TensorCoreShape shape = kSparse;
  shape.dense_bypass = true;
  EXPECT_DOUBLE_EQ(tensor_core_area(shape, table()).selector_um2,
                   tensor_core_area(kSparse, table()).selector_um2 + 32 * 2 * 16 * 0.5);
}

TEST(TensorCoreArea, ADenseCoreHasNoSelector) {
  TensorCoreShape dense = kSparse;
  dense.selector_inputs = dense.kept = 1;
  EXPECT_EQ(tensor_core_area(dense, table()).sparse_overhead(), 0);
}

TEST(TensorCoreArea, AWiderSelectorCostsMore) {
  double before = -1;
  for (const int inputs : {2, 4, 8, 16}) {
    TensorCoreShape shape = kSparse;
    shape.selector_inputs = inputs;
    const double overhead = tensor_core_area(shape, table()).sparse_overhead();
    EXPECT_GT(overhead, before);
    before = overhead;
  }
}

TEST(TensorCoreArea, ATypeWithoutAMultiplierIsRefused) {
  TensorCoreShape shape = kSparse;
  shape.type = DataType::kE4m3;
  support::expect_input_error([&] { tensor_core_area(shape, table()); }, {"e4m3"});
}

TEST(TensorCoreArea, ASelectorOfLoadsIsAsWideAsTheyAre) {
  TensorCoreShape shape = kSparse;
  shape.dense_bypass = true;
  shape.loads_selected = 12;
  const TensorCoreArea area = tensor_core_area(shape, table());
  // 12 multiplexers of 4 candidates, and of 2 ways, of 16 bits; shared memory holds the candidates.
  EXPECT_DOUBLE_EQ(area.selector_um2, 12 * (4 + 2) * 16 * 0.5);
  EXPECT_EQ(area.candidates_um2, 0);
  EXPECT_DOUBLE_EQ(area.operand_registers_um2,
                   tensor_core_area(kSparse, table()).operand_registers_um2);
}

}  // namespace
}  // namespace sptc::energy
