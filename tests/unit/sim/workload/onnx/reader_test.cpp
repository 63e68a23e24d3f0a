// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/onnx_file.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::workload::onnx {
namespace {

using namespace sptc::onnx;
using sptc::onnx::input;  // hides the namespace

constexpr std::int64_t kFloat = 1, kInt8 = 3, kHalf = 10;

Recording read(const std::string& graph, const ImportOptions& options = {}) {
  input::InputStream stream(model(graph), "x");
  return importer::read_recording(stream, options);
}

TEST(Onnx, MatMulWithAWeightIsTransposedAndFoldsItsBatches) {
  const Recording recording =
      read(input("a", kHalf, {2, 16, 32}) + weight("w", kHalf, {32, 64}) + node("MatMul", {"a", "w"}, "y"));
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(recording.account.format, "ONNX model");
  EXPECT_EQ(taken.name, "y");
  EXPECT_EQ(taken.shape, (base::GemmShape{64, 32, 32}));
  EXPECT_EQ(taken.batch, 1);
  EXPECT_EQ(taken.dtype, numerics::DataType::kF16);
  EXPECT_TRUE(taken.prunable);
}

TEST(Onnx, TheBatchIsTheExtentOfThatNameOrTheFirstOneOfAllInputs) {
  const std::string gemm = weight("w", kHalf, {32, 64}) + node("MatMul", {"a", "w"}, "y");
  const auto inputs = [&](const std::string& graph, const ImportOptions& options = {}) {
    return read(graph + gemm, options).workload.inputs;
  };
  EXPECT_EQ(inputs(input("a", kHalf, {8, 16, 32})), 8);
  EXPECT_EQ(inputs(input("a", kHalf, {0, 16, 32}, "N"), {{{"N", 5}}}), 5);
  EXPECT_EQ(inputs(input("a", kHalf, {16, 0, 32}, "Batch_size"), {{{"Batch_size", 3}}}), 3);
  EXPECT_EQ(inputs(input("a", kHalf, {0, 16, 32}, "N"), {{}, {{"a", {7, 16, 32}}}}), 7);
  // A time step has one dimension; two different batches say nothing.
  EXPECT_EQ(inputs(input("a", kHalf, {8, 16, 32}) + input("t", kHalf, {1})), 8);
  EXPECT_EQ(inputs(input("a", kHalf, {8, 16, 32}) + input("b", kHalf, {4, 2})), 0);
}

TEST(Onnx, MatMulOfActivationsKeepsItsBatchesAndHasNoWeight) {
  const Recording recording =
      read(input("a", kFloat, {2, 4, 16, 32}) + input("b", kFloat, {2, 4, 32, 64}) + node("MatMul", {"a", "b"}, "y"));
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{64, 16, 32}));
  EXPECT_EQ(taken.batch, 8);
  EXPECT_EQ(taken.dtype, numerics::DataType::kTf32);
  EXPECT_FALSE(taken.prunable);
}

TEST(Onnx, AWeightInFrontIsAAsItStands) {
  const Recording recording =
      read(input("b", kHalf, {32, 16}) + weight("w", kHalf, {64, 32}) + node("MatMul", {"w", "b"}, "y"));
  EXPECT_EQ(recording.workload.operations.at(0).shape, (base::GemmShape{64, 16, 32}));
  EXPECT_TRUE(recording.workload.operations.at(0).prunable);
}

TEST(Onnx, GemmReadsItsTransposes) {
  const Recording recording = read(input("a", kHalf, {32, 16}) + weight("w", kHalf, {64, 32}) +
                                   node("Gemm", {"a", "w"}, "y", integer("transA", 1) + integer("transB", 1)));
  EXPECT_EQ(recording.workload.operations.at(0).shape, (base::GemmShape{64, 16, 32}));
}

TEST(Onnx, ConvolutionsKeepTheirGeometryAndGroups) {
  const Recording recording =
      read(input("x", kHalf, {2, 16, 9, 9}) + weight("w", kHalf, {32, 8, 3, 3}) +
           node("Conv", {"x", "w"}, "y", ints("strides", {2, 2}) + ints("pads", {1, 1, 1, 1}) + integer("group", 2)));
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{16, 2 * 5 * 5, 72}));
  EXPECT_EQ(taken.batch, 2);
  EXPECT_EQ(taken.conv->stride, (std::array<std::int64_t, 2>{2, 2}));
  const Recording uneven = read(input("x", kHalf, {1, 16, 8, 8}) + weight("w", kHalf, {32, 16, 2, 2}) +
                                node("Conv", {"x", "w"}, "y", ints("pads", {0, 0, 1, 1})));
  EXPECT_EQ(uneven.workload.operations.at(0).shape, (base::GemmShape{32, 64, 64}));
  EXPECT_FALSE(uneven.workload.operations.at(0).conv);
}

TEST(Onnx, TransposedConvolutionsSpreadTheirInput) {
  const Recording recording = read(input("x", kHalf, {1, 16, 8, 8}) + weight("w", kHalf, {16, 4, 2, 2}) +
                                   node("ConvTranspose", {"x", "w"}, "y", ints("strides", {2, 2})) +
                                   weight("v", kHalf, {8, 4, 1, 1}) + node("Conv", {"y", "v"}, "z"));
  EXPECT_EQ(recording.workload.operations.at(0).shape, (base::GemmShape{16, 64, 16}));
  EXPECT_EQ(recording.workload.operations.at(1).shape, (base::GemmShape{8, 256, 4}));
}

