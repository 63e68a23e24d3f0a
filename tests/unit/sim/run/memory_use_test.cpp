// SPDX-License-Identifier: Apache-2.0
#include "sim/run/memory_use.h"

#include "sim/config/architecture.h"
#include "sim/run/asked_work.h"
#include "sim/run/run_parts.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::run {
namespace {

workload::Workload trace(const std::string& name, const workload::NamedDims& dims) {
  return workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/" + name, dims);
}

/// A configuration of Hugging Face as a workload.
workload::Workload model(const std::string& config, const workload::NamedDims& dims) {
  workload::input::InputStream input(config, "x");
  return workload::importer::read_recording(input, {dims}).workload;
}

/// Of one of `gpus` boards of 141 GiB, which split layers, or of `expert_gpus`.
MemoryUse use_of(const workload::Workload& workload, bool sparse = false, int gpus = 1, int expert_gpus = 1) {
  SimulationOptions options;
  options.tensor_parallel = gpus;
  options.expert_parallel = expert_gpus;
  const auto use =
      memory_use(workload, asked_work(workload, options), options, config::load_architecture("h200-sxm").gpu, sparse);
  EXPECT_TRUE(use.has_value());
  return use.value_or(MemoryUse{});
}

// Llama 3 8B: 6,979,321,856 weights in its layers; 525,336,576 each of its output layer and table.
constexpr double kLayers = 6979321856.0, kVocabulary = 525336576.0;

TEST(MemoryUse, IsTheWeightsOnceTheCacheOfAllSequencesAndWhatIsAtHand) {
  const MemoryUse use = use_of(trace("llama3_8b.json", {{"batch", 4}, {"seq", 1}, {"context", 1024}}));
  EXPECT_DOUBLE_EQ(use.weights, 2 * (kLayers + 2 * kVocabulary));
  EXPECT_EQ(use.metadata, 0);
  EXPECT_DOUBLE_EQ(use.cache, 2.0 * 32 * 4 * 1024 * 2048);
  EXPECT_DOUBLE_EQ(use.activations, 2.0 * 4 * (28672 + 14336 + 128256));
  EXPECT_EQ(use.communication, 0);
  EXPECT_DOUBLE_EQ(use.capacity, 141.0 * (1 << 30));
  EXPECT_DOUBLE_EQ(use.total(), use.weights + use.cache + use.activations);
  EXPECT_TRUE(use.fits());
}

TEST(MemoryUse, OfTwoOfFourWeightsIsHalfOfThemAndABitOfMetadataForEach) {
  const MemoryUse use = use_of(trace("llama3_8b.json", {{"batch", 1}, {"seq", 1}, {"context", 1024}}), true);
  EXPECT_DOUBLE_EQ(use.weights, kLayers + 4 * kVocabulary);
  EXPECT_DOUBLE_EQ(use.metadata, kLayers / 8);
}

TEST(MemoryUse, IsSharedByGpusThatKeepBuffersBetweenThem) {
  const workload::Workload llama = trace("llama3_8b.json", {{"batch", 4}, {"seq", 1}, {"context", 1024}});
  const MemoryUse whole = use_of(llama), half = use_of(llama, false, 2);
  EXPECT_DOUBLE_EQ(2 * half.weights, whole.weights);
  EXPECT_DOUBLE_EQ(2 * half.cache, whole.cache);
  EXPECT_DOUBLE_EQ(half.communication, 2.0 * 2 * 4 * 128256);
}

TEST(MemoryUse, OfTheCacheEachGpuHasAHeadAtLeast) {
  const workload::Workload qwen =
      model(R"({"model_type": "qwen3_moe"})", {{"batch", 2}, {"context", 512}});  // 4 heads of keys
  EXPECT_DOUBLE_EQ(4 * use_of(qwen, false, 8).cache, use_of(qwen).cache);
}

TEST(MemoryUse, HasExpertsWithoutTokens) {
  // Mixtral 8x7B: 46.7e9 weights, of which a token passes 12.9e9.
  const workload::Workload mixtral = trace("mixtral_8x7b.json", {{"batch", 1}, {"seq", 1}, {"context", 16}});
  EXPECT_DOUBLE_EQ(use_of(mixtral).weights, 2 * 46702526464.0);
}

TEST(MemoryUse, OfLatentAttentionIsTheCompressedCache) {
  // DeepSeek-V3: 671e9 weights; 576 features of a token in each of 61 layers.
  const std::string config = R"({"model_type": "deepseek_v3"})";
  const MemoryUse decode = use_of(model(config, {{"batch", 2}, {"context", 4096}}));
  EXPECT_NEAR(decode.weights, 2 * 671.0e9, 2 * 0.1e9);
  EXPECT_DOUBLE_EQ(decode.cache, 2.0 * 61 * 2 * 4096 * 576);
  EXPECT_FALSE(decode.fits());
  const MemoryUse prefill = use_of(model(config, {{"batch", 1}, {"seq", 64}}));
  EXPECT_DOUBLE_EQ(prefill.weights, decode.weights);
  EXPECT_DOUBLE_EQ(prefill.cache, 2.0 * 61 * 64 * 576);
  EXPECT_DOUBLE_EQ(use_of(model(config, {{"batch", 2}, {"context", 4096}}), false, 8).cache, decode.cache);
}

TEST(MemoryUse, FallsByExpertsAloneWhereTheyAreSharedOut) {
  const workload::Workload mixtral = trace("mixtral_8x7b.json", {{"batch", 8}, {"seq", 1}, {"context", 512}});
  const MemoryUse whole = use_of(mixtral);
  const MemoryUse part = use_of(mixtral, false, 1, 8);
  // 32 layers of 8 experts with 3 matrices of 14336 x 4096, in 16 bits.
  const double experts = 2.0 * 32 * 8 * 3 * 14336 * 4096;
  EXPECT_DOUBLE_EQ(part.weights, whole.weights - experts * 7 / 8);
  EXPECT_DOUBLE_EQ(8 * part.cache, whole.cache);
  EXPECT_DOUBLE_EQ(part.communication, 2.0 * 2 * 1 * 2 * 4096);  // one token of two experts, twice
  // One sequence, fewer rows than experts: those without tokens lie there as well.
  const workload::Workload few = model(R"({"model_type": "deepseek_v3"})", {{"batch", 8}, {"context", 64}});
  const double all = 2.0 * 58 * 256 * 3 * 2048 * 7168;
  EXPECT_NEAR(use_of(few, false, 1, 8).weights, use_of(few).weights - all * 7 / 8, 1e-6 * all);
}

TEST(MemoryUse, OfAListOfGemmsTheCacheIsWhatAttentionReads) {
  const workload::NamedDims decode{{"batch", 4}, {"seq", 1}, {"context", 1024}};
  const double tokens = 4 * 1024;
  // GPT-J 6B: 16 heads of 256. Llama 3.1 405B: 128 heads of queries share 8 of keys, of 128.
  EXPECT_DOUBLE_EQ(use_of(trace("gptj_6b.json", decode)).cache, 2.0 * 28 * tokens * 2 * 16 * 256);
  const workload::Workload llama = trace("llama3_1_405b.json", decode);
  EXPECT_DOUBLE_EQ(use_of(llama).cache, 2.0 * 126 * tokens * 2 * 8 * 128);
  EXPECT_DOUBLE_EQ(8 * use_of(llama, false, 8).cache, use_of(llama).cache);
  // A list that says what is appended has the same.
  workload::Workload stripped = trace("llama3_8b.json", decode);
  const double listed = use_of(stripped).cache;
  stripped.vectors.clear();
  EXPECT_DOUBLE_EQ(use_of(stripped).cache, listed);
  EXPECT_EQ(use_of(trace("bert_large_unfused.json", {{"batch", 4}})).cache, 0);  // writes no text
}

TEST(MemoryUse, IsNotKnownOfANetworkThatWritesTextWithoutAttention) {
  workload::Workload weights = trace("llama3_8b.json", {{"batch", 4}, {"seq", 1}, {"context", 1024}});
  weights.vectors.clear();
  std::erase_if(weights.operations, [](const workload::Operation& op) { return !op.weight; });
  const SimulationOptions options;
  const AskedWork work = asked_work(weights, options);
  gpu::GpuSpec gpu = config::load_architecture("h200-sxm").gpu;
  EXPECT_FALSE(memory_use(weights, work, options, gpu, false));
  EXPECT_EQ(does_not_fit(weights, work, options, gpu),
            "may or may not fit the 141 GiB of h200-sxm: the workload does not say how large its KV cache is");
  // 14 GiB of weights, or 8.3 of 2:4 ones, and on this board a claim of the former alone.
  gpu.memory.dram_capacity = base::Bytes(std::int64_t{10} << 30);
  EXPECT_TRUE(memory_use(weights, work, options, gpu, false));
  EXPECT_FALSE(memory_use(weights, work, options, gpu, true));
  const std::string text = does_not_fit(weights, work, options, gpu);
  EXPECT_EQ(text.find("does not fit the 10 GiB of h200-sxm: dense weights take 14 GiB"), 0U) << text;
  EXPECT_NE(text.find("with 2:4 weights it takes 8 GiB beside a KV cache whose size the workload does not say; "),
            std::string::npos)
      << text;
}

TEST(MemoryUse, IsNotKnownOfAListOfLaunchesOrOfABoardThatDoesNotSay) {
  const SimulationOptions options;
  config::Architecture board = config::load_architecture("h200-sxm");
  const auto of = [&](const workload::Workload& workload) {
    return memory_use(workload, asked_work(workload, options), options, board.gpu, false);
  };
  EXPECT_FALSE(of(trace("deepbench_gemm_inference_device.json", {})));
  const workload::Workload llama = trace("llama3_8b.json", {});
  EXPECT_TRUE(of(llama));
  board.gpu.memory.dram_capacity = base::Bytes(0);
  EXPECT_FALSE(of(llama));
}

}  // namespace
}  // namespace sptc::run
