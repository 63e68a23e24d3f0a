// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/network_changes.h"

#include "models/numerics/data_type.h"
#include "sim/run/network/kernel_plan.h"
#include "sim/workload/workload.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sptc::run::network {
namespace {

workload::Operation weight(const std::string& name, std::int64_t m, const std::string& input) {
  workload::Operation op;
  op.name = name;
  op.shape = {m, 128, 1024};
  op.input = input;
  op.prunable = true;
  return op;
}

workload::VectorOperation vector(workload::VectorKind kind, std::size_t after) {
  workload::VectorOperation op;
  op.kind = kind;
  op.after = after;
  return op;
}

TEST(Siblings, QueriesKeysAndValuesAreOneGemm) {
  std::vector<workload::Operation> gemms{weight("q", 1024, "x"), weight("k", 256, "x"), weight("v", 256, "x"),
                                         weight("o", 1024, "y")};
  std::vector<workload::VectorOperation> vectors{
      vector(workload::VectorKind::kBias, 1), vector(workload::VectorKind::kBias, 2),
      vector(workload::VectorKind::kBias, 3), vector(workload::VectorKind::kResidual, 4)};
  merge_siblings(load_engine("tensorrt"), gemms, vectors);
  ASSERT_EQ(gemms.size(), 2U);
  EXPECT_EQ(gemms[0].shape, (base::GemmShape{1536, 128, 1024}));
  EXPECT_EQ(gemms[1].name, "o");
  EXPECT_EQ(vectors[0].after, 1U);
  EXPECT_EQ(vectors[2].after, 1U);
  EXPECT_EQ(vectors[3].after, 2U);
}

TEST(Siblings, OtherInputsAndWhatStandsBetweenKeepThemApart) {
  const EngineSpec engine = load_engine("tensorrt");
  std::vector<workload::Operation> other{weight("a", 1024, "x"), weight("b", 1024, "y")};
  std::vector<workload::VectorOperation> none;
  merge_siblings(engine, other, none);
  EXPECT_EQ(other.size(), 2U);
  std::vector<workload::Operation> unknown{weight("a", 1024, ""), weight("b", 1024, "")};
  merge_siblings(engine, unknown, none);
  EXPECT_EQ(unknown.size(), 2U);
  std::vector<workload::Operation> gated{weight("gate", 1024, "x"), weight("up", 1024, "x")};
  std::vector<workload::VectorOperation> silu{vector(workload::VectorKind::kSilu, 1)};
  merge_siblings(engine, gated, silu);
  EXPECT_EQ(gated.size(), 2U);
}

TEST(Siblings, WithoutARuleNothingChanges) {
  std::vector<workload::Operation> gemms{weight("q", 1024, "x"), weight("k", 1024, "x")};
  std::vector<workload::VectorOperation> none;
  merge_siblings(load_engine("pytorch"), gemms, none);
  EXPECT_EQ(gemms.size(), 2U);
}

using workload::VectorKind;

constexpr double kElements = 64.0 * 128;

workload::VectorOperation vector(const char* name, VectorKind kind, std::size_t after) {
  workload::VectorOperation op;
  op.name = name;
  op.kind = kind;
  op.rows = op.input_rows = 64;
  op.columns = 128;
  op.tensors = workload::info(kind).tensors;
  op.after = after;
  return op;
}

/// A GEMM, a residual, a norm, and another GEMM.
struct Layer {
  std::vector<workload::Operation> gemms{2};
  std::vector<workload::VectorOperation> vectors{vector("gelu", VectorKind::kGelu, 1),
                                                 vector("sum", VectorKind::kResidual, 1),
                                                 vector("norm", VectorKind::kLayerNorm, 1)};
  EngineSpec engine;

  Layer() {
    for (workload::Operation& op : gemms) {
      op.name = &op == gemms.data() ? "first" : "second";
      op.shape = {128, 64, 128};
    }
    engine.wide = {VectorKind::kResidual, VectorKind::kLayerNorm};
  }
};

TEST(WidenTensors, NothingChangesWhereTheEngineHasNone) {
  Layer layer;
  layer.engine.wide.clear();
  widen_tensors(layer.engine, layer.gemms, layer.vectors);
  EXPECT_EQ(layer.vectors.size(), 3U);
  EXPECT_EQ(layer.vectors.back().output_bits, 0);
}

TEST(WidenTensors, AConversionStandsBeforeAGemm) {
  Layer layer;
  widen_tensors(layer.engine, layer.gemms, layer.vectors);
  ASSERT_EQ(layer.vectors.size(), 4U);
  EXPECT_EQ(layer.vectors[0].output_bits, 16);
  EXPECT_EQ(layer.vectors[1].input_bits, 16);
  EXPECT_EQ(layer.vectors[1].output_bits, 32);
  EXPECT_EQ(layer.vectors[2].input_bits, 32);
  EXPECT_EQ(layer.vectors[3].name, "second.input");
  EXPECT_EQ(layer.vectors[3].input_bits, 32);
  EXPECT_EQ(layer.vectors[3].output_bits, 16);
  EXPECT_EQ(layer.vectors[3].after, 1U);

  const Network network{layer.gemms, layer.vectors, layer.engine};
  const std::vector<PlannedKernel> kernels = plan_kernels(network);
  ASSERT_EQ(kernels.size(), 6U);
  const KernelBytes sum = bytes_of(kernels[2], network);
  EXPECT_DOUBLE_EQ(sum.recent, 2 * kElements);
  EXPECT_DOUBLE_EQ(sum.earlier, 4 * kElements);
  EXPECT_DOUBLE_EQ(sum.written, 4 * kElements);
  const KernelBytes conversion = bytes_of(kernels[4], network);
  EXPECT_DOUBLE_EQ(conversion.recent, 4 * kElements);
  EXPECT_DOUBLE_EQ(conversion.written, 2 * kElements);
}

TEST(WidenTensors, AChainWritesBothTypes) {
  Layer layer;
  FusionRule chain;
  chain.operations = {VectorKind::kResidual, VectorKind::kLayerNorm, VectorKind::kCopy};
  layer.engine.rules.push_back(chain);
  widen_tensors(layer.engine, layer.gemms, layer.vectors);
  ASSERT_EQ(layer.vectors.size(), 3U);
  EXPECT_EQ(layer.vectors[2].output_bits, 32 + 16);
  const Network network{layer.gemms, layer.vectors, layer.engine};
  const std::vector<PlannedKernel> kernels = plan_kernels(network);
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_DOUBLE_EQ(bytes_of(kernels[2], network).written, 6 * kElements);
}

/// The layer in e4m3, as `engine` plans it: names of its kernels.
class Quantised : public testing::Test {
 protected:
  Layer layer;

