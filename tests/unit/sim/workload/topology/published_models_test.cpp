// SPDX-License-Identifier: Apache-2.0
//
// Configurations of published models, their sizes as the config.json of each states them, against
// the numbers of parameters that their publishers state.
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"
#include "tests/support/expect_input_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace sptc::workload::topology {
namespace {

const std::string kDeepSeekV3 = R"({"model_type": "deepseek_v3", "vocab_size": 129280,
  "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
  "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
  "n_shared_experts": 1, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_group": 8,
  "topk_group": 4, "moe_layer_freq": 1, "first_k_dense_replace": 3, "q_lora_rank": 1536,
  "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
  "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16"})";

const std::string kGptOss = R"({"model_type": "gpt_oss", "vocab_size": 201088,
  "hidden_size": 2880, "intermediate_size": 2880, "num_attention_heads": 64,
  "num_key_value_heads": 8, "head_dim": 64, "num_experts_per_tok": 4, "experts_per_token": 4,
  "attention_bias": true, "sliding_window": 128, "swiglu_limit": 7.0, "dtype": "bfloat16",
  "num_hidden_layers": 36, "num_local_experts": 128})";

const std::string kLlama4 = R"({"model_type": "llama4", "torch_dtype": "bfloat16",
  "vision_config": {}, "text_config": {"model_type": "llama4_text", "vocab_size": 202048,
  "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
  "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
  "num_experts_per_tok": 1, "attention_chunk_size": 8192, "no_rope_layers": [],
  "use_qk_norm": true, "num_local_experts": 16, "interleave_moe_layer_step": 1}})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

Workload read(const std::string& text, const NamedDims& dims = {}) {
  input::InputStream input(text, "x");
  return importer::read_recording(input, {dims}).workload;
}

std::string notes_of(const std::string& text, const NamedDims& dims = {}) {
  input::InputStream input(text, "x");
  return fmt::format("{}", fmt::join(importer::read_recording(input, {dims}).account.notes, "; "));
}

const Operation& named(const Workload& workload, const std::string& name) {
  const auto found = std::ranges::find(workload.operations, name, &Operation::name);
  if (found == workload.operations.end()) {
    throw std::runtime_error("no " + name);
  }
  return *found;
}

std::vector<std::string> vectors_of(const Workload& workload) {
  std::vector<std::string> names;
  for (const VectorOperation& op : workload.vectors) {
    names.push_back(op.name);
  }
  return names;
}

/// Elements of the weights that a pass of `dims` multiplies, in 1e9.
double weights_of(const std::string& text, const NamedDims& dims) {
  double weights = 0;
  for (const Operation& op : read(text, dims).operations) {
    weights += op.weight ? static_cast<double>(op.shape.m) * static_cast<double>(op.shape.k) *
                               static_cast<double>(op.batch * op.count)
                         : 0;
  }
  return weights / 1e9;
}

