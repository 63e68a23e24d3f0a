// SPDX-License-Identifier: Apache-2.0
// Branches, loops, functions and operators of whole layers.
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/onnx_file.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sptc::workload::onnx {
namespace {

using namespace sptc::onnx;
using sptc::onnx::input;  // hides the namespace

constexpr std::int64_t kFloat = 1, kUint8 = 2, kInt8 = 3, kInt64 = 7, kBool = 9, kHalf = 10;

Recording read_model(const std::string& bytes, const ImportOptions& options = {}) {
  input::InputStream stream(bytes, "x");
  return importer::read_recording(stream, options);
}
Recording read(const std::string& graph, const ImportOptions& options = {}) {
  return read_model(model(graph), options);
}

/// What is taken, by name: extents, batch, count.
struct Taken {
  base::GemmShape shape;
  std::int64_t batch = 1, count = 1;
  bool operator==(const Taken&) const = default;
};
std::map<std::string, Taken> taken_of(const Recording& recording) {
  std::map<std::string, Taken> result;
  for (const Operation& op : recording.workload.operations) {
    result[op.name] = {op.shape, op.batch, op.count};
  }
  return result;
}
using All = std::map<std::string, Taken>;

const std::string kX = input("x", kHalf, {16, 32}) + weight("w", kHalf, {32, 32});
const std::string kThen = node("MatMul", {"x", "w"}, "t") + output("t");
const std::string kElse = node("MatMul", {"x", "w"}, "e") + node("MatMul", {"e", "w"}, "f") + output("f");
const std::string kBranches = graph("then_branch", kThen) + graph("else_branch", kElse);
const std::string kAfter = node("MatMul", {"i", "w"}, "y");
const Taken kSquare{{32, 16, 32}};

TEST(Graph, ABranchWhoseConditionIsKnownIsTaken) {
  const auto with = [](std::int64_t condition) {
    return read(kX + bytes(5, tensor("c", kBool, {}, number(5, condition))) + node("If", {"c"}, "i", kBranches) +
                kAfter);
  };
  EXPECT_EQ(taken_of(with(1)), (All{{"t", kSquare}, {"y", kSquare}}));
  EXPECT_EQ(with(1).workload.not_taken.size(), 2U);
  EXPECT_EQ(with(1).workload.not_taken[0].reason, "in the branch of an If that is not taken");
  EXPECT_EQ(taken_of(with(0)), (All{{"e", kSquare}, {"f", kSquare}, {"y", kSquare}}));
}

TEST(Graph, OfBranchesWithoutAKnownConditionThatWithMoreGemmsIsTaken) {
  const Recording recording = read(kX + input("c", kBool, {}) + node("If", {"c"}, "i", kBranches) + kAfter);
  EXPECT_EQ(taken_of(recording), (All{{"e", kSquare}, {"f", kSquare}, {"y", kSquare}}));
  EXPECT_EQ(recording.account.notes.at(2),
            "the condition of If 'i' is not in the model: its else branch is taken, which has 2 "
            "GEMM operators, and not the other with 1");
}

TEST(Graph, ALoopWithAKnownNumberOfIterationsRepeatsItsBody) {
  const std::string body = input("n", kInt64, {}) + input("go", kBool, {}) + input("s", kHalf, {16, 32}) +
                           node("MatMul", {"s", "w"}, "v") + node("Relu", {"v"}, "u") + node("Identity", {"go"}, "on") +
                           output("on") + output("u") + output("u");
  const std::string loop = node_of("Loop", {"times", "", "x"}, {"last", "all"}, graph("body", body));
  const Recording recording = read(kX + bytes(5, tensor("times", kInt64, {}, number(7, 5))) + loop +
                                   node("MatMul", {"last", "w"}, "y") + node("MatMul", {"all", "w"}, "z"));
  EXPECT_EQ(taken_of(recording), (All{{"v", {{32, 16, 32}, 1, 5}}, {"y", kSquare}, {"z", {{32, 80, 32}}}}));
  ASSERT_EQ(recording.workload.vectors.size(), 1);
  EXPECT_EQ(recording.workload.vectors[0].count, 5);
  const Recording open = read(kX + input("times", kInt64, {}) + loop + node("MatMul", {"x", "w"}, "y"));
  EXPECT_EQ(taken_of(open), (All{{"y", kSquare}}));
  EXPECT_EQ(open.workload.not_taken.at(0).reason, "inside Loop: how often it runs is not in the model");
}

TEST(Graph, AScanRunsOnceForEachSlice) {
  const std::string body = input("s", kHalf, {16, 32}) + input("part", kHalf, {16, 32}) +
                           node("MatMul", {"part", "w"}, "u") + output("s") + output("u");
  const std::string axes = ints("scan_input_axes", {1}) + ints("scan_output_axes", {-1});
  const Recording recording =
      read(kX + input("all", kHalf, {16, 7, 32}) +
           node_of("Scan", {"x", "all"}, {"last", "out"}, graph("body", body) + integer("num_scan_inputs", 1) + axes) +
           weight("v", kHalf, {7, 64}) + node("MatMul", {"out", "v"}, "z"));
  EXPECT_EQ(taken_of(recording), (All{{"u", {{32, 16, 32}, 1, 7}}, {"z", {{64, 512, 7}}}}));
}

TEST(Graph, QuantizedOperatorsBetweenGemmsKeepTheExtents) {
  const std::string begin = input("a", kUint8, {4, 32}) + input("b", kUint8, {4, 32}) + weight("w", kInt8, {64, 16}) +
                            weight("s", kFloat, {}) + weight("z", kUint8, {}) + weight("zw", kInt8, {});
  const auto product = [&](const std::string& between) {
    return taken_of(read(begin + between + node("QLinearMatMul", {"x", "s", "z", "w", "s", "zw", "s", "z"}, "y")));
  };
  const All expected{{"y", {{16, 4, 64}}}};
  const std::string joined = node("QLinearConcat", {"s", "z", "c", "s", "z", "b", "s", "z"}, "x", integer("axis", 1));
  for (const char* op : {"QLinearAdd", "QLinearMul"}) {
    EXPECT_EQ(product(node(op, {"a", "s", "z", "b", "s", "z", "s", "z"}, "c") + joined), expected);
  }
}

TEST(Graph, FunctionsAreFollowedWithTheAttributesOfTheCall) {
  const std::string refers = bytes(5, bytes(1, "transB") + bytes(21, "turn"));
  const std::string function = bytes(
      25, bytes(1, "Dense") + bytes(4, "a") + bytes(4, "b") + bytes(5, "c") +
              bytes(7, bytes(1, "a") + bytes(1, "b") + bytes(2, "c") + bytes(4, "Gemm") + refers) + bytes(10, "own"));
  const std::string graph = input("x", kHalf, {16, 32}) + weight("v", kHalf, {64, 32}) +
                            node_of("Dense", {"x", "v"}, {"y"}, integer("turn", 1), "own");
  EXPECT_EQ(taken_of(read_model(model(graph) + function)), (All{{"y/c", {{64, 16, 32}}}}));
  const std::string endless =
      bytes(25, bytes(1, "F") + bytes(4, "a") + bytes(5, "b") +
                    bytes(7, bytes(1, "a") + bytes(2, "b") + bytes(4, "F") + bytes(7, "own")) + bytes(10, "own"));
  support::expect_input_error([&] { read_model(model(kX + node_of("F", {"x"}, {"y"}, "", "own")) + endless); },
                              {"x: functions, branches and loops are nested deeper than 64 levels"});
}

TEST(Graph, RecurrencesAreOneGemmOfTheInputAndOnePerStep) {
  const Recording recording = read(input("x", kHalf, {10, 4, 32}) + weight("w", kHalf, {2, 64, 32}) +
                                   weight("r", kHalf, {2, 64, 16}) + node_of("LSTM", {"x", "w", "r"}, {"y", "h"}) +
                                   weight("v", kHalf, {16, 8}) + node("MatMul", {"y", "v"}, "z"));
  EXPECT_EQ(taken_of(recording),
            (All{{"y.input", {{64, 40, 32}, 2, 1}}, {"y.state", {{64, 4, 16}, 2, 10}}, {"z", {{8, 80, 16}}}}));
  EXPECT_TRUE(recording.workload.operations.at(0).prunable);
}

TEST(Graph, AttentionIsItsProjectionAndTwoProducts) {
  const Recording projected = read(input("x", kHalf, {2, 10, 64}) + weight("w", kHalf, {64, 192}) +
                                   node_of("Attention", {"x", "w"}, {"y"}, integer("num_heads", 4), "com.microsoft"));
  EXPECT_EQ(taken_of(projected),
            (All{{"y.qkv", {{192, 20, 64}}}, {"y.scores", {{10, 10, 16}, 8}}, {"y.context", {{16, 10, 10}, 8}}}));
  const Recording grouped = read(input("q", kHalf, {2, 1, 64}) + input("k", kHalf, {2, 1, 32}) +
                                 input("v", kHalf, {2, 1, 32}) + input("past", kHalf, {2, 2, 9, 16}) +
                                 node_of("GroupQueryAttention", {"q", "k", "v", "past"}, {"y"},
                                         integer("num_heads", 4) + integer("kv_num_heads", 2), "com.microsoft"));
  EXPECT_EQ(taken_of(grouped), (All{{"y.scores", {{10, 2, 16}, 4}}, {"y.context", {{16, 2, 10}, 4}}}));
}

TEST(Graph, SumsOfProductsAreGemms) {
  const auto equation = [](const std::string& text) { return bytes(5, bytes(1, "equation") + bytes(4, text)); };
  const Recording recording =
      read(input("a", kHalf, {2, 3, 16, 32}) + input("b", kHalf, {2, 3, 8, 32}) +
           node("Einsum", {"a", "b"}, "y", equation("bhqd,bhkd->bhqk")) + node("MatMul", {"y", "b"}, "z"));
  EXPECT_EQ(taken_of(recording), (All{{"y", {{8, 16, 32}, 6}}, {"z", {{32, 16, 8}, 6}}}));
}

TEST(Graph, DynamicallyQuantizedProductsAreInt8) {
  const Recording recording =
      read(input("x", kFloat, {16, 32}) + node_of("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"}) +
           weight("w", kInt8, {32, 64}) + node("MatMulInteger", {"q", "w", "zero"}, "i") +
           node("Cast", {"i"}, "f", integer("to", kFloat)) + node("Mul", {"f", "scale"}, "m") +
           weight("v", kFloat, {64, 8}) + node("MatMul", {"m", "v"}, "y"));
  EXPECT_EQ(taken_of(recording), (All{{"i", {{64, 16, 32}}}, {"y", {{8, 16, 64}}}}));
  EXPECT_EQ(recording.workload.operations.at(0).dtype, numerics::DataType::kS8);
  EXPECT_EQ(recording.workload.operations.at(1).dtype, numerics::DataType::kTf32);
}

TEST(Graph, OnlyProductsOfTwoQuantizedOperandsAreInt8) {
  const std::string graph = input("x", kUint8, {16, 32}) + weight("s", kFloat, {}) + weight("q", kInt8, {32, 32}) +
                            node("DequantizeLinear", {"x", "s"}, "dx") + node("DequantizeLinear", {"q", "s"}, "dq") +
                            node("MatMul", {"dx", "dq"}, "a") + node("Softmax", {"dx"}, "soft") +
                            node("MatMul", {"soft", "dq"}, "b");
  const Recording recording = read(graph);
  EXPECT_EQ(recording.workload.operations.at(0).dtype, numerics::DataType::kS8);
  EXPECT_EQ(recording.workload.operations.at(1).dtype, numerics::DataType::kTf32);
}

/// Expand of [16, 1] to what a model computes from the shape of x.
TEST(Graph, NumbersThatAModelComputesFromShapesAreKnown) {
  const std::string value = bytes(5, bytes(1, "value") + bytes(5, tensor("", kInt64, {1}, number(7, 1))));
  const Recording recording =
      read(kX + node("Shape", {"x"}, "s") + shape("back", {-1}) + shape("from", {-1}) + shape("to", {INT64_MIN}) +
           shape("axis", {0}) + node("Slice", {"s", "from", "to", "axis", "back"}, "turned") +  // 32, 16
           node("ConstantOfShape", {"two"}, "ones", value) + shape("two", {2}) +                // 1, 1
           node("Mul", {"ones", "back"}, "minus") + node("Equal", {"minus", "back"}, "all") +
           node("Where", {"all", "turned", "ones"}, "dims") +  // 32, 16
           input("one", kHalf, {1, 1}) + node("Expand", {"one", "dims"}, "e") + node("MatMul", {"x", "e"}, "y"));
  EXPECT_EQ(taken_of(recording), (All{{"y", {{16, 16, 32}}}}));
}

TEST(Graph, EmptyOperandsAreNotTaken) {
  const Recording recording =
      read(kX + shape("zero", {0}) + shape("one", {0}) + node("Slice", {"x", "zero", "zero", "one"}, "none") +
           node("MatMul", {"none", "w"}, "n") + node("MatMul", {"x", "w"}, "y"));
  EXPECT_EQ(recording.workload.not_taken.at(0).reason, "an operand is empty");
}

TEST(Graph, EmptyTensorsArePooledAndAttendedToByNothing) {
  const std::string product = node("MatMul", {"x", "w"}, "y");
  const Recording pooled =
      read(kX + product + weight("none", kHalf, {5, 0}) + node("GlobalAveragePool", {"none", "x"}, "p"));
  EXPECT_EQ(pooled.workload.vectors.size(), 0U);
  const Recording attended = read(kX + product + weight("q", kHalf, {1, 0, 4, 4}) + weight("k", kHalf, {1, 2, 4, 4}) +
                                  node("Attention", {"q", "k", "k"}, "a"));
  EXPECT_EQ(taken_of(attended), (All{{"y", kSquare}}));
  EXPECT_EQ(attended.workload.not_taken.at(0).reason, "the shapes of its operands do not fit");
}

}  // namespace
}  // namespace sptc::workload::onnx
