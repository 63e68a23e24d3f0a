// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/topology/model_classes.h"

#include <algorithm>
#include <iterator>

namespace sptc::workload::topology {
namespace {

// Defaults of the configuration classes of Hugging Face's transformers (Apache-2.0), read from
// src/transformers/models/*/configuration_*.py of kTransformersVersion; biases and norms from
// modeling_*.py there.

constexpr unsigned kBiases = kQkvBias | kOutputBias | kMlpBias;
constexpr unsigned kGemma3 = kGated | kQkNorm | kPostNorms;

constexpr Family kText = Family::kDecoder;
constexpr const char* kTanhGelu = "gelu_pytorch_tanh";

constexpr ModelClass deepseek_v3(std::string_view type) {
  return {.type = type,
          .name = "DeepseekV3Config",
          .traits = kGated | kLatent,
          .vocab = 129280,
          .hidden = 7168,
          .ffn = 18432,
          .layers = 61,
          .heads = 128,
          .experts = 256,
          .each_token = 8,
          .expert_ffn = 2048,
          .first_dense = 3,
          .shared_experts = 1,
          .q_rank = 1536,
          .kv_rank = 512,
          .no_rope = 128,
          .rope = 64,
          .value = 128};
}

constexpr ModelClass llama4(std::string_view type) {
  return {.type = type,
          .name = "Llama4TextConfig",
          .traits = kGated | kQkNorm | kChunked | kSharedExpert,
          .vocab = 202048,
          .hidden = 5120,
          .ffn = 8192,
          .layers = 48,
          .heads = 40,
          .kv_heads = 8,
          .head = 128,
          .experts = 16,
          .each_token = 1,
          .window = 8192,
          .window_pattern = 4,
          .dense_ffn = 16384};
}

constexpr ModelClass qwen3_vl_moe(std::string_view type) {
  return {.type = type,
          .name = "Qwen3VLMoeTextConfig",
          .traits = kGated | kQkNorm,
          .vocab = 151936,
          .hidden = 2048,
          .ffn = 5632,
          .layers = 24,
          .heads = 16,
          .kv_heads = 16,
          .experts = 60,
          .each_token = 4,
          .expert_ffn = 1408};
}

// vocab, hidden, ffn, layers, heads, kv, head; experts, each token, ffn of one, of the shared;
// window, pattern; rotary part, activation
constexpr ModelClass kClasses[] = {
    {"llama", "LlamaConfig", kText, kGated, 32000, 4096, 11008, 32, 32},
    {"mistral", "MistralConfig", kText, kGated, 32000, 4096, 14336, 32, 32, 8, 0, 0, 0, 0, 0, 4096},
    {"mixtral", "MixtralConfig", kText, kGated, 32000, 4096, 14336, 32, 32, 8, 0, 8, 2},
    {"qwen2", "Qwen2Config", kText, kGated | kQkvBias, 151936, 4096, 22016, 32, 32, 32},
    {"qwen2_moe", "Qwen2MoeConfig", kText, kGated | kQkvBias | kSharedGate, 151936, 2048, 5632, 24,
     16, 16, 0, 60, 4, 1408, 5632},
    {"qwen3", "Qwen3Config", kText, kGated | kQkNorm, 151936, 4096, 22016, 32, 32, 32, 128},
    {"qwen3_moe", "Qwen3MoeConfig", kText, kGated | kQkNorm, 151936, 2048, 6144, 24, 32, 4, 0, 128,
     8, 768},
    {"qwen3_vl", "Qwen3VLTextConfig", kText, kGated | kQkNorm, 151936, 4096, 22016, 32, 32, 32,
     128},
    {"qwen3_vl_text", "Qwen3VLTextConfig", kText, kGated | kQkNorm, 151936, 4096, 22016, 32, 32, 32,
     128},
    {"gemma", "GemmaConfig", kText, kGated, 256000, 3072, 24576, 28, 16, 16, 256, 0, 0, 0, 0, 0, 1,
     1, kTanhGelu},
    {"gemma2", "Gemma2Config", kText, kGated | kPostNorms, 256000, 2304, 9216, 26, 8, 4, 256, 0, 0,
     0, 0, 4096, 2, 1, kTanhGelu},
    {"gemma3", "Gemma3TextConfig", kText, kGemma3, 262208, 2304, 9216, 26, 8, 4, 256, 0, 0, 0, 0,
     4096, 6, 1, kTanhGelu},
    {"gemma3_text", "Gemma3TextConfig", kText, kGemma3, 262208, 2304, 9216, 26, 8, 4, 256, 0, 0, 0,
     0, 4096, 6, 1, kTanhGelu},
    {"phi", "PhiConfig", kText, kLayerNorm | kBiases | kParallel | kOneNorm | kHeadBias, 51200,
     2048, 8192, 24, 32, 0, 0, 0, 0, 0, 0, 0, 1, 0.5, "gelu_new"},
    {"phi3", "Phi3Config", kText, kGated, 32064, 3072, 8192, 32, 32},
    {"olmo", "OlmoConfig", kText, kGated | kLayerNorm, 50304, 4096, 11008, 32, 32},
    {"olmo2", "Olmo2Config", kText, kGated | kQkNorm, 50304, 4096, 11008, 32, 32},
    {"granite", "GraniteConfig", kText, kGated, 32000, 4096, 11008, 32, 32},
    {"gpt2", "GPT2Config", kText, kLayerNorm | kBiases | kNoRotary, 50257, 768, 0, 12, 12, 0, 0, 0,
     0, 0, 0, 0, 1, 1, "gelu_new"},
    {"gpt_neox", "GPTNeoXConfig", kText, kLayerNorm | kBiases | kParallel, 50432, 6144, 24576, 44,
     64, 0, 0, 0, 0, 0, 0, 0, 1, 0.25, "gelu"},
    {"opt", "OPTConfig", kText, kLayerNorm | kBiases | kNoRotary, 50272, 768, 3072, 12, 12, 0, 0, 0,
     0, 0, 0, 0, 1, 1, "relu"},
    {.type = "granitemoe",
     .name = "GraniteMoeConfig",
     .traits = kGated,
     .vocab = 32000,
     .hidden = 4096,
     .ffn = 11008,
     .layers = 32,
     .heads = 32,
     .experts = 8,
     .each_token = 2},
    {.type = "granitemoeshared",
     .name = "GraniteMoeSharedConfig",
     .traits = kGated,
     .vocab = 32000,
     .hidden = 4096,
     .ffn = 11008,
     .layers = 32,
     .heads = 32,
     .experts = 8,
     .each_token = 2},
    {.type = "glm4",
     .name = "Glm4Config",
     .traits = kGated | kPostNorms | kAttentionBias | kBiasOfInputs,
     .vocab = 151552,
     .hidden = 4096,
     .ffn = 13696,
     .layers = 40,
     .heads = 32,
     .kv_heads = 2,
     .head = 128,
     .rotary = 0.5},
    {.type = "glm4_moe",
     .name = "Glm4MoeConfig",
     .traits = kGated | kBiasOfInputs,
     .vocab = 151552,
     .hidden = 4096,
     .ffn = 10944,
     .layers = 46,
     .heads = 96,
     .kv_heads = 8,
     .experts = 128,
     .each_token = 8,
     .expert_ffn = 1408,
     .rotary = 0.5,
     .first_dense = 1,
     .shared_experts = 1},
    {.type = "gpt_oss",
     .name = "GptOssConfig",
     .traits = kGated | kAttentionBias | kExpertBias | kSinks,
     .vocab = 201088,
     .hidden = 2880,
     .ffn = 2880,
     .layers = 36,
     .heads = 64,
     .kv_heads = 8,
     .head = 64,
     .experts = 128,
     .each_token = 4,
     .window = 128,
     .window_pattern = 2},
    {.type = "deepseek_v2",
     .name = "DeepseekV2Config",
     .traits = kGated | kLatent,
     .vocab = 102400,
     .hidden = 4096,
     .ffn = 11008,
     .layers = 32,
     .heads = 32,
     .experts = 64,
     .expert_ffn = 1407,
     .shared_experts = 2,
     .q_rank = 1536,
     .kv_rank = 512,
     .no_rope = 128,
     .rope = 64,
     .value = 128},
    deepseek_v3("deepseek_v3"),
    deepseek_v3("kimi_k2"),
    deepseek_v3("kimi_k25"),
    llama4("llama4"),
    llama4("llama4_text"),
    qwen3_vl_moe("qwen3_vl_moe"),
    qwen3_vl_moe("qwen3_vl_moe_text"),
    {.type = "mamba2",
     .name = "Mamba2Config",
     .family = Family::kStateSpace,
     .vocab = 32768,
     .hidden = 4096,
     .layers = 64,
     .heads = 128,
     .head = 64},
    {"bert", "BertConfig", Family::kEncoder, 0, 30522, 768, 3072, 12, 12, 0, 0, 0, 0, 0, 0, 0, 1, 1,
     "gelu"},
    {"roberta", "RobertaConfig", Family::kEncoder, 0, 50265, 768, 3072, 12, 12, 0, 0, 0, 0, 0, 0, 0,
     1, 1, "gelu"},
    {"xlm-roberta", "XLMRobertaConfig", Family::kEncoder, 0, 30522, 768, 3072, 12, 12, 0, 0, 0, 0,
     0, 0, 0, 1, 1, "gelu"},
    {"vit", "ViTConfig", Family::kVision, 0, 0, 768, 3072, 12, 12, 0, 0, 0, 0, 0, 0, 0, 1, 1,
     "gelu"},
    {"deit", "DeiTConfig", Family::kVision, 0, 0, 768, 3072, 12, 12, 0, 0, 0, 0, 0, 0, 0, 1, 1,
     "gelu"},
};

}  // namespace

const ModelClass* find_class(std::string_view type) {
  const auto* const found = std::ranges::find(kClasses, type, &ModelClass::type);
  return found == std::end(kClasses) ? nullptr : found;
}

std::vector<std::string_view> class_types() {
  std::vector<std::string_view> types;
  types.reserve(std::size(kClasses));
  for (const ModelClass& row : kClasses) {
    types.push_back(row.type);
  }
  return types;
}

}  // namespace sptc::workload::topology
