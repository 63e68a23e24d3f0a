// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/topology/model_config.h"

#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace sptc::workload::topology {
namespace {

using nlohmann::json;

constexpr std::string_view kTextPart = "text_config";

// Defaults of the configuration classes of Hugging Face's transformers (Apache-2.0), read from
// src/transformers/models/*/configuration_*.py of this version.
constexpr std::string_view kTransformersVersion = "transformers 5.24.0";

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

/// Keys that change no operation of a pass: of tokens, training, generation and files.
constexpr std::string_view kOfNoOperation[] = {
    "architectures", "auto_map", "transformers_version", "_name_or_path", "_commit_hash",
    // Tokens.
    "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id",
    "decoder_start_token_id", "image_token_id", "image_token_index", "boi_token_index",
    "eoi_token_index", "mm_tokens_per_image", "video_token_id", "vision_start_token_id",
    "vision_end_token_id",
    // Training and arithmetic of single elements.
    "initializer_range", "initializer_factor", "layer_norm_eps", "layer_norm_epsilon",
    "layer_norm_elementwise_affine", "rms_norm_eps", "use_cache", "tie_word_embeddings",
    "attention_dropout", "hidden_dropout", "hidden_dropout_prob", "attention_probs_dropout_prob",
    "classifier_dropout", "embd_pdrop", "attn_pdrop", "resid_pdrop", "resid_dropout",
    "embd_dropout", "dropout", "layerdrop", "activation_dropout", "summary_type",
    "summary_use_proj", "summary_activation", "summary_proj_to_labels", "summary_first_dropout",
    "task_specific_params",
    // Positions.
    "max_position_embeddings", "original_max_position_embeddings", "n_positions", "n_ctx",
    "rope_theta", "rope_scaling", "rope_parameters", "rope_local_base_freq", "rotary_emb_base",
    "output_router_logits", "router_aux_loss_coef", "router_jitter_noise", "norm_topk_prob",
    "pretraining_tp", "gradient_checkpointing", "output_attentions", "output_hidden_states",
    "label2id", "id2label", "num_labels", "problem_type", "type_vocab_size",
    "position_embedding_type", "model_type", "prefix", "is_decoder", "is_encoder_decoder",
    "add_cross_attention", "attention_multiplier", "embedding_multiplier", "residual_multiplier",
    "logits_scaling", "query_pre_attn_scalar", "final_logit_softcapping", "attn_logit_softcapping",
    "cache_implementation", "attn_implementation", "_attn_implementation", "clip_qkv",
    "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn",
    "hidden_size_per_layer_input", "directionality", "pooler_fc_size", "pooler_num_attention_heads",
    "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
    // Tools, and what other keys say.
    "finetuning_task", "unsloth_version", "unsloth_fixed", "encoder_stride", "max_window_layers",
    "do_layer_norm_before", "_remove_final_layer_norm", "enable_bias", "use_qkv_bias"};

std::int64_t integer_of(const io::JsonObject& object, std::string_view key) {
  const bool said = object.has(key) && object.require(key).is_number_integer();
  return said ? object.require(key).get<std::int64_t>() : 0;
}

/// The group of a quantisation: of a row where it is -1 or 0.
std::int64_t group_of(const io::JsonObject& object, std::string_view key) {
  const std::int64_t group = integer_of(object, key);
  return group > 0 && group <= kMostInScaleBlock ? group : 0;
}

std::string word_of(const io::JsonObject& object, std::string_view key) {
  return object.has(key) && object.require(key).is_string() ? object.require(key).get<std::string>()
                                                            : std::string();
}

/// That of the text part before that of the whole.
const ModelClass& class_of(const io::JsonObject& root, const io::JsonObject& config) {
  const std::string type = root.text("model_type");
  const std::string part = word_of(config, "model_type");
  std::vector<std::string_view> known;
  for (const std::string& name : {part, type}) {
    known.clear();
    for (const ModelClass& row : kClasses) {
      if (row.type == name) {
        return row;
      }
      known.push_back(row.type);
    }
  }
  (root.place() / "model_type")
      .fail(fmt::format("model_type {} is not modelled yet; known are: {}", io::printable(type),
                        fmt::join(known, ", ")));
}

}  // namespace

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

