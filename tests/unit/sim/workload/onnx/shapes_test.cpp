// SPDX-License-Identifier: Apache-2.0
// The extents and elements of outputs, each worked out by hand from the specification of the
// operator.
#include "sim/workload/onnx/shapes.h"

#include "sim/workload/onnx/folding.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::workload::onnx {
namespace {

using Attributes = std::map<std::string, Attribute>;
using Inputs = std::vector<Value>;
using Reals = std::vector<float>;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kBeyond = std::int64_t{1} << 31;  // of an extent of that or more

/// A value of these extents, of which no element is known.
Value sized(Dims dims, Type type = Type::kFloat) {
  Value value;
  value.dims = std::move(dims);
  value.type = type;
  return value;
}
/// One axis of integers, or `dims` of them.
Value whole(const Dims& elements, std::optional<Dims> dims = std::nullopt) {
  Value value =
      sized(dims.value_or(Dims{static_cast<std::int64_t>(elements.size())}), Type::kInt64);
  value.integers = elements;
  return value;
}
Value scalar(std::int64_t element) {
  return whole({element}, Dims{});
}
Value real(const Reals& elements) {
  Value value = sized({static_cast<std::int64_t>(elements.size())});
  value.reals = elements;
  return value;
}
Attribute number(std::int64_t integer) {
  Attribute attribute;
  attribute.integer = integer;
  return attribute;
}
Attribute list(const Dims& integers) {
  Attribute attribute;
  attribute.integers = integers;
  return attribute;
}
Attribute tensor(Type type, const std::optional<Dims>& integers, const Reals& reals = {}) {
  Attribute attribute;
  attribute.tensor.emplace();
  attribute.tensor->type = type;
  attribute.tensor->dims = {1};
  attribute.tensor->integers = integers;
  attribute.tensor->reals = reals;
  return attribute;
}

Node node_of(const std::string& op, const Attributes& attributes) {
  Node node;
  node.op = op;
  node.attributes = attributes;
  return node;
}
Value output_of(const std::string& op, const Attributes& attributes, const Inputs& inputs) {
  return infer_outputs(node_of(op, attributes), inputs).at(0);
}

struct Case {
  std::string op;
  Attributes attributes;
  Inputs inputs;
  std::optional<Dims> expected{};
};
void expect_dims(const std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    EXPECT_EQ(output_of(one.op, one.attributes, one.inputs).dims, one.expected)
        << "case " << i << ", " << one.op;
  }
}
/// The integers of the output, be it of any extents.
void expect_integers(const std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    EXPECT_EQ(output_of(one.op, one.attributes, one.inputs).integers, one.expected)
        << "case " << i << ", " << one.op;
  }
}

