// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/network_changes.h"

#include "sim/run/network/kernel_plan.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sptc::run::network {
namespace {

workload::Workload llama() {
  return workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/llama3_8b.json",
                                 {{"batch", 1}, {"seq", 512}});
}

const workload::Operation& named(const TensorParallelPart& part, const std::string& name) {
  return *std::find_if(part.gemms.begin(), part.gemms.end(),
                       [&](const workload::Operation& op) { return op.name == name; });
}

TEST(TensorParallel, OneGpuHasTheWholeNetwork) {
  const workload::Workload workload = llama();
  const TensorParallelPart part = split_over(workload.operations, workload.vectors, 1);
  EXPECT_EQ(part.gemms.size(), workload.operations.size());
  EXPECT_EQ(part.vectors.size(), workload.vectors.size());
}

TEST(TensorParallel, RowsThenColumnsOfTheWeightsAreCut) {
  const workload::Workload workload = llama();
  const TensorParallelPart part = split_over(workload.operations, workload.vectors, 4);
  EXPECT_EQ(named(part, "attn.qkv").shape, (base::GemmShape{1536, 512, 4096}));
  EXPECT_EQ(named(part, "attn.scores").batch, 2);
  EXPECT_EQ(named(part, "attn.o").shape, (base::GemmShape{4096, 512, 1024}));
  EXPECT_EQ(named(part, "mlp.gate_up").shape, (base::GemmShape{7168, 512, 4096}));
  EXPECT_EQ(named(part, "mlp.down").shape, (base::GemmShape{4096, 512, 3584}));
  EXPECT_EQ(named(part, "lm_head").shape.m, 128256 / 4);
}

TEST(TensorParallel, TheWorkOfAllGpusIsThatOfOne) {
  const workload::Workload workload = llama();
  const TensorParallelPart part = split_over(workload.operations, workload.vectors, 8);
  for (std::size_t i = 0; i < part.gemms.size(); ++i) {
    EXPECT_EQ(8 * part.gemms[i].total_macs(), workload.operations[i].total_macs());
  }
}

TEST(TensorParallel, EachLayerSumsUpTwice) {
  const workload::Workload workload = llama();
  const TensorParallelPart part = split_over(workload.operations, workload.vectors, 2);
  std::int64_t sums = 0;
  for (const workload::VectorOperation& op : part.vectors) {
    if (op.kind == workload::VectorKind::kAllReduce) {
      sums += op.count;
      EXPECT_EQ(op.elements(), 512 * 4096);
    }
  }
  EXPECT_EQ(sums, 2 * 32);
}

TEST(TensorParallel, EveryGpuRoutesTokensForItself) {
  const workload::Workload mixtral =
      workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/mixtral_8x7b.json",
                              {{"batch", 64}, {"seq", 1}, {"context", 2048}});
  const TensorParallelPart part = split_over(mixtral.operations, mixtral.vectors, 8);
  EXPECT_EQ(named(part, "moe.router").shape, (base::GemmShape{8, 64, 4096}));
  std::int64_t experts = 0;
  for (const workload::Operation& op : part.gemms) {
    if (op.part_of == "moe.expert.gate_up") {
      EXPECT_EQ(op.shape.m, 28672 / 8) << op.name;
      experts += op.batch;
    } else if (op.part_of == "moe.expert.down") {
      EXPECT_EQ(op.shape.k, 14336 / 8) << op.name;
      experts += op.batch;
    }
  }
  EXPECT_EQ(experts, 2 * 8);
}

/// Of a configuration of Hugging Face, one of whose layers has no experts.
TEST(TensorParallel, ExpertsAreCutLikeAnMlpAndRoutersAreNot) {
  workload::input::InputStream input(
      R"({"model_type": "qwen3_moe", "num_hidden_layers": 12, "mlp_only_layers": [0]})", "x");
  const workload::Recording moe =
      workload::importer::read_recording(input, {{{"batch", 1}, {"seq", 8}}});
  const TensorParallelPart whole{moe.workload.operations, {}};
  const TensorParallelPart part = split_over(moe.workload.operations, moe.workload.vectors, 2);
  const auto check = [&](const char* name, std::int64_t m, std::int64_t k) {
    EXPECT_EQ(named(part, name).shape.m * m, named(whole, name).shape.m) << name;
    EXPECT_EQ(named(part, name).shape.k * k, named(whole, name).shape.k) << name;
  };
  check("moe.router", 1, 1);
  check("moe.expert.gate_up", 2, 1);
  check("moe.expert.down", 1, 2);
  check("mlp.gate_up", 2, 1);  // of one layer
  check("mlp.down", 1, 2);
  check("attn.qkv", 2, 1);
  check("attn.o", 1, 2);
  check("lm_head", 2, 1);
}

TEST(TensorParallel, WhatCannotBeDividedIsRefused) {
  workload::Workload workload = llama();
  support::expect_input_error([&] { split_over(workload.operations, workload.vectors, 7); },
                              {"--tp 7", "cannot be divided"});
  for (workload::Operation& op : workload.operations) {
    op.count = 1;
  }
  support::expect_input_error([&] { split_over(workload.operations, {}, 2); }, {"transformers"});
}

TEST(TensorParallel, ExpertsThatShareTokensAreCutAlike) {
  const auto gemm = [](const char* name, const char* list, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
    workload::Operation op;
    op.name = name;
    op.part_of = list;
    op.shape = {m, n, k};
    op.count = 2;
    return op;
  };
  const TensorParallelPart part =
      split_over({gemm("up.n5", "up", 64, 5, 32), gemm("up.n3", "up", 64, 3, 32),
                  gemm("down.n5", "down", 32, 5, 64), gemm("down.n3", "down", 32, 3, 64)},
                 {}, 2);
  ASSERT_EQ(part.gemms.size(), 4U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(part.gemms[i].shape.m, 32);
    EXPECT_EQ(part.gemms[i].shape.k, 32);
    EXPECT_EQ(part.gemms[i + 2].shape.m, 32);
    EXPECT_EQ(part.gemms[i + 2].shape.k, 32);
  }
  EXPECT_EQ(part.vectors.size(), 2U);  // the sums of both experts
}

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
  std::vector<workload::Operation> gemms{weight("q", 1024, "x"), weight("k", 256, "x"),
                                         weight("v", 256, "x"), weight("o", 1024, "y")};
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

}  // namespace
}  // namespace sptc::run::network