TEST(PublishedModels, HaveTheParametersThatTheirPublishersState) {
  struct Row {
    const char* name;
    std::string text;
    double all, active;  ///< 1e9; publishers count the embedding among the active or do not
  };
  const std::string mamba = R"({"model_type": "mamba2", "hidden_size": 4096, "num_heads": 128,
    "head_dim": 64, "state_size": 128, "n_groups": 8, "num_hidden_layers": 64,
    "vocab_size": 32768, "dtype": "bfloat16"})";
  const Row rows[] = {{"DeepSeek-V3", kDeepSeekV3, 671, 37},
                      {"Kimi K2",
                       with(with(with(with(with(kDeepSeekV3, "deepseek_v3", "kimi_k2"), "129280", "163840"),
                                      "\"num_attention_heads\": 128", "\"num_attention_heads\": 64"),
                                 "\"n_routed_experts\": 256", "\"n_routed_experts\": 384"),
                            R"("n_group": 8,
  "topk_group": 4, "moe_layer_freq": 1, "first_k_dense_replace": 3)",
                            R"("n_group": 1, "topk_group": 1, "moe_layer_freq": 1, "first_k_dense_replace": 1)"),
                       1040, 32},
                      {"DeepSeek-V2-Lite", R"({"model_type": "deepseek_v2", "vocab_size": 102400,
        "hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408,
        "num_hidden_layers": 27, "num_attention_heads": 16, "n_shared_experts": 2,
        "n_routed_experts": 64, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
        "q_lora_rank": null, "kv_lora_rank": 512, "dtype": "bfloat16"})",
                       15.7, 2.4},
                      {"gpt-oss-120b", kGptOss, 116.8, 5.1},
                      {"gpt-oss-20b",
                       with(with(kGptOss, "\"num_hidden_layers\": 36", "\"num_hidden_layers\": 24"),
                            "\"num_local_experts\": 128", "\"num_local_experts\": 32"),
                       20.9, 3.6},
                      {"Llama 4 Scout", kLlama4, 109, 17},
                      {"Llama 4 Maverick",
                       with(with(with(kLlama4, "\"num_local_experts\": 16", "\"num_local_experts\": 128"),
                                 "layer_step\": 1", "layer_step\": 2"),
                            "qk_norm\": true", "qk_norm\": false"),
                       400, 17},
                      {"GLM-4.5", R"({"model_type": "glm4_moe", "vocab_size": 151552, "hidden_size": 5120,
        "intermediate_size": 12288, "num_hidden_layers": 92, "num_attention_heads": 96,
        "num_key_value_heads": 8, "head_dim": 128, "moe_intermediate_size": 1536,
        "num_experts_per_tok": 8, "n_shared_experts": 1, "n_routed_experts": 160,
        "first_k_dense_replace": 3, "n_group": 1, "topk_group": 1, "use_qk_norm": true,
        "attention_bias": true, "partial_rotary_factor": 0.5, "dtype": "bfloat16"})",
                       355, 32},
                      {"Qwen3-30B-A3B", R"({"model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 2048,
        "intermediate_size": 6144, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "moe_intermediate_size": 768,
        "num_experts_per_tok": 8, "num_experts": 128, "dtype": "bfloat16"})",
                       30.5, 3.3},
                      {"Mamba Codestral 7B", mamba, 7.3, 7.3}};
  // Two figures are stated of most, and Llama 4 has a part for images of 1 % of the whole.
  constexpr double kStated = 0.03;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const Operation head = named(read(row.text), "lm_head");
    const double embedding = static_cast<double>(head.shape.m) * static_cast<double>(head.shape.k) / 1e9;
    const double all = weights_of(row.text, {}) + embedding;
    EXPECT_NEAR(all, row.all, kStated * row.all);
    const double active = weights_of(row.text, {{"batch", 1}, {"seq", 1}});
    EXPECT_GE(active + embedding, (1 - kStated) * row.active);
    EXPECT_LE(active, (1 + kStated) * row.active);
  }
}

/// Expanded keys and values: 192 features of a key, 128 of a value, 128 heads.
TEST(PublishedModels, LatentAttentionExpandsKeysInAPrefill) {
  const Workload prefill = read(kDeepSeekV3, {{"batch", 2}, {"seq", 512}});
  EXPECT_EQ(named(prefill, "attn.qkv_a").shape, (base::GemmShape{1536 + 576, 1024, 7168}));
  EXPECT_EQ(named(prefill, "attn.q_b").shape, (base::GemmShape{128 * 192, 1024, 1536}));
  EXPECT_EQ(named(prefill, "attn.kv_b").shape, (base::GemmShape{128 * 256, 1024, 512}));
  EXPECT_EQ(named(prefill, "attn.scores").shape, (base::GemmShape{512, 512, 192}));
  EXPECT_EQ(named(prefill, "attn.scores").batch, 2 * 128);
  EXPECT_EQ(named(prefill, "attn.context").shape, (base::GemmShape{128, 512, 512}));
  EXPECT_EQ(named(prefill, "attn.o").shape, (base::GemmShape{7168, 1024, 128 * 128}));
  // New tokens beside cached ones: the cached ones are expanded, too.
  EXPECT_EQ(named(read(kDeepSeekV3, {{"batch", 2}, {"seq", 16}, {"context", 512}}), "attn.kv_b").shape.n, 2 * 512);
}

