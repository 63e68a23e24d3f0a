// SPDX-License-Identifier: Apache-2.0
#include "sim/network/tensor_parallel.h"

#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sptc::network {
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

}  // namespace
}  // namespace sptc::network
