// SPDX-License-Identifier: Apache-2.0
// The extents and types of outputs, each worked out by hand from the specification of the operator.
#include "sim/workload/onnx/operators.h"
#include "tests/unit/sim/workload/onnx/node_cases.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace sptc::workload::onnx {
namespace {

TEST(Shapes, ArrangementsHaveTheExtentsOfTheirParameters) {
  expect_dims({
      {"Reshape", {{"shape", list({0, -1})}}, {kX}, Dims{2, 12}},
      {"Reshape", {}, {kX, whole({4, -1, 2})}, Dims{4, 3, 2}},
      {"Reshape", {}, {sized({1 << 20, 4096}), whole({-1, 2048})}, Dims{1 << 21, 2048}},
      {"Reshape", {}, {sized({0, 4}), whole({-1, 2})}, Dims{0, 2}},
      {"Reshape", {{"allowzero", number(1)}}, {sized({0, 4}), whole({3, 0})}, Dims{3, 0}},
      {"Reshape", {{"allowzero", number(1)}}, {sized({0, 4}), whole({0, -1})}},
      {"Reshape", {}, {sized({7}), whole({-1, 2})}},
      {"Reshape", {}, {sized({std::int64_t{1} << 31, 2}), whole({-1})}},  // or more
      {"Flatten", {}, {kX}, Dims{2, 12}},
      {"Flatten", {{"axis", number(0)}}, {kX}, Dims{1, 24}},
      {"Flatten", {{"axis", number(-1)}}, {kX}, Dims{6, 4}},
      {"Flatten", {{"axis", number(3)}}, {kX}, Dims{24, 1}},
      {"Flatten", {}, {sized({2, 1 << 20, 4096})}, Dims{2, kBeyond}},
      {"Flatten", {}, {sized({1, 1 << 20, 4096, 0})}, Dims{1, 0}},
      {"Transpose", {}, {kX}, Dims{4, 3, 2}},
      {"Transpose", {{"perm", list({1, 2, 0})}}, {kX}, Dims{3, 4, 2}},
      {"Concat", {{"axis", number(-2)}}, {kX, sized({2, 5, 4}), kX}, Dims{2, 11, 4}},
      {"Gather", {{"axis", number(1)}}, {kX, sized({5, 6})}, Dims{2, 5, 6, 4}},
      {"Gather", {}, {kX, sized({})}, Dims{3, 4}},
      {"GatherElements", {}, {sized({2, 3}), sized({2, 1})}, Dims{2, 1}},
      {"Unsqueeze", {}, {sized({3, 4}), whole({0, -1})}, Dims{1, 3, 4, 1}},
      {"Unsqueeze", {{"axes", list({1})}}, {sized({3, 4})}, Dims{3, 1, 4}},
      {"Squeeze", {}, {sized({1, 3, 1, 5})}, Dims{3, 5}},
      {"Squeeze", {}, {sized({1, 3, 1, 5}), whole({-2})}, Dims{1, 3, 5}},
      {"Squeeze", {{"axes", list({0})}}, {sized({1, 3, 1, 5})}, Dims{3, 1, 5}},
      {"Expand", {}, {sized({3, 1}), whole({2, 1, 6})}, Dims{2, 3, 6}},
      {"Tile", {}, {sized({2, 3}), whole({4, 5})}, Dims{8, 15}},
      {"Tile", {}, {sized({1 << 20, 3}), whole({4096, -kMost})}, Dims{kBeyond, 0}},
      {"Tile", {}, {sized({1 << 20, 0}), whole({kMost, kMost})}, Dims{kBeyond, 0}},
      {"Pad", {}, {sized({2, 3}), whole({0, 1, 2, -2})}, Dims{4, 2}},
      {"Pad", {{"pads", list({1, 1})}}, {sized({7})}, Dims{9}},
      {"DepthToSpace", {{"blocksize", number(2)}}, {sized({1, 8, 2, 3})}, Dims{1, 2, 4, 6}},
      {"SpaceToDepth", {{"blocksize", number(2)}}, {sized({1, 2, 4, 6})}, Dims{1, 8, 2, 3}},
      {"DepthToSpace", {{"blocksize", number(4)}}, {sized({1, 16, 1 << 30, 3})}, Dims{1, 1, kBeyond, 12}},
  });
}

TEST(Shapes, ASliceCountsWhatItsStepsReach) {
  const Value x = sized({10, 6});
  expect_dims({
      // 2, 5 and 1, 3, 5.
      {"Slice", {}, {x, whole({2, 1}), whole({8, 6}), whole({0, 1}), whole({3, 2})}, Dims{2, 3}},
      // 5, 3, 1.
      {"Slice", {}, {x, whole({-1}), whole({kLeast}), whole({1}), whole({-2})}, Dims{10, 3}},
      {"Slice", {{"starts", list({-3})}, {"ends", list({kMost})}}, {x}, Dims{3, 6}},
      {"Slice", {}, {x, whole({4}), whole({2})}, Dims{0, 6}},
      {"Slice", {}, {sized({0}), whole({0}), whole({5})}, Dims{0}},
      {"Slice", {}, {x, whole({0}), whole({4}), whole({0}), whole({0})}},
      {"Slice", {}, {x, whole({0}), whole({4}), whole({2})}},
      {"Slice", {}, {x, whole({0, 0}), whole({4})}},
      {"Slice", {}, {x, sized({1}), whole({4})}},
  });
}

TEST(Shapes, ArrangementsWithoutTheirParametersAreNotKnown) {
  const Value deep = sized({1, 8, 2, 3});
  expect_dims({
      {"Reshape", {}, {kX}},
      {"Flatten", {}, {kNone}},
      {"Transpose", {}, {kNone}},
      {"Transpose", {{"perm", list({0, 1, 3})}}, {kX}},
      {"Concat", {}, {kX, sized({2, 3})}},
      {"Concat", {{"axis", number(3)}}, {kX, kX}},
      {"Gather", {{"axis", number(3)}}, {kX, sized({5})}},
      {"GatherElements", {}, {kX, kNone}},
      {"Unsqueeze", {}, {sized({3, 4}), sized({1})}},
      {"Unsqueeze", {}, {sized({3, 4}), whole({0, 0})}},
      {"Unsqueeze", {}, {sized({3, 4}), whole({3})}},
      {"Squeeze", {}, {kNone}},
      {"Expand", {}, {sized({3, 2}), whole({2, 1, 6})}},
      {"Tile", {}, {sized({2, 3}), whole({4})}},
      {"Pad", {}, {sized({2, 3}), whole({0, 1, 2})}},
      {"Pad", {}, {sized({7}), whole({0, std::int64_t{1} << 31})}},
      {"DepthToSpace", {{"blocksize", number(0)}}, {deep}},
      {"DepthToSpace", {{"blocksize", number(1 << 16)}}, {deep}},
      {"SpaceToDepth", {{"blocksize", number(2)}}, {kX}},
  });
}

TEST(Shapes, ExtentsThatAreValuesOfOperandsAreTaken) {
  const Value ids = sized({2, 10}, Type::kInt64);
  expect_dims({
      {"EmbedLayerNormalization", {}, {ids, ids, sized({30522, 768})}, Dims{2, 10, 768}},
      {"TopK", {{"k", number(4)}}, {sized({2, 9})}, Dims{2, 4}},
      {"TopK", {{"axis", number(0)}}, {sized({9, 2}), whole({4})}, Dims{4, 2}},
      {"Size", {}, {kX}, Dims{}},
  });
  expect_dims({
      {"EmbedLayerNormalization", {}, {ids, ids, kNone}},
      {"TopK", {}, {sized({2, 9}), sized({1})}},
      {"TopK", {{"k", number(4)}, {"axis", number(2)}}, {sized({2, 9})}},
      {"NonMaxSuppression", {}, {kX}},
  });
}

TEST(Shapes, AutoPadFillsTheLastWindowAndPutsTheOddElementWhereItSays) {
  const auto window = [](const std::string& padding, std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                         std::int64_t dilation) {
    const Node node =
        node_of("MaxPool", {{"auto_pad", word(padding)}, {"strides", list({stride})}, {"dilations", list({dilation})}});
    return window_of(node, {1, 1, extent}, {kernel}).value_or(Window{});
  };
  // ceil(5 / 2) windows of 2 at 0, 2 and 4 need 6 elements.
  EXPECT_EQ(window("SAME_UPPER", 5, 2, 2, 1).pads, (Dims{0, 1}));
  EXPECT_EQ(window("SAME_LOWER", 5, 2, 2, 1).pads, (Dims{1, 0}));
  EXPECT_EQ(window("SAME_UPPER", 5, 2, 2, 1).output, Dims{3});
  EXPECT_EQ(window("SAME_LOWER", 5, 2, 2, 1).output, Dims{3});
  EXPECT_EQ(window("VALID", 5, 2, 2, 1).pads, (Dims{0, 0}));
  EXPECT_EQ(window("VALID", 5, 2, 2, 1).output, Dims{2});
  // 6 windows that reach over 5 elements need 10.
  EXPECT_EQ(window("SAME_LOWER", 6, 3, 1, 2).pads, (Dims{2, 2}));
  // Windows of 1 at 0 and 3 leave an element behind them.
  EXPECT_EQ(window("SAME_UPPER", 5, 1, 3, 1).pads, (Dims{0, 0}));
  EXPECT_EQ(window("SAME_UPPER", 5, 1, 3, 1).output, Dims{2});
}

TEST(Shapes, CeilModeCountsTheWindowThatIsNotFull) {
  const auto attributes = [](std::int64_t kernel, std::int64_t pad, std::int64_t ceil_mode) {
    return Attributes{{"kernel_shape", list({kernel, kernel})},
                      {"strides", list({2, 2})},
                      {"pads", list({pad, pad, pad, pad})},
                      {"ceil_mode", number(ceil_mode)}};
  };
  const Value x = sized({1, 3, 6, 7});
  expect_dims({
      // Windows of 3 begin at -1, 1, 3 and, of 7 whole ones and of 6 none but in ceil mode, at 5.
      {"MaxPool", attributes(3, 1, 0), {x}, Dims{1, 3, 3, 4}},
      {"MaxPool", attributes(3, 1, 1), {x}, Dims{1, 3, 4, 4}},
      {"AveragePool", attributes(3, 1, 1), {x}, Dims{1, 3, 4, 4}},
      // Windows of 2 begin at -1 and 1; one at 3 would begin in the padding.
      {"MaxPool", attributes(2, 1, 1), {sized({1, 3, 3, 3})}, Dims{1, 3, 2, 2}},
      {"MaxPool", attributes(9, 1, 1), {x}},
  });
}

TEST(Shapes, ResizedExtentsAreSizesOrScaledAndRoundedDown) {
  const Value x = sized({1, 3, 8, 9});
  const auto policy = [](const std::string& name) { return Attributes{{"keep_aspect_ratio_policy", word(name)}}; };
  expect_dims({
      {"Resize", {}, {x, kNone, real({1, 1, 2, 0.5F})}, Dims{1, 3, 16, 4}},  // 4.5
      {"Resize", {}, {x, real({1, 1, 2, 3})}, Dims{1, 3, 16, 27}},
      {"Upsample", {}, {x, real({1, 1, 2, 3})}, Dims{1, 3, 16, 27}},
      {"Resize", {}, {x, kNone, kNone, whole({1, 3, 5, 7})}, Dims{1, 3, 5, 7}},
      {"Resize", {}, {kNone, kNone, kNone, whole({1, 3, 5, 7})}, Dims{1, 3, 5, 7}},
      {"Resize", policy("stretch"), {x, kNone, kNone, whole({1, 3, 5, 7})}, Dims{1, 3, 5, 7}},
  });
  expect_dims({
      {"Resize", {}, {x}},
      {"Resize", {}, {x, kNone, real({2, 3})}},
      {"Resize", {}, {x, kNone, real({1, 1, 0.1F, 1})}},  // no element is left
      {"Resize", {}, {x, kNone, real({1, 1, 1e9F, 1})}},  // beyond 2^31
      {"Resize", {{"axes", list({2, 3})}}, {x, kNone, real({2, 3})}},
      {"Resize", policy("not_larger"), {x, kNone, kNone, whole({1, 3, 5, 7})}},
  });
}

TEST(Shapes, ReducedAxesHaveOneElementOrGo) {
  const Attributes drop{{"keepdims", number(0)}};
  expect_dims({
      {"ReduceSum", {}, {kX}, Dims{1, 1, 1}},
      {"ReduceSum", drop, {kX}, Dims{}},
      {"ReduceSum", {{"noop_with_empty_axes", number(1)}}, {kX}, Dims{2, 3, 4}},
      {"ReduceSum", {{"noop_with_empty_axes", number(1)}}, {kX, whole({1})}, Dims{2, 1, 4}},
      {"ReduceMean", {{"axes", list({0, -1})}}, {kX}, Dims{1, 3, 1}},
      {"ReduceMax", {{"axes", list({-1})}, {"keepdims", number(0)}}, {kX}, Dims{2, 3}},
      {"ArgMax", {}, {kX}, Dims{1, 3, 4}},
      {"ArgMax", {{"axis", number(1)}}, {kX}, Dims{2, 1, 4}},
      {"ArgMin", {{"axis", number(-1)}, {"keepdims", number(0)}}, {kX}, Dims{2, 3}},
      {"ReduceSum", {}, {kNone}},
  });
}

TEST(Shapes, OperatorsHaveTheTypeThatTheyWrite) {
  const auto type = [](const std::string& op, const Attributes& attributes, const Inputs& inputs) {
    return output_of(op, attributes, inputs).type;
  };
  const Value x = sized({4}), bytes = sized({4}, Type::kUint8), scale = sized({});
  EXPECT_EQ(type("QuantizeLinear", {}, {x, scale}), Type::kUint8);
  EXPECT_EQ(type("QuantizeLinear", {}, {x, scale, sized({}, Type::kInt8)}), Type::kInt8);
  EXPECT_EQ(type("DequantizeLinear", {}, {bytes, scale}), Type::kUint8);  // that before it
  EXPECT_TRUE(output_of("DequantizeLinear", {}, {bytes, scale}).quantized);
  EXPECT_EQ(type("Cast", {{"to", number(10)}}, {x}), Type::kFloat16);
  EXPECT_EQ(type("CastLike", {}, {x, bytes}), Type::kUint8);
  EXPECT_EQ(type("ConstantOfShape", {}, {whole({2})}), Type::kFloat);
  EXPECT_EQ(type("Shape", {}, {x}), Type::kInt64);
  EXPECT_EQ(type("Size", {}, {x}), Type::kInt64);
  EXPECT_EQ(type("Constant", {{"value_int", number(3)}}, {}), Type::kInt64);
  EXPECT_EQ(type("Less", {}, {x, x}), Type::kBool);
  EXPECT_EQ(type("ArgMax", {}, {x}), Type::kInt64);
}

TEST(Shapes, ConstantsAreWhatTheirAttributeHolds) {
  Attribute one, several;
  one.real = 0.5;
  several.reals = {0.5F, -2.0F};
  const auto constant = [](const std::string& key, const Attribute& attribute) {
    return output_of("Constant", {{key, attribute}}, {});
  };
  EXPECT_EQ(constant("value_float", one).numbers, (Reals{0.5F}));
  EXPECT_EQ(constant("value_float", one).dims, Dims{});
  EXPECT_EQ(constant("value_floats", several).numbers, (Reals{0.5F, -2.0F}));
  EXPECT_EQ(constant("value_floats", several).dims, Dims{2});
  EXPECT_EQ(integers_of(constant("value_int", number(7))), Dims{7});
  EXPECT_EQ(constant("value_int", number(7)).dims, Dims{});
  EXPECT_EQ(integers_of(constant("value_ints", list({7, 8}))), (Dims{7, 8}));
  EXPECT_EQ(constant("value_ints", list({7, 8})).dims, Dims{2});
  EXPECT_EQ(integers_of(constant("value", tensor(Type::kInt64, Dims{9}))), Dims{9});
  EXPECT_EQ(constant("value_string", {}).dims, std::nullopt);
  EXPECT_TRUE(constant("value_int", number(7)).constant);
}

}  // namespace
}  // namespace sptc::workload::onnx
