// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/expert_parallel.h"

#include "models/numerics/data_type.h"
#include "sim/run/network/engine.h"
#include "sim/run/network/network_changes.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace sptc::run::network {
namespace {

using workload::VectorKind;

/// A configuration of Hugging Face as a workload.
workload::Workload model(const std::string& config, const workload::NamedDims& dims) {
  workload::input::InputStream input(config, "x");
  return workload::importer::read_recording(input, {dims}).workload;
}

workload::Workload deepseek(const workload::NamedDims& dims) {
  return model(R"({"model_type": "deepseek_v3"})", dims);
}

workload::Workload mixtral(const workload::NamedDims& dims) {
  return workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/mixtral_8x7b.json", dims);
}

GpuPart shared(const workload::Workload& workload, int gpus) {
  return share_out_experts(workload.operations, workload.vectors, gpus, workload.inputs);
}

const workload::Operation& named(const std::vector<workload::Operation>& gemms, const std::string& name) {
  return *std::ranges::find(gemms, name, &workload::Operation::name);
}

std::vector<workload::VectorOperation> sent(const GpuPart& part) {
  std::vector<workload::VectorOperation> all;
  std::ranges::copy_if(part.vectors, std::back_inserter(all),
                       [](const auto& op) { return op.kind == VectorKind::kAllToAll; });
  return all;
}

TEST(ExpertParallel, EachGpuHasAPartOfTheExpertsAndOfTheSequences) {
  const workload::Workload whole = deepseek({{"batch", 64}, {"context", 1024}});
  const GpuPart part = shared(whole, 8);
  ASSERT_EQ(part.gemms.size(), whole.operations.size());
  for (std::size_t i = 0; i < part.gemms.size(); ++i) {
    const workload::Operation& one = part.gemms[i];
    EXPECT_EQ(one.shape.m, whole.operations[i].shape.m) << one.name;
    EXPECT_EQ(one.shape.k, whole.operations[i].shape.k) << one.name;
    EXPECT_EQ(8 * one.total_macs(), whole.operations[i].total_macs()) << one.name;
  }
  // 64 sequences x 8 experts each are 512 rows: 2 of each of 256 experts.
  EXPECT_EQ(named(part.gemms, "moe.expert.gate_up").batch, 256 / 8);
  EXPECT_EQ(named(part.gemms, "moe.expert.gate_up").shape.n, 2);
  EXPECT_EQ(named(part.gemms, "moe.router").shape, (base::GemmShape{256, 64 / 8, 7168}));
  EXPECT_EQ(named(part.gemms, "moe.shared.down").shape.n, 64 / 8);
  EXPECT_EQ(named(part.gemms, "attn.scores").batch, 64 / 8);
  EXPECT_EQ(named(part.gemms, "attn.q_absorb").batch, 128);  // its heads are whole
  EXPECT_EQ(named(part.gemms, "attn.q_absorb").shape.n, 64 / 8);
}

TEST(ExpertParallel, TokensAreSentToEachOfTheirExpertsAndBack) {
  const GpuPart part = shared(deepseek({{"batch", 40}, {"context", 1024}}), 8);
  const auto all = sent(part);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "moe.expert.gate_up.dispatch");
  EXPECT_EQ(all[1].name, "moe.expert.down.combine");
  for (const workload::VectorOperation& op : all) {
    EXPECT_EQ(op.elements(), 40 / 8 * 8 * 7168) << op.name;  // tokens x experts of one x hidden
    EXPECT_EQ(op.count, 58);
  }
  const auto place = [&](const std::string& name) {
    return std::ranges::find(part.vectors, name, &workload::VectorOperation::name) - part.vectors.begin();
  };
  EXPECT_EQ(place("moe.permute") + 1, place("moe.expert.gate_up.dispatch"));
  EXPECT_EQ(place("moe.unpermute") + 1, place("moe.expert.down.combine"));
  EXPECT_EQ(part.gemms[all[0].after].name, "moe.expert.gate_up");
  EXPECT_EQ(part.gemms[all[1].after].name, "moe.shared.gate_up");
}

TEST(ExpertParallel, SharesOfAFileMakeWayForUniformRouting) {
  const GpuPart part = shared(mixtral({{"batch", 64}, {"seq", 1}, {"context", 2048}}), 4);
  const workload::Operation& experts = named(part.gemms, "moe.expert.gate_up");
  EXPECT_EQ(experts.batch, 8 / 4);
  EXPECT_EQ(experts.shape.n, 64 * 2 / 8);
  EXPECT_EQ(std::ranges::count(part.gemms, experts.part_of, &workload::Operation::part_of), 1);
  for (const workload::VectorOperation& op : sent(part)) {
    EXPECT_EQ(op.elements(), 64 / 4 * 2 * 4096) << op.name;
  }
  for (const workload::VectorOperation& op : part.vectors) {
    EXPECT_LE(op.after, part.gemms.size()) << op.name;
  }
}

TEST(ExpertParallel, TheDispatchSendsWhatExpertsMultiply) {
  workload::Workload whole = deepseek({{"batch", 64}, {"context", 64}});
  for (workload::Operation& op : whole.operations) {
    op.dtype = op.weight ? numerics::DataType::kE4m3 : op.dtype;
  }
  GpuPart part = shared(whole, 8);
  quantise_inputs(load_engine("sglang"), part.gemms, part.vectors);
  const auto all = sent(part);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].output_bits, 8);
  EXPECT_EQ(all[0].input_bits, 8);
  EXPECT_EQ(all[1].output_bits, 0);  // results come back as tensors between kernels
  const auto dispatch = std::ranges::find(part.vectors, all[0].name, &workload::VectorOperation::name);
  EXPECT_EQ((dispatch - 1)->kind, VectorKind::kQuantize);
  EXPECT_NE((dispatch + 1)->kind, VectorKind::kQuantize);
}

TEST(ExpertParallel, WhatCannotBeSharedOutIsRefused) {
  const auto refused = [](const workload::Workload& workload, int gpus, const std::string& why) {
    support::expect_input_error([&] { shared(workload, gpus); }, {why});
  };
  refused(deepseek({{"batch", 12}, {"context", 64}}), 8, "--ep 8: 12 sequences cannot be divided by it");
  refused(deepseek({{"batch", 3}, {"context", 64}}), 3,
          "--ep 3: 256 experts of 'moe.expert.gate_up' cannot be divided by it");
  refused(model(R"({"model_type": "llama"})", {{"batch", 8}, {"context", 64}}), 8, "the workload has none");
  workload::Workload list = mixtral({{"batch", 8}, {"seq", 1}, {"context", 64}});
  list.inputs = 0;
  refused(list, 8, "does not say how many it has");
}

}  // namespace
}  // namespace sptc::run::network
