// SPDX-License-Identifier: Apache-2.0
// The elements of outputs, each worked out by hand from the specification of the operator.
#include "sim/workload/onnx/operators.h"
#include "tests/unit/sim/workload/onnx/node_cases.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::workload::onnx {
namespace {

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
      {"Div", {}, {a, b}, Dims{3, -3, -1}},    // towards zero
      {"Mod", {}, {a, b}, Dims{1, 1, -2}},     // the sign of the divisor
      {"Mod", {{"fmod", number(1)}}, {a, b}},  // not known
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
      {"Not", {}, {p}, Dims{1, 1, 0, 0}},
      {"Neg", {}, {a}, Dims{-7, 7, -6}},
      {"Abs", {}, {a}, Dims{7, 7, 6}},
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
    return output_of(op, {}, inputs).numbers.value_or(Reals{});
  };
  const Value x = real({-1.5F, 0.0F, 2.5F});
  EXPECT_EQ(reals("Neg", {x}), (Reals{1.5F, 0.0F, -2.5F}));
  EXPECT_EQ(reals("Abs", {x}), (Reals{1.5F, 0.0F, 2.5F}));
  EXPECT_EQ(reals("Floor", {x}), (Reals{-2.0F, 0.0F, 2.0F}));
  EXPECT_EQ(reals("Ceil", {x}), (Reals{-1.0F, 0.0F, 3.0F}));
  EXPECT_EQ(reals("Sqrt", {real({4.0F, 0.25F})}), (Reals{2.0F, 0.5F}));
  EXPECT_EQ(reals("Sqrt", {x}), Reals{});  // NaN
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
  EXPECT_EQ(integers_of(two[0]), (Dims{1, 2}));
  EXPECT_EQ(integers_of(two[1]), (Dims{3, 4, 5, 6}));
  const std::vector<Value> columns = parts(3, {kSix}, 1);
  EXPECT_EQ(columns[2].dims, (Dims{2, 1}));
  EXPECT_EQ(integers_of(columns[2]), (Dims{3, 6}));
  const std::vector<Value> four = parts(4, {row});  // the last has what is left
  EXPECT_EQ(integers_of(four[2]), (Dims{5, 6}));
  EXPECT_EQ(four[3].dims, Dims{0});
  const std::vector<Value> beyond = parts(2, {row, whole({5, 5})});
  EXPECT_EQ(integers_of(beyond[0]), (Dims{1, 2, 3, 4, 5}));
  EXPECT_EQ(integers_of(beyond[1]), std::nullopt);
  EXPECT_EQ(parts(2, {row, whole({-1, 7})})[1].dims, std::nullopt);
  EXPECT_EQ(parts(2, {row}, 1)[0].dims, std::nullopt);
}

TEST(Folding, ElementsAreAsManyAsTheExtentsSay) {
  const auto settled = [](Value value) {
    settle(value);
    return value.numbers;
  };
  EXPECT_EQ(settled(whole({3, 4})), (Numbers{3, 4}));
  EXPECT_EQ(settled(real({0.5F})), (Numbers{0.5}));
  EXPECT_EQ(settled(kNone), std::nullopt);
  EXPECT_EQ(settled(whole({3, 4}, Dims{3})), std::nullopt);
  EXPECT_EQ(settled(whole({3, 4}, Dims{4096, 2})), std::nullopt);
  EXPECT_EQ(settled(whole({}, Dims{0, 4096})), Numbers{});
  EXPECT_EQ(settled(whole({}, Dims{0, 4096, 4096})), std::nullopt);  // strides of 2^24
  EXPECT_EQ(settled(whole({1}, Dims(17, 1))), std::nullopt);         // more axes than tensors have
}

}  // namespace
}  // namespace sptc::workload::onnx
