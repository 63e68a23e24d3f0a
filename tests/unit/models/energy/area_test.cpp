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

TEST(TensorCoreArea, ATypeWithoutAMultiplierIsRefused) {
  TensorCoreShape shape = kSparse;
  shape.type = DataType::kE4m3;
  support::expect_input_error([&] { tensor_core_area(shape, table()); }, {"e4m3"});
}

}  // namespace
}  // namespace sptc::energy