TEST(Onnx, ShapesAreFollowedThroughTheGraph) {
  const Recording recording =
      read(input("x", kHalf, {2, 8, 4, 4}) + node("Relu", {"x"}, "r") +
           node("MaxPool", {"r"}, "p", ints("kernel_shape", {2, 2}) + ints("strides", {2, 2})) +
           node("Shape", {"p"}, "s") + shape("zero", {0}) + node("Gather", {"s", "zero"}, "batch") +
           shape("rest", {-1}) + node("Concat", {"batch", "rest"}, "to", integer("axis", 0)) +
           node("Reshape", {"p", "to"}, "flat") + weight("w", kHalf, {32, 16}) + node("MatMul", {"flat", "w"}, "y"));
  EXPECT_EQ(recording.workload.operations.at(0).shape, (base::GemmShape{16, 2, 32}));
}

TEST(Onnx, WeightsMayComeFromConstantNodesAndThroughDequantization) {
  const std::string constant = bytes(5, bytes(1, "value") + bytes(5, tensor("", kHalf, {32, 64})));
  EXPECT_TRUE(read(input("a", kHalf, {16, 32}) + node("Constant", {}, "w", constant) + node("MatMul", {"a", "w"}, "y"))
                  .workload.operations.at(0)
                  .prunable);
  const Recording quantized =
      read(input("a", kInt8, {16, 32}) + weight("s", kFloat, {}) + weight("q", kInt8, {64, 32}) +
           node("DequantizeLinear", {"a", "s"}, "da") + node("DequantizeLinear", {"q", "s"}, "dq") +
           node("Transpose", {"dq"}, "w") + node("MatMul", {"da", "w"}, "y"));
  EXPECT_EQ(quantized.workload.operations.at(0).dtype, numerics::DataType::kS8);
  EXPECT_EQ(quantized.workload.operations.at(0).shape, (base::GemmShape{64, 16, 32}));
  EXPECT_TRUE(quantized.workload.operations.at(0).prunable);
}

TEST(Onnx, OpenDimensionsAreNamedAndGiven) {
  const std::string graph =
      input("a", kHalf, {0, 32}, "batch") + weight("w", kHalf, {32, 64}) + node("MatMul", {"a", "w"}, "y");
  EXPECT_EQ(read(graph, {{{"batch", 7}}}).workload.operations.at(0).shape, (base::GemmShape{64, 7, 32}));
  EXPECT_EQ(read(graph, {{}, {{"a", {9, 32}}}}).workload.operations.at(0).shape.n, 9);
  support::expect_input_error([&] { read(graph); }, {"x: the dimension 'batch' is open", "--dim batch=1"});
  support::expect_input_error(
      [&] {
        read(graph + input("c", kHalf, {0, 0}, "?") + input("d", kHalf, {0}, "seq"));
      },
      {"x: the dimensions 'batch', 'c.0', 'c.1' and 'seq' are open", "--dim batch=1,c.0=1,c.1=1,seq=1"});
  support::expect_input_error([&] { read(graph, {{{"batch", 7}, {"x", 1}}}); }, {"x has no open dimension 'x'"});
  support::expect_input_error(
      [&] {
        read(graph, {{}, {{"b", {9, 32}}}});
      },
      {"--input: x has no input 'b' (nearest valid: 'a'"});
  support::expect_input_error(
      [&] {
        read(input("a", kHalf, {0, 32}) + weight("w", kHalf, {32, 64}));
      },
      {"x: the dimension 'a.0' is open"});
}

TEST(Onnx, WhatCannotBeFollowedIsSaid) {
  const std::string taken =
      input("a", kHalf, {16, 32}) + weight("w", kHalf, {32, 64}) + node("MatMul", {"a", "w"}, "y");
  const auto reason = [&](const std::string& more) {
    const Recording recording = read(taken + more);
    return recording.workload.not_taken.at(0).reason;
  };
  EXPECT_EQ(reason(node("NonMaxSuppression", {"a"}, "n") + node("Relu", {"n"}, "r") + node("MatMul", {"r", "w"}, "z")),
            "its shape is not known: the operator NonMaxSuppression is not followed");
  EXPECT_EQ(reason(node("MatMul", {"w", "w"}, "z")), "the shapes of its operands do not fit");
  EXPECT_EQ(reason(node("LSTM", {"a"}, "z")), "the shapes of its operands do not fit");
  EXPECT_EQ(reason(node("MatMul", {"w", "w"}, "z") + node("MatMul", {"z", "w"}, "v")),
            "the shapes of its operands do not fit");
  EXPECT_EQ(reason(node("MoE", {"a"}, "z")), "experts in one operator: how many tokens each gets is not in the model");
  const Recording later = read(taken + node("MatMul", {"w", "w"}, "z") + node("MatMul", {"z", "w"}, "v"));
  EXPECT_EQ(later.workload.not_taken.at(1).reason, "its shape is not known: the operands of MatMul 'z' do not fit");
}

TEST(Onnx, FilesThatEndEarlyAreRefused) {
  const std::string whole =
      model(input("a", kHalf, {16, 32}) + weight("w", kHalf, {32, 64}) + node("MatMul", {"a", "w"}, "y"));
  support::expect_input_error(
      [&] {
        input::InputStream stream(whole.substr(0, whole.size() - 5), "x");
        importer::read_recording(stream);
      },
      {"x: byte 10: the data end early, so this is no whole ONNX model"});
  support::expect_input_error(
      [] {
        input::InputStream stream(number(1, 8) + bytes(2, "test"), "x");
        importer::read_recording(stream);
      },
      {"x: this ONNX model has no graph"});
  support::expect_input_error(
      [&] {
        read(input("a", kHalf, {INT64_MAX, 32}) + weight("w", kHalf, {32, 64}) + node("MatMul", {"a", "w"}, "y"));
      },
      {"x: dimension 0 of the input 'a' is 9223372036854775807, beyond 2147483647"});
}

}  // namespace
}  // namespace sptc::workload::onnx
