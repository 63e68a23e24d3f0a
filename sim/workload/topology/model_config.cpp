// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/topology/model_config.h"

#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"

#include <fmt/ranges.h>

#include <iterator>

namespace sptc::workload::topology {
namespace {

using nlohmann::json;

constexpr std::string_view kTextPart = "text_config";

// Defaults of the configuration classes of Hugging Face's transformers (Apache-2.0), read from
// src/transformers/models/*/configuration_*.py of this version; biases and norms from modeling_*.py
// there.
constexpr std::string_view kTransformersVersion = "transformers 5.24.0";

constexpr Family kText = Family::kDecoder, kEncoder = Family::kEncoder, kVision = Family::kVision;
constexpr unsigned kBiases = kQkvBias | kOutputBias | kMlpBias;
constexpr unsigned kPhi = kLayerNorm | kBiases | kParallel | kOneNorm | kHeadBias;
constexpr unsigned kGemma3 = kGated | kQkNorm | kPostNorms;
constexpr unsigned kCohere = kGated | kLayerNorm | kParallel | kOneNorm;
constexpr const char* kTanhGelu = "gelu_pytorch_tanh";

constexpr ExpertSizes kDense{};
constexpr WindowSizes kNoWindow{};
constexpr LatentSizes kDeepseek{1536, 512, 128, 64, 128};

constexpr ExpertSizes experts(std::int64_t count, std::int64_t each_token, std::int64_t ffn = 0,
                              std::int64_t shared_ffn = 0, std::int64_t first_dense = 0, std::int64_t shared = 0,
                              std::int64_t dense_ffn = 0) {
  return {count, each_token, ffn, shared_ffn, first_dense, shared, dense_ffn};
}

constexpr WindowSizes windows(std::int64_t tokens, std::int64_t pattern = 1) {
  return {tokens, pattern};
}

// vocab, hidden, ffn, layers, heads, kv, head; experts; window; rotary part, activation; latent
constexpr ModelClass kClasses[] = {
    {"llama", "LlamaConfig", kText, kGated, 32000, 4096, 11008, 32, 32},
    {"mistral", "MistralConfig", kText, kGated, 32000, 4096, 14336, 32, 32, 8, 0, kDense, windows(4096)},
    {"mixtral", "MixtralConfig", kText, kGated, 32000, 4096, 14336, 32, 32, 8, 0, experts(8, 2)},
    {"qwen2", "Qwen2Config", kText, kGated | kQkvBias, 151936, 4096, 22016, 32, 32, 32},
    {"qwen2_moe", "Qwen2MoeConfig", kText, kGated | kQkvBias | kSharedGate, 151936, 2048, 5632, 24, 16, 16, 0,
     experts(60, 4, 1408, 5632)},
    {"qwen3", "Qwen3Config", kText, kGated | kQkNorm, 151936, 4096, 22016, 32, 32, 32, 128},
    {"qwen3_moe", "Qwen3MoeConfig", kText, kGated | kQkNorm, 151936, 2048, 6144, 24, 32, 4, 0, experts(128, 8, 768)},
    {"qwen3_vl qwen3_vl_text", "Qwen3VLTextConfig", kText, kGated | kQkNorm, 151936, 4096, 22016, 32, 32, 32, 128},
    {"gemma", "GemmaConfig", kText, kGated, 256000, 3072, 24576, 28, 16, 16, 256, kDense, kNoWindow, 1, kTanhGelu},
    {"gemma2", "Gemma2Config", kText, kGated | kPostNorms, 256000, 2304, 9216, 26, 8, 4, 256, kDense, windows(4096, 2),
     1, kTanhGelu},
    {"gemma3 gemma3_text", "Gemma3TextConfig", kText, kGemma3, 262208, 2304, 9216, 26, 8, 4, 256, kDense,
     windows(4096, 6), 1, kTanhGelu},
    {"phi", "PhiConfig", kText, kPhi, 51200, 2048, 8192, 24, 32, 0, 0, kDense, kNoWindow, 0.5, "gelu_new"},
    {"phi3", "Phi3Config", kText, kGated, 32064, 3072, 8192, 32, 32},
    {"olmo", "OlmoConfig", kText, kGated | kLayerNorm, 50304, 4096, 11008, 32, 32},
    {"olmo2", "Olmo2Config", kText, kGated | kQkNorm, 50304, 4096, 11008, 32, 32},
    {"granite", "GraniteConfig", kText, kGated, 32000, 4096, 11008, 32, 32},
    {"gpt2", "GPT2Config", kText, kLayerNorm | kBiases | kNoRotary, 50257, 768, 0, 12, 12, 0, 0, kDense, kNoWindow, 1,
     "gelu_new"},
    {"gpt_neox", "GPTNeoXConfig", kText, kLayerNorm | kBiases | kParallel, 50432, 6144, 24576, 44, 64, 0, 0, kDense,
     kNoWindow, 0.25, "gelu"},
    {"opt", "OPTConfig", kText, kLayerNorm | kBiases | kNoRotary, 50272, 768, 3072, 12, 12, 0, 0, kDense, kNoWindow, 1,
     "relu"},
    {"granitemoe", "GraniteMoeConfig", kText, kGated, 32000, 4096, 11008, 32, 32, 0, 0, experts(8, 2)},
    {"granitemoeshared", "GraniteMoeSharedConfig", kText, kGated, 32000, 4096, 11008, 32, 32, 0, 0, experts(8, 2)},
    {"glm4", "Glm4Config", kText, kGated | kPostNorms | kAttentionBias | kBiasOfInputs, 151552, 4096, 13696, 40, 32, 2,
     128, kDense, kNoWindow, 0.5},
    {"glm4_moe", "Glm4MoeConfig", kText, kGated | kBiasOfInputs, 151552, 4096, 10944, 46, 96, 8, 0,
     experts(128, 8, 1408, 0, 1, 1), kNoWindow, 0.5},
    {"gpt_oss", "GptOssConfig", kText, kGated | kAttentionBias | kExpertBias | kSinks, 201088, 2880, 2880, 36, 64, 8,
     64, experts(128, 4), windows(128, 2)},
    {"deepseek_v2", "DeepseekV2Config", kText, kGated | kLatent, 102400, 4096, 11008, 32, 32, 0, 0,
     experts(64, 0, 1407, 0, 0, 2), kNoWindow, 1, "silu", kDeepseek},
    {"deepseek_v3 kimi_k2 kimi_k25", "DeepseekV3Config", kText, kGated | kLatent, 129280, 7168, 18432, 61, 128, 0, 0,
     experts(256, 8, 2048, 0, 3, 1), kNoWindow, 1, "silu", kDeepseek},
    {"llama4 llama4_text", "Llama4TextConfig", kText, kGated | kQkNorm | kChunked | kSharedExpert, 202048, 5120, 8192,
     48, 40, 8, 128, experts(16, 1, 0, 0, 0, 0, 16384), windows(8192, 4)},
    {"qwen3_vl_moe qwen3_vl_moe_text", "Qwen3VLMoeTextConfig", kText, kGated | kQkNorm, 151936, 2048, 5632, 24, 16, 16,
     0, experts(60, 4, 1408)},
    {"qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text", "Qwen2VLTextConfig", kText, kGated | kQkvBias, 152064, 8192,
     29568, 80, 64, 8},
    {"cohere", "CohereConfig", kText, kCohere, 256000, 8192, 22528, 40, 64},
    {"cohere2", "Cohere2Config", kText, kCohere, 256000, 8192, 22528, 40, 64, 0, 0, kDense, windows(4096, 4)},
    {"olmoe", "OlmoeConfig", kText, kGated | kQkNorm, 50304, 2048, 2048, 16, 16, 0, 0, experts(64, 8)},
    {"phimoe", "PhimoeConfig", kText, kGated | kLayerNorm, 32064, 4096, 6400, 32, 32, 8, 0, experts(16, 2)},
    {"minimax_m2", "MiniMaxM2Config", kText, kGated | kQkNorm, 200064, 3072, 1536, 62, 48, 8, 128, experts(256, 8)},
    {"glm", "GlmConfig", kText, kGated | kAttentionBias | kBiasOfInputs, 151552, 4096, 13696, 40, 32, 2, 128, kDense,
     kNoWindow, 0.5},
    {"seed_oss", "SeedOssConfig", kText, kGated | kAttentionBias | kBiasOfInputs, 155136, 4096, 27648, 64, 80, 8, 128},
    {"ernie4_5", "Ernie4_5Config", kText, kGated, 103424, 1024, 3072, 18, 16, 2, 128},
    {"smollm3", "SmolLM3Config", kText, kGated, 128256, 2048, 11008, 36, 16, 4},
    {"starcoder2", "Starcoder2Config", kText, kLayerNorm | kBiases, 49152, 3072, 12288, 30, 24, 2, 0, kDense, kNoWindow,
     1, kTanhGelu},
    {"gptj", "GPTJConfig", kText, kLayerNorm | kMlpBias | kParallel | kOneNorm | kHeadBias, 50400, 4096, 0, 28, 16, 0,
     0, kDense, kNoWindow, 0.25, "gelu_new"},
    {"bloom", "BloomConfig", kText, kLayerNorm | kBiases | kNoRotary, 250880, 64, 0, 2, 8, 0, 0, kDense, kNoWindow, 1,
     "gelu"},
    {"falcon", "FalconConfig", kText, kLayerNorm | kParallel | kOneNorm, 65024, 4544, 0, 32, 71, 0, 0, kDense,
     kNoWindow, 1, "gelu"},
    {"mamba2", "Mamba2Config", Family::kStateSpace, 0, 32768, 4096, 0, 64, 128, 0, 64},
    {"bert", "BertConfig", kEncoder, 0, 30522, 768, 3072, 12, 12, 0, 0, kDense, kNoWindow, 1, "gelu"},
    {"roberta", "RobertaConfig", kEncoder, 0, 50265, 768, 3072, 12, 12, 0, 0, kDense, kNoWindow, 1, "gelu"},
    {"xlm-roberta", "XLMRobertaConfig", kEncoder, 0, 30522, 768, 3072, 12, 12, 0, 0, kDense, kNoWindow, 1, "gelu"},
    {"vit", "ViTConfig", kVision, 0, 0, 768, 3072, 12, 12, 0, 0, kDense, kNoWindow, 1, "gelu"},
    {"deit", "DeiTConfig", kVision, 0, 0, 768, 3072, 12, 12, 0, 0, kDense, kNoWindow, 1, "gelu"},
};

/// Keys that change no operation of a pass: of tokens, training, generation and files.
constexpr std::string_view kOfNoOperation[] = {
    "architectures", "auto_map", "transformers_version", "_name_or_path", "_commit_hash",
    // Tokens.
    "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id", "decoder_start_token_id",
    "image_token_id", "image_token_index", "boi_token_index", "eoi_token_index", "mm_tokens_per_image",
    "video_token_id", "vision_start_token_id", "vision_end_token_id",
    // Training and arithmetic of single elements.
    "initializer_range", "initializer_factor", "layer_norm_eps", "layer_norm_epsilon", "layer_norm_elementwise_affine",
    "rms_norm_eps", "use_cache", "tie_word_embeddings", "attention_dropout", "hidden_dropout", "hidden_dropout_prob",
    "attention_probs_dropout_prob", "classifier_dropout", "embd_pdrop", "attn_pdrop", "resid_pdrop", "resid_dropout",
    "embd_dropout", "dropout", "layerdrop", "activation_dropout", "summary_type", "summary_use_proj",
    "summary_activation", "summary_proj_to_labels", "summary_first_dropout", "task_specific_params",
    // Positions.
    "max_position_embeddings", "original_max_position_embeddings", "n_positions", "n_ctx", "rope_theta", "rope_scaling",
    "rope_parameters", "rope_local_base_freq", "rotary_emb_base", "output_router_logits", "router_aux_loss_coef",
    "router_jitter_noise", "norm_topk_prob", "pretraining_tp", "gradient_checkpointing", "output_attentions",
    "output_hidden_states", "label2id", "id2label", "num_labels", "problem_type", "type_vocab_size",
    "position_embedding_type", "model_type", "prefix", "is_decoder", "is_encoder_decoder", "add_cross_attention",
    "attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling", "query_pre_attn_scalar",
    "final_logit_softcapping", "attn_logit_softcapping", "cache_implementation", "attn_implementation",
    "_attn_implementation", "clip_qkv", "scale_attn_weights", "scale_attn_by_inverse_layer_idx",
    "reorder_and_upcast_attn", "hidden_size_per_layer_input", "directionality", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
    // Tools, and what other keys say.
    "torchscript", "use_bfloat16", "finetuning_task", "unsloth_version", "unsloth_fixed", "encoder_stride",
    "max_window_layers", "_remove_final_layer_norm", "use_qkv_bias", "experts_per_token", "num_experts", "hidden_act",
    // Scores and their scaling, groups of experts among which a router chooses, activations.
    "routed_scaling_factor", "scoring_func", "topk_method", "aux_loss_alpha", "seq_aux", "ep_size", "rope_interleave",
    "swiglu_alpha", "swiglu_limit", "attn_temperature_tuning", "attn_scale", "floor_scale", "for_llm_compressor",
    "initial_context_length", "qk_head_dim",
    // Keys of states.
    "time_step_rank", "time_step_min", "time_step_max", "time_step_floor", "time_step_limit",
    "rescale_prenorm_residual", "residual_in_fp32", "norm_before_gate", "rms_norm"};

/// The class of the text part before that of the whole.
const ModelClass& class_of(const io::JsonObject& root, const io::JsonObject& config) {
  const std::string type = root.text("model_type");
  for (const std::string& wanted : {word_of(config, "model_type"), type}) {
    for (const ModelClass& row : kClasses) {
      const std::vector<std::string_view> types = parts_of(row.types, ' ');
      if (std::ranges::find(types, std::string_view(wanted)) != types.end()) {
        return row;
      }
    }
  }
  std::string known;
  for (std::size_t i = 0; i < std::size(kClasses); ++i) {
    constexpr std::size_t kInALine = 12;  // lines of messages are bounded
    known += i == 0 ? "" : i % kInALine == 0 ? ",\n  " : ", ";
    known += parts_of(kClasses[i].types, ' ').front();
  }
  (root.place() / "model_type").fail("model_type {} is not modelled yet; known are: {}", io::printable(type), known);
}

}  // namespace

std::string word_of(const io::JsonObject& object, std::string_view key) {
  return object.has(key) && object.require(key).is_string() ? object.require(key).get<std::string>() : std::string();
}

ModelConfig::ModelConfig(const io::JsonObject& root)
    : root_(root),
      config_(root.has(kTextPart) && !root.has("hidden_size") ? root.object(kTextPart) : root),
      nested_(root.has(kTextPart) && !root.has("hidden_size")),
      class_(&class_of(root_, config_)) {}

const json* ModelConfig::find(std::string_view key) {
  asked_.insert(std::string(key));
  const bool said = config_.has(key) && !config_.require(key).is_null();
  return said ? &config_.require(key) : nullptr;
}

std::int64_t ModelConfig::extent(std::initializer_list<std::string_view> keys, std::int64_t absent,
                                 std::int64_t least) {
  std::int64_t value = absent;
  bool said = false;
  for (const std::string_view key : keys) {
    if (find(key) != nullptr && !said) {
      value = config_.integer(key, least, kMaxExtent);
      said = true;
    }
  }
  if (!said && absent < least) {
    config_.require(*keys.begin());  // says that it is missing
    (config_.place() / *keys.begin()).fail("must not be null");
  }
  if (!said) {
    defaults_.push_back(fmt::format("{} = {}", *keys.begin(), value));
  }
  return value;
}

std::int64_t ModelConfig::extent_or(std::string_view key, std::int64_t absent, std::int64_t follows,
                                    std::int64_t least) {
  if (find(key) != nullptr) {
    return config_.integer(key, least, kMaxExtent);
  }
  const std::int64_t value = absent == 0 || config_.has(key) ? follows : absent;
  if (absent != 0 && !config_.has(key)) {
    defaults_.push_back(fmt::format("{} = {}", key, value));
  }
  return value;
}

bool ModelConfig::boolean(std::string_view key, bool absent) {
  return find(key) == nullptr ? absent : config_.boolean_or(key, absent);
}

std::string ModelConfig::text(std::initializer_list<std::string_view> keys, std::string_view absent) {
  std::string value(absent);
  for (const std::string_view key : keys) {
    if (const json* const found = find(key); found != nullptr && found->is_string()) {
      value = found->get<std::string>();
    }
  }
  return value;
}

double ModelConfig::number(std::string_view key, double absent) {
  const json* found = find(key);
  const json* const rope = find("rope_parameters");
  if (found == nullptr && rope != nullptr && rope->is_object() && rope->contains(key)) {
    found = &(*rope)[key];
  }
  const double value = found != nullptr && found->is_number() ? found->get<double>() : absent;
  if (!(value > 0 && value <= 1)) {
    (config_.place() / key).fail("must be above 0 and at most 1, not {}", value);
  }
  return value;
}

const json* ModelConfig::array(std::string_view key) {
  const json* const found = find(key);
  return found != nullptr && found->is_array() ? found : nullptr;
}

std::string ModelConfig::dtype() {
  for (const io::JsonObject* const object : {&config_, &root_}) {
    for (const std::string_view key : {std::string_view("dtype"), std::string_view("torch_dtype")}) {
      asked_.insert(std::string(key));
      std::string name = word_of(*object, key);
      constexpr std::string_view kTorch = "torch.";
      name.erase(0, name.starts_with(kTorch) ? kTorch.size() : 0);
      if (name.empty()) {
        continue;
      }
      if (name == "float16" || name == "bfloat16" || name == "float32") {
        return name == "float16" ? "f16" : name == "float32" ? "tf32" : "bf16";
      }
      (object->place() / key).fail("'{}' is none of float16, bfloat16 and float32", io::printable(name));
    }
  }
  note("the configuration says no type (dtype, torch_dtype): bf16 is taken");
  return "bf16";
}

std::optional<io::JsonObject> ModelConfig::object(std::string_view key) {
  asked_.insert(std::string(key));
  for (const io::JsonObject* const object : {&config_, &root_}) {
    if (object->has(key) && object->require(key).is_object()) {
      return object->object(key);
    }
  }
  return std::nullopt;
}

std::vector<std::string> ModelConfig::notes() && {
  if (!defaults_.empty()) {
    notes_.push_back(fmt::format("not in the file, so as {} of {} has it: {}", class_->name, kTransformersVersion,
                                 fmt::join(defaults_, ", ")));
  }
  std::vector<std::string> unread;
  const auto add_unread = [&](const io::JsonObject& object) {
    for (const auto& [key, value] : object.value().items()) {
      const bool known = asked_.contains(key) || key == kTextPart ||
                         std::ranges::find(kOfNoOperation, key) != std::end(kOfNoOperation);
      const bool says_nothing = value.is_null() || value == json(false) || value == json(0);
      if (!known && !says_nothing && std::ranges::count(unread, key) == 0) {
        unread.push_back(key);
      }
    }
  };
  add_unread(config_);
  if (nested_) {
    add_unread(root_);
  }
  if (!unread.empty()) {
    constexpr std::size_t kMost = 12;
    const std::size_t number = unread.size();
    unread.resize(std::min(number, kMost));
    notes_.push_back(io::printable(fmt::format("keys that are not read: {}{}", fmt::join(unread, ", "),
                                               number > kMost ? fmt::format(" and {} more", number - kMost) : "")));
  }
  return std::move(notes_);
}

}  // namespace sptc::workload::topology