TEST(PublishedModels, LatentAttentionReadsTheCompressedCacheInADecode) {
  const Workload decode = read(kDeepSeekV3, {{"batch", 32}, {"context", 4096}});
  EXPECT_EQ(named(decode, "attn.q_absorb").shape, (base::GemmShape{512, 32, 128}));
  EXPECT_EQ(named(decode, "attn.q_absorb").batch, 128);
  EXPECT_FALSE(named(decode, "attn.q_absorb").prunable);
  EXPECT_EQ(named(decode, "attn.scores").shape, (base::GemmShape{4096, 128, 576}));
  EXPECT_EQ(named(decode, "attn.scores").batch, 32);
  EXPECT_EQ(named(decode, "attn.context").shape, (base::GemmShape{512, 128, 4096}));
  EXPECT_EQ(named(decode, "attn.v_up").shape, (base::GemmShape{128, 32, 512}));
  const auto cache = std::ranges::find(decode.vectors, "attn.cache", &VectorOperation::name);
  ASSERT_NE(cache, decode.vectors.end());
  EXPECT_EQ(cache->columns, 576);
  // Both halves of kv_b_proj, and nothing else, stand for it.
  EXPECT_DOUBLE_EQ(weights_of(kDeepSeekV3, {{"batch", 32}, {"seq", 1}}),
                   weights_of(kDeepSeekV3, {{"batch", 32}, {"context", 4096}}));
  const std::string notes = notes_of(kDeepSeekV3, {{"batch", 32}, {"context", 4096}});
  EXPECT_NE(notes.find("all heads read the compressed cache"), std::string::npos) << notes;
  EXPECT_NE(notes.find("num_nextn_predict_layers = 1: the layers"), std::string::npos) << notes;
}

/// Keys and how many layers read so many.
std::map<std::int64_t, std::int64_t> keys_of(const Workload& workload) {
  std::map<std::int64_t, std::int64_t> layers;
  for (const Operation& op : workload.operations) {
    if (op.name == "attn.scores") {
      layers[op.shape.m] += op.count;
    }
  }
  return layers;
}

TEST(PublishedModels, WindowsAndChunksShortenWhatIsRead) {
  using Layers = std::map<std::int64_t, std::int64_t>;
  EXPECT_EQ(keys_of(read(kGptOss, {{"context", 4096}})), (Layers{{128, 18}, {4096, 18}}));
  EXPECT_EQ(keys_of(read(kLlama4, {{"context", 8192}})), (Layers{{8192, 48}}));
  // The chunk of 8192 that the last of 20000 tokens is in has 3616 up to it.
  EXPECT_EQ(keys_of(read(kLlama4, {{"context", 20000}})), (Layers{{3616, 36}, {20000, 12}}));
  EXPECT_EQ(keys_of(read(kLlama4, {{"seq", 16384}})), (Layers{{8192, 36}, {16384, 12}}));
  EXPECT_EQ(keys_of(read(with(kLlama4, "\"no_rope_layers\": []", "\"no_rope_layers\": [1, 0, 1]"), {{"seq", 16384}})),
            (Layers{{8192, 2}, {16384, 46}}));
}