const Value kNone;                  // nothing is known of it
const Value kX = sized({2, 3, 4});  // of which the cases take parts
const Value kSix = whole({1, 2, 3, 4, 5, 6}, Dims{2, 3});

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
      {"GatherND", {}, {kX, sized({5, 2})}, Dims{5, 4}},
      {"GatherND", {{"batch_dims", number(1)}}, {kX, sized({2, 7, 1})}, Dims{2, 7, 4}},
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
      {"DepthToSpace",
       {{"blocksize", number(4)}},
       {sized({1, 16, 1 << 30, 3})},
       Dims{1, 1, kBeyond, 12}},
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
      {"GatherND", {}, {kX, sized({5, 4})}},
      {"GatherND", {{"batch_dims", number(-1)}}, {kX, sized({5, 2})}},
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
  const Value ids = sized({2, 10}, Type::kInt64), image = sized({2, 3, 8, 8});
  const Value signal = sized({2, 16000, 1});
  expect_dims({
      {"EmbedLayerNormalization", {}, {ids, ids, sized({30522, 768})}, Dims{2, 10, 768}},
      {"OneHot", {}, {sized({2, 3}), scalar(5), sized({2})}, Dims{2, 3, 5}},
      {"OneHot", {{"axis", number(0)}}, {sized({2, 3}), whole({5}), sized({2})}, Dims{5, 2, 3}},
      {"OneHot", {{"axis", number(-2)}}, {sized({2, 3}), whole({5}), sized({2})}, Dims{2, 5, 3}},
      {"GridSample", {}, {image, sized({2, 5, 6, 2})}, Dims{2, 3, 5, 6}},
      {"TopK", {{"k", number(4)}}, {sized({2, 9})}, Dims{2, 4}},
      {"TopK", {{"axis", number(0)}}, {sized({9, 2}), whole({4})}, Dims{4, 2}},
      {"Size", {}, {kX}, Dims{}},
      // (16000 - 400) / 160 + 1 frames of 400 / 2 + 1 frequencies, or of all 400.
      {"STFT", {}, {signal, scalar(160), sized({400})}, Dims{2, 98, 201, 2}},
      {"STFT",
       {{"onesided", number(0)}},
       {signal, scalar(160), kNone, scalar(400)},
       Dims{2, 98, 400, 2}},
      {"DFT", {}, {sized({98, 300, 1})}, Dims{98, 300, 2}},
      {"DFT", {{"onesided", number(1)}}, {sized({98, 300, 1})}, Dims{98, 151, 2}},
      {"DFT", {{"axis", number(2)}}, {sized({2, 98, 300, 1})}, Dims{2, 98, 300, 2}},
      {"DFT",
       {{"onesided", number(1)}, {"axis", number(1)}},
       {sized({2, 98, 300, 1})},
       Dims{2, 50, 300, 2}},
      {"DFT",
       {{"onesided", number(1)}},
       {sized({2, 98, 300, 1}), kNone, scalar(2)},
       Dims{2, 98, 151, 2}},
      {"DFT", {}, {sized({2, 98, 300, 1}), scalar(512), scalar(-2)}, Dims{2, 98, 512, 2}},
  });
  expect_dims({
      {"EmbedLayerNormalization", {}, {ids, ids, kNone}},
      {"OneHot", {}, {sized({2, 3}), sized({}), sized({2})}},
      {"OneHot", {{"axis", number(3)}}, {sized({2, 3}), scalar(5), sized({2})}},
      {"GridSample", {}, {image, sized({2, 5, 6, 7, 3})}},
      {"TopK", {}, {sized({2, 9}), sized({1})}},
      {"TopK", {{"k", number(4)}, {"axis", number(2)}}, {sized({2, 9})}},
      {"STFT", {}, {signal, scalar(0), sized({400})}},
      {"STFT", {}, {signal, scalar(160), kNone, scalar(16001)}},
      {"STFT", {}, {signal, scalar(160)}},
      {"DFT", {}, {sized({2, 98, 300, 1})}},
      {"DFT", {}, {sized({2, 98, 300, 1}), kNone, sized({})}},
      {"DFT", {}, {sized({2, 98, 300, 1}), kNone, scalar(3)}},
      {"NonMaxSuppression", {}, {kX}},
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
  EXPECT_EQ(type("OneHot", {}, {x, scalar(5), sized({2}, Type::kFloat16)}), Type::kFloat16);
  EXPECT_EQ(type("ConstantOfShape", {}, {whole({2})}), Type::kFloat);
  EXPECT_EQ(type("Shape", {}, {x}), Type::kInt64);
  EXPECT_EQ(type("Size", {}, {x}), Type::kInt64);
  EXPECT_EQ(type("Constant", {{"value_int", number(3)}}, {}), Type::kInt64);
  EXPECT_EQ(type("Less", {}, {x, x}), Type::kBool);
}

TEST(Shapes, ConstantsAreWhatTheirAttributeHolds) {
  Attribute one, several;
  one.real = 0.5;
  several.reals = {0.5F, -2.0F};
  const auto constant = [](const std::string& key, const Attribute& attribute) {
    return output_of("Constant", {{key, attribute}}, {});
  };
  EXPECT_EQ(constant("value_float", one).reals, (Reals{0.5F}));
  EXPECT_EQ(constant("value_float", one).dims, Dims{});
  EXPECT_EQ(constant("value_floats", several).reals, (Reals{0.5F, -2.0F}));
  EXPECT_EQ(constant("value_floats", several).dims, Dims{2});
  EXPECT_EQ(constant("value_int", number(7)).integers, Dims{7});
  EXPECT_EQ(constant("value_int", number(7)).dims, Dims{});
  EXPECT_EQ(constant("value_ints", list({7, 8})).integers, (Dims{7, 8}));
  EXPECT_EQ(constant("value_ints", list({7, 8})).dims, Dims{2});
  EXPECT_EQ(constant("value", tensor(Type::kInt64, Dims{9})).integers, Dims{9});
  EXPECT_EQ(constant("value_string", {}).dims, std::nullopt);
  EXPECT_TRUE(constant("value_int", number(7)).constant);
}

TEST(Folding, ShapesAndSizesAreIntegers) {
  expect_integers({
      {"Shape", {}, {kX}, Dims{2, 3, 4}},
      {"Shape", {{"start", number(1)}}, {kX}, Dims{3, 4}},
      {"Shape", {{"start", number(-2)}, {"end", number(-1)}}, {kX}, Dims{3}},
      {"Shape", {{"start", number(5)}}, {kX}, Dims{}},
      {"Shape", {}, {kNone}},
      {"Size", {}, {kX}, Dims{24}},
      {"Size", {}, {sized({1 << 20, 4096})}, Dims{std::int64_t{1} << 32}},
      {"Size", {}, {sized(Dims(4, 1 << 20))}},
      {"Size", {}, {sized({std::int64_t{1} << 31})}},
      {"Size", {}, {kNone}},
  });
}

TEST(Folding, IntegersAreComputedElementByElement) {
  const Value a = whole({7, -7, 6}), b = whole({2, 2, -4});
  const Value low = whole({1, 2, 3}), two = whole({2});
  const Value p = whole({0, 0, 5, 1}), q = whole({0, 1, 0, 1});
  expect_integers({
      {"Add", {}, {a, b}, Dims{9, -5, 2}},
      {"Sub", {}, {a, b}, Dims{5, -9, 10}},
      {"Mul", {}, {a, b}, Dims{14, -14, -24}},
      {"Div", {}, {a, b}, Dims{3, -3, -1}},                    // towards zero
      {"Mod", {}, {a, b}, Dims{1, 1, -2}},                     // the sign of the divisor
      {"Mod", {{"fmod", number(1)}}, {a, b}, Dims{1, -1, 2}},  // that of the dividend
      {"Pow", {}, {a, two}, Dims{49, 49, 36}},
      {"Min", {}, {a, b, low}, Dims{1, -7, -4}},
      {"Max", {}, {a, b}, Dims{7, 2, 6}},
      {"Equal", {}, {low, two}, Dims{0, 1, 0}},
      {"Greater", {}, {low, two}, Dims{0, 0, 1}},
      {"GreaterOrEqual", {}, {low, two}, Dims{0, 1, 1}},
      {"Less", {}, {low, two}, Dims{1, 0, 0}},
      {"LessOrEqual", {}, {low, two}, Dims{1, 1, 0}},
      {"And", {}, {p, q}, Dims{0, 0, 0, 1}},
      {"Or", {}, {p, q}, Dims{0, 1, 1, 1}},
      {"Xor", {}, {p, q}, Dims{0, 1, 1, 0}},
      {"Not", {}, {p}, Dims{1, 1, 0, 0}},
      {"Neg", {}, {a}, Dims{-7, 7, -6}},
      {"Abs", {}, {a}, Dims{7, 7, 6}},
      {"Sign", {}, {whole({-3, 0, 5})}, Dims{-1, 0, 1}},
      {"Add", {}, {whole({10, 20}, Dims{2, 1}), low}, Dims{11, 12, 13, 21, 22, 23}},
      {"Mul", {}, {whole({kMost, kLeast}), two}, Dims{kMost, kLeast}},
      {"Mod", {}, {a, scalar(0)}},  // NaN
      {"Add", {}, {a}},
      {"Add", {}, {a, sized({3}, Type::kInt64)}},
      {"Where", {}, {whole({1, 0, 1}), low, whole({4, 5, 6})}, Dims{1, 5, 3}},
      {"Where", {}, {sized({3}, Type::kBool), low, low}},
      {"Cast", {{"to", number(7)}}, {real({1.75F, -1.75F})}, Dims{1, -1}},
      {"Cast", {{"to", number(9)}}, {real({0.5F, 0.0F, 2.0F})}, Dims{1, 0, 1}},
  });
}

TEST(Folding, RealsAreComputedElementByElement) {
  const auto reals = [](const std::string& op, const Inputs& inputs) {
    return output_of(op, {}, inputs).reals;
  };
  const Value x = real({-1.5F, 0.0F, 2.5F});
  EXPECT_EQ(reals("Neg", {x}), (Reals{1.5F, 0.0F, -2.5F}));
  EXPECT_EQ(reals("Abs", {x}), (Reals{1.5F, 0.0F, 2.5F}));
  EXPECT_EQ(reals("Floor", {x}), (Reals{-2.0F, 0.0F, 2.0F}));
  EXPECT_EQ(reals("Ceil", {x}), (Reals{-1.0F, 0.0F, 3.0F}));
  EXPECT_EQ(reals("Round", {x}), (Reals{-2.0F, 0.0F, 2.0F}));  // ties to even
  EXPECT_EQ(reals("Sign", {x}), (Reals{-1.0F, 0.0F, 1.0F}));
  EXPECT_EQ(reals("Sqrt", {real({4.0F, 0.25F})}), (Reals{2.0F, 0.5F}));
  EXPECT_EQ(reals("Sqrt", {x}), Reals{});  // NaN
  EXPECT_EQ(reals("Reciprocal", {real({4.0F, -0.5F})}), (Reals{0.25F, -2.0F}));
  EXPECT_EQ(reals("Div", {real({7.0F}), real({2.0F})}), (Reals{3.5F}));
  EXPECT_EQ(reals("Range", {real({0.5F}), real({2.0F}), real({0.5F})}), (Reals{0.5F, 1.0F, 1.5F}));
  EXPECT_EQ(reals("ConstantOfShape", {whole({2})}), (Reals{0.0F, 0.0F}));
  EXPECT_EQ(reals("ConstantOfShape", {whole({64})}).size(), 64U);
  EXPECT_EQ(reals("ConstantOfShape", {whole({65})}), Reals{});  // more than are kept
}

TEST(Folding, ArrangedElementsKeepTheirOrder) {
  const Value cube = whole({0, 1, 2, 3, 4, 5, 6, 7}, Dims{2, 2, 2});
  const Value tall = whole({1, 2, 3, 4, 5, 6}, Dims{3, 2});
  expect_integers({
      {"Reshape", {}, {kSix, whole({3, 2})}, Dims{1, 2, 3, 4, 5, 6}},
      {"Expand", {}, {whole({1, 2}), whole({2, 2})}, Dims{1, 2, 1, 2}},
      {"Transpose", {}, {kSix}, Dims{1, 4, 2, 5, 3, 6}},
      {"Transpose", {{"perm", list({1, 0, 2})}}, {cube}, Dims{0, 1, 4, 5, 2, 3, 6, 7}},
      {"Transpose", {{"perm", list({1, 2, 0})}}, {cube}, Dims{0, 4, 1, 5, 2, 6, 3, 7}},
      {"Transpose", {}, {sized({2, 3}, Type::kInt64)}},
      {"Slice", {}, {kSix, whole({2}), whole({kLeast}), whole({1}), whole({-2})}, Dims{3, 1, 6, 4}},
      {"Slice", {}, {sized({4}, Type::kInt64), whole({2}), whole({4})}},
      {"Gather", {}, {tall, whole({2, 0})}, Dims{5, 6, 1, 2}},
      {"Gather", {{"axis", number(1)}}, {tall, whole({-1})}, Dims{2, 4, 6}},
      {"Gather", {}, {tall, whole({3})}},  // there is none
      {"Gather", {}, {tall, sized({1}, Type::kInt64)}},
      {"Concat", {}, {whole({1}), whole({2, 3}), whole({4})}, Dims{1, 2, 3, 4}},
      {"Concat", {{"axis", number(1)}}, {kSix, kSix}},
      {"Range", {}, {scalar(0), scalar(10), scalar(3)}, Dims{0, 3, 6, 9}},
      {"Range", {}, {scalar(5), scalar(0), scalar(-2)}, Dims{5, 3, 1}},
      {"Range", {}, {scalar(3), scalar(3), scalar(1)}, Dims{}},
      {"Range", {}, {scalar(0), scalar(5), scalar(0)}},
      {"Range", {}, {scalar(0), scalar(5000), scalar(1)}},  // more than are kept
      {"Range", {}, {scalar(0), scalar(kMost), scalar(1)}},
      {"ConstantOfShape", {{"value", tensor(Type::kInt64, Dims{7})}}, {whole({2})}, Dims{7, 7}},
      {"ConstantOfShape", {{"value", tensor(Type::kInt32, {}, {3.0F})}}, {whole({1})}, Dims{3}},
      {"ConstantOfShape", {{"value", tensor(Type::kInt64, {})}}, {whole({2})}},
      {"ConstantOfShape", {{"value", tensor(Type::kInt64, Dims{7})}}, {whole({4097})}},
      {"ReduceProd", {{"keepdims", number(0)}}, {whole({2, 3, 4})}, Dims{24}},
      {"ReduceSum", {}, {whole({2, 3, 4})}, Dims{9}},
      {"ReduceMax", {}, {whole({2, 4, 3})}, Dims{4}},
      {"ReduceMin", {}, {whole({3, 2, 4})}, Dims{2}},
      {"ReduceSum", {{"axes", list({0})}}, {kSix}},
  });
}

TEST(Folding, ASplitHasItsPartsOfTheElements) {
  const auto parts = [](int count, const Inputs& inputs, std::int64_t axis = 0) {
    Node node = node_of("Split", {{"axis", number(axis)}});
    node.outputs.resize(static_cast<std::size_t>(count));
    return infer_outputs(node, inputs);
  };
  const Value row = whole({1, 2, 3, 4, 5, 6});
  const std::vector<Value> two = parts(2, {row, whole({2, 4})});
  EXPECT_EQ(two[0].integers, (Dims{1, 2}));
  EXPECT_EQ(two[1].integers, (Dims{3, 4, 5, 6}));
  const std::vector<Value> columns = parts(3, {kSix}, 1);
  EXPECT_EQ(columns[2].dims, (Dims{2, 1}));
  EXPECT_EQ(columns[2].integers, (Dims{3, 6}));
  const std::vector<Value> four = parts(4, {row});  // the last has what is left
  EXPECT_EQ(four[2].integers, (Dims{5, 6}));
  EXPECT_EQ(four[3].dims, Dims{0});
  const std::vector<Value> beyond = parts(2, {row, whole({5, 5})});
  EXPECT_EQ(beyond[0].integers, (Dims{1, 2, 3, 4, 5}));
  EXPECT_EQ(beyond[1].integers, std::nullopt);
  EXPECT_EQ(parts(2, {row, whole({-1, 7})})[1].dims, std::nullopt);
  EXPECT_EQ(parts(2, {row}, 1)[0].dims, std::nullopt);
}

TEST(Folding, NumbersAreThoseOfAllElements) {
  EXPECT_EQ(numbers_of(whole({3, 4})), (std::vector<double>{3, 4}));
  EXPECT_EQ(numbers_of(real({0.5F})), (std::vector<double>{0.5}));
  EXPECT_EQ(numbers_of(kNone), std::nullopt);
  EXPECT_EQ(numbers_of(whole({3, 4}, Dims{3})), std::nullopt);
  EXPECT_EQ(numbers_of(whole({}, Dims{-1})), std::nullopt);
  EXPECT_EQ(numbers_of(whole({3, 4}, Dims{4096, 2})), std::nullopt);
  EXPECT_EQ(numbers_of(whole({}, Dims{0, 4096})), std::vector<double>{});
  EXPECT_EQ(numbers_of(whole({}, Dims{0, 4096, 4096})), std::nullopt);  // strides of 2^24
}

}  // namespace
}  // namespace sptc::workload::onnx
