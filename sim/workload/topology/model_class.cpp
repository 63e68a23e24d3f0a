// SPDX-License-Identifier: Apache-2.0
//
// Defaults of the configuration classes of Hugging Face's transformers (Apache-2.0), read from
// src/transformers/models/*/configuration_*.py of version 5.24.0.
#include "sim/workload/topology/model_class.h"

#include <algorithm>
#include <iterator>

namespace sptc::workload::topology {
namespace {

constexpr unsigned kBiases = kQkvBias | kOutputBias | kMlpBias;
constexpr unsigned kGemma3 = kGated | kQkNorm | kPostNorms;

constexpr Family kText = Family::kDecoder;
constexpr const char* kTanhGelu = "gelu_pytorch_tanh";

// vocab, hidden, ffn, layers, heads, kv, head; experts, each token, ffn of one, of the shared;
// window, pattern; rotary part, activation
constexpr ModelClass kClasses[] = {
    {"llama", "LlamaConfig", kText, kGated, 32000, 4096, 11008, 32, 32},
    {"mistral", "MistralConfig", kText, kGated, 32000, 4096, 14336, 32, 32, 8, 0, 0, 0, 0, 0, 4096},
    {"mixtral", "MixtralConfig", kText, kGated, 32000, 4096, 14336, 32, 32, 8, 0, 8, 2},
    {"qwen2", "Qwen2Config", kText, kGated | kQkvBias, 151936, 4096, 22016, 32, 32, 32},
    {"qwen2_moe", "Qwen2MoeConfig", kText, kGated | kQkvBias, 151936, 2048, 5632, 24, 16, 16, 0, 60,
     4, 1408, 5632},
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

std::span<const ModelClass> model_classes() {
  return kClasses;
}

const ModelClass* find_model_class(std::string_view type) {
  const auto* const found =
      std::find_if(std::begin(kClasses), std::end(kClasses),
                   [type](const ModelClass& row) { return row.type == type; });
  return found == std::end(kClasses) ? nullptr : found;
}

}  // namespace sptc::workload::topology
