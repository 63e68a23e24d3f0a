// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/tensor_parallel.h"

#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sptc::run::network {
namespace {

workload::Workload llama() {
  return workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/llama3_8b.json", {{"batch", 1}, {"seq", 512}});
}

const workload::Operation& named(const GpuPart& part, const std::string& name) {
  return *std::find_if(part.gemms.begin(), part.gemms.end(),
                       [&](const workload::Operation& op) { return op.name == name; });
}

TEST(TensorParallel, OneGpuHasTheWholeNetwork) {
  const workload::Workload workload = llama();
  const GpuPart part = split_over(workload.operations, workload.vectors, 1);
  EXPECT_EQ(part.gemms.size(), workload.operations.size());
  EXPECT_EQ(part.vectors.size(), workload.vectors.size());
}

TEST(TensorParallel, RowsThenColumnsOfTheWeightsAreCut) {
  const workload::Workload workload = llama();
  const GpuPart part = split_over(workload.operations, workload.vectors, 4);
  EXPECT_EQ(named(part, "attn.qkv").shape, (base::GemmShape{1536, 512, 4096}));
  EXPECT_EQ(named(part, "attn.scores").batch, 2);
  EXPECT_EQ(named(part, "attn.o").shape, (base::GemmShape{4096, 512, 1024}));
  EXPECT_EQ(named(part, "mlp.gate_up").shape, (base::GemmShape{7168, 512, 4096}));
  EXPECT_EQ(named(part, "mlp.down").shape, (base::GemmShape{4096, 512, 3584}));
  EXPECT_EQ(named(part, "lm_head").shape.m, 128256 / 4);
}

TEST(TensorParallel, TheWorkOfAllGpusIsThatOfOne) {
  const workload::Workload workload = llama();
  const GpuPart part = split_over(workload.operations, workload.vectors, 8);
  for (std::size_t i = 0; i < part.gemms.size(); ++i) {
    EXPECT_EQ(8 * part.gemms[i].total_macs(), workload.operations[i].total_macs());
  }
}

TEST(TensorParallel, EachLayerSumsUpTwice) {
  const workload::Workload workload = llama();
  const GpuPart part = split_over(workload.operations, workload.vectors, 2);
  std::int64_t sums = 0;
  for (const workload::VectorOperation& op : part.vectors) {
    if (op.kind == workload::VectorKind::kAllReduce) {
      sums += op.count;
      EXPECT_EQ(op.elements(), 512 * 4096);
    }
  }
  EXPECT_EQ(sums, 1 + 2 * 32);  // of the embeddings, too
}

TEST(TensorParallel, EveryGpuRoutesTokensForItself) {
  const workload::Workload mixtral = workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/mixtral_8x7b.json",
                                                             {{"batch", 64}, {"seq", 1}, {"context", 2048}});
  const GpuPart part = split_over(mixtral.operations, mixtral.vectors, 8);
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
  workload::input::InputStream input(R"({"model_type": "qwen3_moe", "num_hidden_layers": 12, "mlp_only_layers": [0]})",
                                     "x");
  const workload::Recording moe = workload::importer::read_recording(input, {{{"batch", 1}, {"seq", 8}}});
  const GpuPart whole{moe.workload.operations, {}};
  const GpuPart part = split_over(moe.workload.operations, moe.workload.vectors, 2);
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
  const auto gemm = [](const char* name, const char* list, std::int64_t m, std::int64_t n, std::int64_t k) {
    workload::Operation op;
    op.name = name;
    op.part_of = list;
    op.shape = {m, n, k};
    op.count = 2;
    return op;
  };
  const GpuPart part = split_over({gemm("up.n5", "up", 64, 5, 32), gemm("up.n3", "up", 64, 3, 32),
                                   gemm("down.n5", "down", 32, 5, 64), gemm("down.n3", "down", 32, 3, 64)},
                                  {}, 2);
  ASSERT_EQ(part.gemms.size(), 4U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(part.gemms[i].shape.m, 32);
    EXPECT_EQ(part.gemms[i].shape.k, 32);
    EXPECT_EQ(part.gemms[i + 2].shape.m, 32);
    EXPECT_EQ(part.gemms[i + 2].shape.k, 32);
  }
  EXPECT_EQ(part.vectors.size(), 1U);  // the sum of both experts
}

/// A configuration of Hugging Face as a workload.
workload::Workload model(const std::string& config, const workload::NamedDims& dims) {
  workload::input::InputStream input(config, "x");
  return workload::importer::read_recording(input, {dims}).workload;
}

GpuPart split(const workload::Workload& workload, int gpus) {
  return split_over(workload.operations, workload.vectors, gpus, workload.inputs);
}