  void quantise(const EngineSpec& engine) {
    layer.engine = engine;
    for (workload::Operation& op : layer.gemms) {
      op.dtype = numerics::DataType::kE4m3;
    }
    quantise_inputs(layer.engine, layer.gemms, layer.vectors);
    kernels = plan_kernels({layer.gemms, layer.vectors, layer.engine});
  }
  KernelBytes bytes(std::size_t kernel) const {
    return bytes_of(kernels[kernel], {layer.gemms, layer.vectors, layer.engine});
  }
  std::vector<PlannedKernel> kernels;
};

TEST_F(Quantised, IsALaunchBeforeEachGemm) {
  quantise(load_engine("vllm@0.10"));
  ASSERT_EQ(kernels.size(), 5U);
  EXPECT_EQ(kernels[0].name, "first.quantize");
  EXPECT_EQ(kernels[3].name, "second.quantize");
  EXPECT_DOUBLE_EQ(bytes(3).recent, 2 * kElements);
  EXPECT_DOUBLE_EQ(bytes(3).written, kElements);
  EXPECT_DOUBLE_EQ(bytes(2).written, 2 * kElements);
}

TEST_F(Quantised, IsFusedWithTheNormBefore) {
  quantise(load_engine("vllm@0.11"));
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_EQ(kernels[2].vectors.size(), 4U);
  EXPECT_DOUBLE_EQ(bytes(2).written, kElements);
}

TEST_F(Quantised, HappensInTheEpilogueOfAnEngineThatHasThat) {
  layer.vectors.resize(1);
  quantise(load_engine("tensorrt"));
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[1].vectors.size(), 2U);
  const std::vector<workload::Operation> run = under_engine({layer.gemms, layer.vectors, layer.engine}, kernels);
  EXPECT_EQ(run[0].d_dtype, numerics::DataType::kE4m3);
  EXPECT_EQ(run[1].d_dtype, numerics::DataType::kF16);
}

TEST_F(Quantised, IsOnceForCompiledNeighboursOfOneTensor) {
  for (workload::Operation& op : layer.gemms) {
    op.input = "x";
  }
  const std::vector<workload::VectorOperation> given = layer.vectors;
  quantise(load_engine("compiled"));
  EXPECT_EQ(layer.vectors.size(), given.size() + 1);
  layer.vectors = given;
  quantise(load_engine("pytorch"));
  EXPECT_EQ(layer.vectors.size(), given.size() + 2);
}

TEST_F(Quantised, LeavesSixteenBitsAndListsOfGemmsAsTheyAre) {
  EngineSpec engine = load_engine("vllm");
  std::vector<workload::VectorOperation> vectors = layer.vectors;
  quantise_inputs(engine, layer.gemms, vectors);
  EXPECT_EQ(vectors.size(), layer.vectors.size());
  layer.vectors.clear();
  quantise(engine);
  EXPECT_TRUE(layer.vectors.empty());
  // What several GPUs add is none of the list.
  layer.vectors.resize(1);
  layer.vectors[0].kind = workload::VectorKind::kAllReduce;
  layer.vectors[0].after = layer.gemms.size();
  quantise(engine);
  EXPECT_EQ(layer.vectors.size(), 1U);
}

TEST(Kernels, WeightsWithoutAnyStayDenseAndTypesWithoutAnyAreRefused) {
  std::vector<workload::Operation> gemms(2);
  gemms[0].name = "w";
  gemms[0].dtype = numerics::DataType::kE4m3;
  gemms[0].prunable = gemms[1].prunable = true;
  EXPECT_EQ(keep_dense_without_kernels(load_engine("vllm@0.18"), gemms), "");
  EXPECT_TRUE(gemms[0].prunable);
  EXPECT_NE(keep_dense_without_kernels(load_engine("vllm@0.19"), gemms), "");
  EXPECT_FALSE(gemms[0].prunable || gemms[1].prunable);
  require_types(load_engine("vllm"), gemms);
  support::expect_input_error([&] { require_types(load_engine("tensorrt@8.0"), gemms); },
                              {"'w': tensorrt 8.0 has no linear layers of e4m3", "since 9.0"});
}

}  // namespace
}  // namespace sptc::run::network