std::string ModelConfig::text(std::initializer_list<std::string_view> keys,
                              std::string_view absent) {
  std::string value(absent);
  for (const std::string_view key : keys) {
    if (const json* const found = find(key); found != nullptr && found->is_string()) {
      value = found->get<std::string>();
    }
  }
  return value;
}

double ModelConfig::number(std::string_view key, double absent) {
  const json* const found = find(key);
  const double value = found != nullptr && found->is_number() ? found->get<double>() : absent;
  if (!(value > 0 && value <= 1)) {
    (config_.place() / key).fail(fmt::format("must be above 0 and at most 1, not {}", value));
  }
  return value;
}

const json* ModelConfig::array(std::string_view key) {
  const json* const found = find(key);
  return found != nullptr && found->is_array() ? found : nullptr;
}

std::string ModelConfig::dtype() {
  for (const io::JsonObject* const object : {&config_, &root_}) {
    for (const std::string_view key :
         {std::string_view("dtype"), std::string_view("torch_dtype")}) {
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
      (object->place() / key)
          .fail(fmt::format("'{}' is none of float16, bfloat16 and float32", io::printable(name)));
    }
  }
  notes_.emplace_back("the configuration says no type (dtype, torch_dtype): bf16 is taken");
  return "bf16";
}

WeightForm ModelConfig::unread(const std::string& what) {
  notes_.push_back(
      fmt::format("quantization '{}' is not read: weights are {}", io::printable(what), dtype()));
  return {dtype(), "", 0};
}

WeightForm ModelConfig::weight_only(std::int64_t bits, std::int64_t group) {
  const std::string type = dtype();
  if ((bits != 4 && bits != 8) || type == "tf32") {
    return unread(fmt::format("of {} bits, multiplied as {}", bits, type));
  }
  notes_.push_back(fmt::format("weights of {} bits{} are dequantised to {}", bits,
                               group > 0 ? fmt::format(" with a scale for {}", group) : "", type));
  return {type, bits == 4 ? "s4" : "s8", group};
}

WeightForm ModelConfig::read_compressed_tensors(const io::JsonObject& quantization) {
  const json* const groups =
      quantization.has("config_groups") ? &quantization.require("config_groups") : nullptr;
  if (groups == nullptr || !groups->is_object() || groups->empty() ||
      !groups->front().is_object() || !groups->front().contains("weights") ||
      !groups->front()["weights"].is_object()) {
    return unread("compressed-tensors without weights");
  }
  if (groups->size() > 1) {
    notes_.push_back(
        fmt::format("of {} groups of compressed-tensors the first stands for all", groups->size()));
  }
  const json& group = groups->front();
  const io::JsonObject weights(group["weights"], quantization.place() / "config_groups");
  const bool both = group.contains("input_activations") && group["input_activations"].is_object();
  const std::int64_t bits = integer_of(weights, "num_bits");
  const bool floats = word_of(weights, "type") == "float";
  const std::int64_t block = group_of(weights, "group_size");
  constexpr std::int64_t kBlockOfFourBits = 16;
  if (!floats && !both) {
    return weight_only(bits, block);
  }
  if (both && bits == 8) {
    return {floats ? "e4m3" : "s8", "", 0};
  }
  if (both && floats && bits == 4 && block == kBlockOfFourBits) {
    return {"e2m1", "", kBlockOfFourBits};
  }
  return unread(fmt::format("compressed-tensors of {} bits{}", bits,
                            both ? "" : ", activations as they are"));
}