TEST(PublishedModels, BiasesAndNormsAreThoseOfTheClass) {
  const auto has = [](const std::string& text, const std::string& name) {
    const std::vector<std::string> names = vectors_of(read(text));
    return std::ranges::find(names, name) != names.end();
  };
  for (const char* const name :
       {"attn.qkv.bias", "attn.o.bias", "moe.router.bias", "moe.expert.gate_up.bias", "moe.expert.down.bias"}) {
    EXPECT_TRUE(has(kGptOss, name)) << name;
    EXPECT_FALSE(has(kDeepSeekV3, name)) << name;
  }
  const std::string glm = R"({"model_type": "glm4", "dtype": "bfloat16"})";
  EXPECT_TRUE(has(glm, "attn.qkv.bias"));
  EXPECT_FALSE(has(glm, "attn.o.bias"));
  EXPECT_TRUE(has(glm, "attn.post_norm"));
  EXPECT_TRUE(has(kLlama4, "attn.qk_norm"));
  EXPECT_FALSE(has(with(kLlama4, "qk_norm\": true", "qk_norm\": false"), "attn.qk_norm"));
  const std::string opt = R"({"model_type": "opt", "dtype": "bfloat16", "enable_bias": )";
  EXPECT_TRUE(has(opt + "true}", "mlp.fc1.bias"));
  EXPECT_FALSE(has(opt + "false}", "mlp.fc1.bias"));
  EXPECT_FALSE(has(opt + "true, \"do_layer_norm_before\": false}", "norm"));
}

TEST(PublishedModels, MambaScansChunksOrChangesItsState) {
  const std::string mamba = R"({"model_type": "mamba2", "dtype": "bfloat16"})";
  const Workload prefill = read(mamba, {{"batch", 2}, {"seq", 1024}});
  EXPECT_EQ(named(prefill, "ssm.in_proj").shape, (base::GemmShape{2 * 8192 + 2 * 8 * 128 + 128, 2048, 4096}));
  EXPECT_EQ(named(prefill, "ssm.scores").shape, (base::GemmShape{256, 256, 128}));
  EXPECT_EQ(named(prefill, "ssm.scores").batch, 2 * 4 * 8);
  EXPECT_EQ(named(prefill, "ssm.within").shape, (base::GemmShape{64, 256, 256}));
  EXPECT_EQ(named(prefill, "ssm.states").shape, (base::GemmShape{64, 128, 256}));
  EXPECT_EQ(named(prefill, "ssm.across").batch, 2 * 4 * 128);
  const Workload decode = read(mamba, {{"batch", 2}, {"context", 1024}});
  EXPECT_EQ(decode.operations.size(), 3U);
  const auto state = std::ranges::find(decode.vectors, "ssm.state", &VectorOperation::name);
  ASSERT_NE(state, decode.vectors.end());
  EXPECT_EQ(state->elements(), 2 * 8192 * 128);
}

TEST(PublishedModels, SizesThatDoNotFitAreRefused) {
  const auto refuse = [](const std::string& text, const std::string& why) {
    support::expect_input_error([&] { read(text); }, {why});
  };
  refuse(with(kDeepSeekV3, "dense_replace\": 3", "dense_replace\": 62"),
         "first_k_dense_replace is 62, but there are 61 layers");
  refuse(with(kDeepSeekV3, "\"n_group\": 8", "\"n_group\": 7"), "4 of 7 groups do not share 256 experts");
  refuse(with(kDeepSeekV3, "per_tok\": 8", "per_tok\": 129"), "a token has 129 experts of 128");
  refuse(with(kDeepSeekV3, "layer_freq\": 1", "layer_freq\": [0, 1]"),
         "moe_layer_freq lists 2 layers, but there are 61");
  refuse(R"({"model_type": "deepseek_v2"})", "num_experts_per_tok");
  refuse(R"({"model_type": "mamba2", "num_heads": 64})",
         "64 heads of 64 features are not 8192 features, 2 times the hidden ones");
  refuse(R"({"model_type": "mamba2", "n_groups": 7})", "128 heads do not share 7 groups");
  refuse(R"({"model_type": "mamba2", "conv_kernel": 9})", "conv_kernel is 9, more than 8");
}

}  // namespace
}  // namespace sptc::workload::topology
