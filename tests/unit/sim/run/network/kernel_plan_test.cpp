// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/kernel_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::run::network {
namespace {

using Names = std::vector<std::string>;

workload::Operation gemm(const char* name, base::GemmShape shape, std::int64_t batch = 1, bool weight = true) {
  workload::Operation op;
  op.name = name;
  op.shape = shape;
  op.batch = batch;
  op.count = 24;
  op.weight = weight;
  op.prunable = weight;
  return op;
}

workload::VectorOperation vector(const char* name, workload::VectorKind kind, std::int64_t rows, std::int64_t columns,
                                 std::size_t after) {
  workload::VectorOperation op;
  op.name = name;
  op.kind = kind;
  op.rows = op.input_rows = rows;
  op.columns = columns;
  op.tensors = workload::info(kind).tensors;
  op.count = 24;
  op.after = after;
  return op;
}

/// A layer of BERT-Large: 128 tokens.
struct Layer {
  std::vector<workload::Operation> gemms{gemm("qkv", {3072, 128, 1024}), gemm("scores", {128, 128, 64}, 16, false),
                                         gemm("context", {64, 128, 128}, 16, false), gemm("output", {1024, 128, 1024})};
  std::vector<workload::VectorOperation> vectors{vector("bias", workload::VectorKind::kBias, 128, 3072, 1),
                                                 vector("softmax", workload::VectorKind::kSoftmax, 2048, 128, 2),
                                                 vector("add", workload::VectorKind::kResidual, 128, 1024, 4),
                                                 vector("norm", workload::VectorKind::kLayerNorm, 128, 1024, 4)};
};

Names names_of(const std::vector<PlannedKernel>& kernels) {
  Names names;
  for (const PlannedKernel& kernel : kernels) {
    names.push_back(kernel.name);
  }
  return names;
}

EngineSpec without(EngineSpec engine, FusionRule::Kind kind) {
  std::erase_if(engine.rules, [kind](const FusionRule& rule) { return rule.kind == kind; });
  return engine;
}

TEST(KernelPlan, TensorRtMakesFourKernelsOfHalfALayer) {
  const Layer layer;
  const EngineSpec engine = load_engine("tensorrt");
  const auto kernels = plan_kernels({layer.gemms, layer.vectors, engine});
  EXPECT_EQ(names_of(kernels), (Names{"qkv", "attention", "output", "add"}));
  EXPECT_EQ(kernels[3].group, workload::WorkGroup::kNormalisation);
  EXPECT_EQ(kernels[1].gemms.size(), 2U);
}

TEST(KernelPlan, WithoutRulesEachOperationIsAKernel) {
  const Layer layer;
  EngineSpec engine = load_engine("tensorrt");
  engine.rules.clear();
  const auto kernels = plan_kernels({layer.gemms, layer.vectors, engine});
  EXPECT_EQ(names_of(kernels), (Names{"qkv", "bias", "scores", "softmax", "context", "output", "add", "norm"}));
}

TEST(KernelPlan, EachRuleFusesWhatItSaysAndNoMore) {
  const Layer layer;
  const EngineSpec engine = load_engine("tensorrt");
  const EngineSpec plain = without(engine, FusionRule::Kind::kAttention);
  EXPECT_EQ(names_of(plan_kernels({layer.gemms, layer.vectors, plain})),
            (Names{"qkv", "scores", "softmax", "context", "output", "add"}));
  const EngineSpec no_epilogue = without(engine, FusionRule::Kind::kEpilogue);
  EXPECT_EQ(names_of(plan_kernels({layer.gemms, layer.vectors, no_epilogue})),
            (Names{"qkv", "bias", "attention", "output", "add"}));
  const EngineSpec no_chain = without(engine, FusionRule::Kind::kChain);
  EXPECT_EQ(names_of(plan_kernels({layer.gemms, layer.vectors, no_chain})),
            (Names{"qkv", "attention", "output", "add", "norm"}));
}

TEST(KernelPlan, EveryOperationIsInOneKernel) {
  const Layer layer;
  for (const std::string& name : engine_names()) {
    const EngineSpec engine = load_engine(name);
    std::vector<int> gemms(layer.gemms.size());
    std::vector<int> vectors(layer.vectors.size());
    for (const PlannedKernel& kernel : plan_kernels({layer.gemms, layer.vectors, engine})) {
      for (const std::size_t i : kernel.gemms) {
        ++gemms[i];
      }
      for (const std::size_t i : kernel.vectors) {
        vectors[i] += kernel.makes_contiguous ? 0 : 1;
      }
    }
    EXPECT_EQ(gemms, std::vector<int>(layer.gemms.size(), 1)) << name;
    EXPECT_EQ(vectors, std::vector<int>(layer.vectors.size(), 1)) << name;
  }
}

TEST(KernelPlan, OperationsOfOtherCountsAreNotFused) {
  Layer layer;
  layer.vectors[0].count = 1;
  const EngineSpec engine = load_engine("tensorrt");
  EXPECT_EQ(plan_kernels({layer.gemms, layer.vectors, engine})[1].name, "bias");
}

TEST(KernelPlan, ABytesAreCountedOnce) {
  const Layer layer;
  const EngineSpec engine = load_engine("tensorrt");
  const Network network{layer.gemms, layer.vectors, engine};
  const auto kernels = plan_kernels(network);
  const KernelBytes qkv = bytes_of(kernels[0], network);
  EXPECT_DOUBLE_EQ(qkv.weights, 2.0 * (3072 * 1024 + 3072));  // and the bias
  EXPECT_DOUBLE_EQ(qkv.recent, 2.0 * 128 * 1024);
  EXPECT_DOUBLE_EQ(qkv.written, 2.0 * 128 * 3072);
  const KernelBytes attention = bytes_of(kernels[1], network);
  EXPECT_DOUBLE_EQ(attention.recent, 2.0 * 3 * 128 * 1024);
  EXPECT_DOUBLE_EQ(attention.written, 2.0 * 128 * 1024);
  const KernelBytes norm = bytes_of(kernels[3], network);
  EXPECT_DOUBLE_EQ(norm.recent, 2.0 * 128 * 1024);
  EXPECT_DOUBLE_EQ(norm.earlier, 2.0 * 128 * 1024);
  EXPECT_DOUBLE_EQ(norm.written, 2.0 * 128 * 1024);
}

TEST(KernelPlan, FusionMovesFewerBytes) {
  const Layer layer;
  const EngineSpec fused = load_engine("tensorrt");
  EngineSpec apart = fused;
  apart.rules.clear();
  const auto bytes = [&](const EngineSpec& engine) {
    const Network network{layer.gemms, layer.vectors, engine};
    double sum = 0;
    for (const PlannedKernel& kernel : plan_kernels(network)) {
      sum += bytes_of(kernel, network).all();
    }
    return sum;
  };
  // Apart, the bias reads and writes its tensor, the scores are written and read, the softmax reads
  // and writes them, and the sum is written and read.
  const double scores = 2.0 * 16 * 128 * 128;
  const double saved = 2 * 2.0 * 128 * 3072 + 4 * scores + 2 * 2.0 * 128 * 1024;
  EXPECT_DOUBLE_EQ(bytes(apart) - bytes(fused), saved);
}

TEST(KernelPlan, TensorRtStoresBytesOfIntegers) {
  Layer layer;
  for (workload::Operation& op : layer.gemms) {
    op.dtype = numerics::DataType::kS8;
  }
  const EngineSpec engine = load_engine("tensorrt");
  const Network network{layer.gemms, layer.vectors, engine};
  const auto kernels = plan_kernels(network);
  EXPECT_EQ(tensor_bits(kernels[0], network), 8);
  EXPECT_EQ(under_engine(network, kernels)[0].d_dtype, numerics::DataType::kS8);
  const EngineSpec eager = load_engine("pytorch");
  EXPECT_EQ(tensor_bits(kernels[0], {layer.gemms, layer.vectors, eager}), 32);
  layer.gemms[kernels[0].gemms.front()].d_dtype = numerics::DataType::kF16;  // as recorded
  EXPECT_EQ(tensor_bits(kernels[0], {layer.gemms, layer.vectors, eager}), 16);
}

TEST(KernelPlan, AKernelWithoutGemmIsBesideTheGemmBeforeIt) {
  const Layer layer;
  const EngineSpec eager = load_engine("pytorch");
  const Network network{layer.gemms, layer.vectors, eager};
  PlannedKernel kernel;
  kernel.vectors = {0};
  const std::size_t before = layer.vectors[0].after;
  ASSERT_GT(before, 0U);
  EXPECT_EQ(gemm_beside(kernel, network), &layer.gemms[before - 1]);
  kernel.gemms = {1};
  EXPECT_EQ(gemm_beside(kernel, network), &layer.gemms[1]);
}

TEST(KernelPlan, WeightsOfOtherKernelsPassBetweenLaunches) {
  const Layer layer;
  const EngineSpec engine = load_engine("tensorrt");
  const Network network{layer.gemms, layer.vectors, engine};
  const std::vector<workload::Operation> operations = under_engine(network, plan_kernels(network));
  ASSERT_TRUE(operations[0].conditions.has_value());
  EXPECT_EQ(operations[0].conditions->launch, kernels::LaunchMode::kGraph);
  EXPECT_EQ(operations[0].conditions->l2.kind, kernels::L2State::Kind::kRotate);
  EXPECT_GE(operations[0].conditions->l2.weights, 24);
  EXPECT_EQ(operations[1].conditions->l2.kind, kernels::L2State::Kind::kWarm);
}

TEST(KernelPlan, TransposedResultsAreCopiedBeforeWhatNormalises) {
  const Layer layer;
  EngineSpec engine = load_engine("pytorch");
  engine.sparse_transposed = false;
  const auto contiguous = plan_kernels({layer.gemms, layer.vectors, engine});
  EXPECT_EQ(names_of(contiguous), (Names{"qkv", "scores", "softmax", "context", "output", "add", "norm"}));
  engine.sparse_transposed = true;
  const Network network{layer.gemms, layer.vectors, engine};
  const auto kernels = plan_kernels(network);
  EXPECT_EQ(names_of(kernels), (Names{"qkv", "scores", "softmax", "context", "output", "add", "norm.input", "norm"}));
  EXPECT_FALSE(kernels[2].transposed_by);  // what a product of activations wrote
  EXPECT_EQ(kernels[5].transposed_by, 3U);
  EXPECT_FALSE(kernels[5].makes_contiguous);
  EXPECT_EQ(kernels[6].transposed_by, 3U);
  EXPECT_TRUE(kernels[6].makes_contiguous);
  EXPECT_FALSE(kernels[7].transposed_by);
  EXPECT_EQ(bytes_of(kernels[6], network).recent, 128 * 1024 * 2);
  EXPECT_EQ(bytes_of(kernels[6], network).written, 128 * 1024 * 2);
  // A pass with dense weights has no copy.
  EXPECT_EQ(bytes_of_pass(kernels, network), bytes_of_pass(contiguous, {layer.gemms, layer.vectors, engine}));
}

TEST(KernelPlan, OperationsOnOneTensorKeepTheLayout) {
  Layer layer;
  const EngineSpec engine = load_engine("pytorch");
  layer.vectors = {vector("gelu", workload::VectorKind::kGelu, 128, 3072, 1),
                   vector("split", workload::VectorKind::kCopy, 128, 3072, 1),
                   vector("scale", workload::VectorKind::kScale, 128, 3072, 1)};
  const auto kernels = plan_kernels({layer.gemms, layer.vectors, engine});
  EXPECT_FALSE(kernels[1].transposed_by);
  EXPECT_EQ(kernels[2].transposed_by, 0U);
  EXPECT_FALSE(kernels[3].transposed_by);  // the copy has contiguous rows
}

}  // namespace
}  // namespace sptc::run::network