const workload::VectorOperation& vector_named(const GpuPart& part, const std::string& name) {
  return *std::find_if(part.vectors.begin(), part.vectors.end(),
                       [&](const workload::VectorOperation& op) { return op.name == name; });
}

TEST(TensorParallel, EachGpuHasOneOfFewerHeadsOfKeys) {
  const GpuPart part = split(model(R"({"model_type": "qwen3_moe"})", {{"batch", 2}, {"seq", 16}}), 8);
  // 32 heads of queries and 4 of keys, of 64 features each: 4 and 1.
  EXPECT_EQ(named(part, "attn.qkv").shape.m, (4 + 2) * 64);
  EXPECT_EQ(named(part, "attn.scores").batch, 2);
  EXPECT_EQ(named(part, "attn.scores").shape.n, 4 * 16);
  EXPECT_EQ(named(part, "attn.context").shape.n, 4 * 16);
  EXPECT_EQ(named(part, "attn.o").shape.k, 4 * 64);
  EXPECT_EQ(vector_named(part, "attn.qk_norm").rows, (4 + 1) * 2 * 16);
  EXPECT_EQ(vector_named(part, "attn.rotary").columns, (4 + 1) * 64);
  EXPECT_EQ(vector_named(part, "attn.cache").columns, 2 * 64);
  EXPECT_EQ(vector_named(part, "attn.softmax").rows, 4 * 2 * 16);
}

TEST(TensorParallel, HeadsThatGpusCannotShareAreRefused) {
  const workload::Workload six =
      model(R"({"model_type": "llama", "num_attention_heads": 6, "hidden_size": 384})", {{"seq", 16}});
  support::expect_input_error([&] { split(six, 4); }, {"--tp 4: 6 heads of 'attn.scores'", "cannot be divided"});
}

TEST(TensorParallel, LatentAttentionIsCutByHeads) {
  const std::string config = R"({"model_type": "deepseek_v3"})";
  const GpuPart decode = split(model(config, {{"batch", 4}, {"context", 1024}}), 8);
  EXPECT_EQ(named(decode, "attn.qkv_a").shape.m, 1536 + 576);
  EXPECT_EQ(named(decode, "attn.q_b").shape.m, 16 * 192);
  EXPECT_EQ(named(decode, "attn.q_absorb").batch, 16);
  EXPECT_EQ(named(decode, "attn.scores").batch, 4);
  EXPECT_EQ(named(decode, "attn.scores").shape.n, 16);
  EXPECT_EQ(named(decode, "attn.v_up").batch, 16);
  EXPECT_EQ(named(decode, "attn.v_up").shape.k, 512);
  EXPECT_EQ(named(decode, "attn.o").shape.k, 16 * 128);
  EXPECT_EQ(vector_named(decode, "attn.q_a_norm").columns, 1536);
  EXPECT_EQ(vector_named(decode, "attn.kv_a_norm").columns, 512);
  EXPECT_EQ(vector_named(decode, "attn.kv_a_norm").rows, 4);
  EXPECT_EQ(vector_named(decode, "attn.rotary").columns, (16 + 1) * 64);
  EXPECT_EQ(vector_named(decode, "attn.cache").columns, 576);

  const GpuPart prefill = split(model(config, {{"batch", 1}, {"seq", 64}}), 8);
  EXPECT_EQ(named(prefill, "attn.kv_b").shape.m, 16 * 256);
  EXPECT_EQ(named(prefill, "attn.scores").batch, 16);
  EXPECT_EQ(vector_named(prefill, "attn.keys").columns, 16 * 192);
  EXPECT_EQ(vector_named(prefill, "attn.cache").columns, 576);
}

workload::Workload parsed(const std::string& ops) {
  return workload::parse_workload_json(R"({"schema": "gemm-workload/0.2", "dims": {"batch": 4}, "ops": [)" + ops + "]}",
                                       "x.json");
}

TEST(TensorParallel, QueriesBesideACompressedCacheAreCutAndTheCacheIsNot) {
  const GpuPart part = split(parsed(R"(
      {"name": "attn.qkv_a", "m": 3648, "n": "batch", "k": 2048, "count": 2},
      {"name": "attn.cache", "kind": "kv_append", "rows": "batch", "columns": 576, "count": 2},
      {"name": "attn.q_absorb", "m": 512, "n": "batch", "k": 128, "batch": 16, "count": 2},
      {"name": "attn.scores", "m": 1024, "n": 16, "k": 576, "batch": "batch", "count": 2,
       "weight_operand": null},
      {"name": "attn.context", "m": 512, "n": 16, "k": 1024, "batch": "batch", "count": 2,
       "weight_operand": null},
      {"name": "attn.v_up", "m": 128, "n": "batch", "k": 512, "batch": 16, "count": 2},
      {"name": "attn.o", "m": 2048, "n": "batch", "k": 2048, "count": 2})"),
                             4);
  EXPECT_EQ(named(part, "attn.qkv_a").shape.m, 16 * 192 / 4 + 576);
  EXPECT_EQ(named(part, "attn.q_absorb").batch, 4);
  EXPECT_EQ(named(part, "attn.scores").shape.n, 4);
  EXPECT_EQ(named(part, "attn.v_up").batch, 4);
  EXPECT_EQ(named(part, "attn.o").shape.k, 512);
}