WeightForm ModelConfig::read_quantization(const io::JsonObject& quantization) {
  const std::string method = word_of(quantization, "quant_method");
  if (method == "fp8" || method == "fbgemm_fp8") {
    if (quantization.has("weight_block_size") &&
        quantization.require("weight_block_size").is_array()) {
      notes_.emplace_back("scales of blocks of weights (weight_block_size) cost nothing here");
    }
    return {"e4m3", "", 0};
  }
  if (method == "gptq" || method == "awq") {
    const bool old = !quantization.has("bits");
    return weight_only(
        integer_of(quantization, old ? "w_bit" : "bits"),
        group_of(quantization, quantization.has("q_group_size") ? "q_group_size" : "group_size"));
  }
  if (method == "bitsandbytes") {
    constexpr std::int64_t kBlock = 64;
    const bool four = quantization.boolean_or("load_in_4bit", false) ||
                      quantization.boolean_or("_load_in_4bit", false);
    return four ? weight_only(4, kBlock) : WeightForm{"s8", "", 0};
  }
  if (method == "compressed-tensors") {
    return read_compressed_tensors(quantization);
  }
  if (method == "modelopt") {
    const std::string how = word_of(quantization, "quant_algo");
    if (how == "FP8" || how == "NVFP4") {
      return how == "FP8" ? WeightForm{"e4m3", "", 0} : WeightForm{"e2m1", "", 16};
    }
    return unread(how.empty() ? method : method + " " + how);
  }
  return unread(method.empty() ? "unknown" : method);
}

WeightForm ModelConfig::weights() {
  constexpr std::string_view kKey = "quantization_config";
  asked_.insert(std::string(kKey));
  for (const io::JsonObject* const object : {&config_, &root_}) {
    if (!object->has(kKey) || !object->require(kKey).is_object()) {
      continue;
    }
    const io::JsonObject quantization = object->object(kKey);
    WeightForm form = read_quantization(quantization);
    for (const char* const key : {"modules_to_not_convert", "ignored_layers", "ignore"}) {
      if (quantization.has(key) && quantization.require(key).is_array() &&
          !quantization.require(key).empty()) {
        notes_.push_back(fmt::format(
            "{} names {}: lm_head and routers stay {}, all other weights of the layers do not", key,
            quantization.require(key).size(), dtype()));
      }
    }
    if (quantization.has("sparsity_config") &&
        quantization.require("sparsity_config").is_object() &&
        !quantization.require("sparsity_config").empty()) {
      notes_.emplace_back(
          "sparsity_config says that weights are sparse already: both ways are "
          "simulated");
    }
    return form;
  }
  return {dtype(), "", 0};
}

std::vector<std::string> ModelConfig::notes() && {
  if (!defaults_.empty()) {
    notes_.push_back(fmt::format("not in the file, so as {} of {} has it: {}", class_->name,
                                 kTransformersVersion, fmt::join(defaults_, ", ")));
  }
  std::vector<std::string> unread;
  const auto add_unread = [&](const io::JsonObject& object) {
    for (const auto& [key, value] : object.value().items()) {
      const bool known = asked_.contains(key) || key == kTextPart ||
                         std::find(std::begin(kOfNoOperation), std::end(kOfNoOperation), key) !=
                             std::end(kOfNoOperation);
      const bool says_nothing = value.is_null() || value == json(false) || value == json(0);
      if (!known && !says_nothing && std::find(unread.begin(), unread.end(), key) == unread.end()) {
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
    notes_.push_back(io::printable(
        fmt::format("keys that are not read: {}{}", fmt::join(unread, ", "),
                    number > kMost ? fmt::format(" and {} more", number - kMost) : "")));
  }
  // dtype() may have been asked for several times.
  std::vector<std::string> once;
  for (std::string& note : notes_) {
    if (std::find(once.begin(), once.end(), note) == once.end()) {
      once.push_back(std::move(note));
    }
  }
  return once;
}

}  // namespace sptc::workload::topology