TEST(TensorParallel, QueriesKeysAndValuesMayStandApart) {
  const workload::Workload gptj =
      workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/gptj_6b.json", {{"batch", 2}, {"seq", 8}});
  const GpuPart part = split(gptj, 4);
  for (const char* const name : {"attn.q", "attn.k", "attn.v"}) {
    EXPECT_EQ(named(part, name).shape, (base::GemmShape{1024, 16, 4096})) << name;
  }
  EXPECT_EQ(named(part, "attn.o").shape.k, 1024);
  EXPECT_EQ(named(part, "mlp.fc_in").shape.m, 4096);
  EXPECT_EQ(named(part, "mlp.fc_out").shape.k, 4096);
}

TEST(TensorParallel, TheSumOfExpertsIsFormedOnceForEachToken) {
  const workload::Workload mixtral = workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/mixtral_8x7b.json",
                                                             {{"batch", 64}, {"seq", 1}, {"context", 2048}});
  const GpuPart part = split(mixtral, 8);
  const auto sum = std::find_if(part.vectors.begin(), part.vectors.end(), [](const workload::VectorOperation& op) {
    return op.name == "moe.expert.down.all_reduce";
  });
  ASSERT_NE(sum, part.vectors.end());
  EXPECT_EQ(sum->rows, 64);
  EXPECT_EQ(sum->columns, 4096);
  EXPECT_EQ((sum + 1)->name, "moe.residual");
  EXPECT_EQ((sum - 1)->name, "moe.unpermute");
}

TEST(TensorParallel, ASharedExpertSumsUpForAll) {
  const GpuPart part = split(model(R"({"model_type": "deepseek_v3"})", {{"batch", 4}, {"context", 64}}), 2);
  std::vector<std::string> sums;
  for (const workload::VectorOperation& op : part.vectors) {
    if (op.kind == workload::VectorKind::kAllReduce) {
      sums.push_back(op.name);
    }
  }
  EXPECT_EQ(sums, (std::vector<std::string>{"embeddings.all_reduce", "attn.o.all_reduce", "mlp.down.all_reduce",
                                            "moe.shared.down.all_reduce"}));
}

TEST(TensorParallel, ResultsOfTheOutputLayerAreGathered) {
  const GpuPart part = split(llama(), 2);
  const workload::VectorOperation& gather = part.vectors.back();
  EXPECT_EQ(gather.kind, workload::VectorKind::kAllGather);
  EXPECT_EQ(gather.after, part.gemms.size());
  EXPECT_EQ(gather.columns, 128256);
}

TEST(TensorParallel, TheKeySaysHowAWeightIsCut) {
  const GpuPart part = split(parsed(R"({"name": "a", "m": 64, "n": 8, "k": 32, "cut": "m"},
                {"name": "b", "m": 32, "n": 8, "k": 64, "cut": "k"},
                {"name": "c", "m": 16, "n": 8, "k": 32, "cut": "none"})"),
                             2);
  EXPECT_EQ(named(part, "a").shape, (base::GemmShape{32, 8, 32}));
  EXPECT_EQ(named(part, "b").shape, (base::GemmShape{32, 8, 32}));
  EXPECT_EQ(named(part, "c").shape, (base::GemmShape{16, 8, 32}));
  ASSERT_EQ(part.vectors.size(), 1U);
  EXPECT_EQ(part.vectors[0].name, "b.all_reduce");
  EXPECT_EQ(part.vectors[0].elements(), 8 * 32);
}

TEST(TensorParallel, ConvolutionsAreWhole) {
  const workload::Workload vit = workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/vit_b_16.json");
  const GpuPart part = split(vit, 2);
  EXPECT_EQ(named(part, "patch_embed").shape, vit.operations[0].shape);
  EXPECT_EQ(named(part, "attn.qkv").shape.m, 2304 / 2);
  EXPECT_EQ(vector_named(part, "attn.split_heads").columns, 2304 / 2);
  EXPECT_EQ(named(part, "attn.output").shape.k, 768 / 2);
}

}  // namespace
}  // namespace sptc::run::network
