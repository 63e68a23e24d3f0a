// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/open_dims.h"
#include "sim/workload/topology/readers.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sptc::workload::topology {
namespace {

using json = nlohmann::ordered_json;

enum class Family { kDecoder, kEncoder, kVision };

struct Model {
  std::string_view type;
  Family family;
};

constexpr std::array<Model, 18> kModels{{{"llama", Family::kDecoder},
                                         {"mistral", Family::kDecoder},
                                         {"mixtral", Family::kDecoder},
                                         {"qwen2", Family::kDecoder},
                                         {"qwen2_moe", Family::kDecoder},
                                         {"qwen3", Family::kDecoder},
                                         {"qwen3_moe", Family::kDecoder},
                                         {"gemma", Family::kDecoder},
                                         {"gemma2", Family::kDecoder},
                                         {"gemma3", Family::kDecoder},
                                         {"gemma3_text", Family::kDecoder},
                                         {"phi3", Family::kDecoder},
                                         {"olmo2", Family::kDecoder},
                                         {"bert", Family::kEncoder},
                                         {"roberta", Family::kEncoder},
                                         {"xlm-roberta", Family::kEncoder},
                                         {"vit", Family::kVision},
                                         {"deit", Family::kVision}}};

const Model& model_of(const io::JsonObject& root) {
  const std::string type = root.text("model_type");
  std::array<std::string_view, kModels.size()> names{};
  for (std::size_t i = 0; i < kModels.size(); ++i) {
    names[i] = kModels[i].type;
    if (kModels[i].type == type) {
      return kModels[i];
    }
  }
  (root.place() / "model_type")
      .fail("unknown model " + base::unknown_name(io::printable(type), names));
}

/// "2*batch" of 2 and "batch"; the dimension itself where the factor is 1.
std::string times(std::int64_t factor, const std::string& dims) {
  return factor == 1 ? dims : fmt::format("{}*{}", factor, dims);
}

/// Makes the operations of a model, with extents as expressions of batch, seq and context.
class Builder {
 public:
  Builder(const io::JsonObject& config, OpenDims& dims, std::vector<std::string>& notes)
      : config_(config), dims_(dims), notes_(notes) {
    dtype_ = weight_dtype_ = type_of_model();
    layers_ = extent("num_hidden_layers");
    hidden_ = extent("hidden_size");
    heads_ = extent("num_attention_heads");
  }

  void decoder() {
    const std::int64_t batch = dims_.value("batch", kHint);
    const auto context = dims_.given("context");
    const auto seq = context && !dims_.given("seq") ? 1 : dims_.value("seq", kHint);
    declared_ = {{"batch", batch}, {"seq", seq}, {"context", context ? json(*context) : "seq"}};
    notes_.push_back(
        seq == 1 && context
            ? fmt::format("decode: one token each of {} sequences of {}", batch, *context)
            : fmt::format("prefill: {} sequences of {} tokens", batch, seq));
    notes_.emplace_back(
        "attention is counted whole: neither causal masks nor sliding windows make it smaller");
    const std::int64_t kv = extent_or("num_key_value_heads", heads_);
    const std::int64_t head = extent_or("head_dim", hidden_ / heads_);
    if (heads_ % kv != 0) {
      config_.place().fail(
          fmt::format("{} attention heads do not share {} key and value heads", heads_, kv));
    }
    require_features(head);
    const std::string tokens = "batch*seq";
    weight("attn.qkv", product({heads_ + 2 * kv, head}), tokens, hidden_, layers_);
    attention("context", times(heads_ / kv, "seq"), head, times(kv, "batch"));
    weight("attn.o", hidden_, tokens, product({heads_, head}), layers_);
    const std::int64_t experts = extent_or("num_local_experts", extent_or("num_experts", 1));
    if (experts > 1) {
      mixture(experts, product({batch, seq}));
    } else {
      feed_forward("mlp", extent("intermediate_size"), tokens);
    }
    weight_dtype_ = dtype_;  // the last layer stays as it is
    weight("lm_head", extent("vocab_size"), "batch", hidden_, 1);
  }

  void encoder() {
    const std::int64_t batch = dims_.value("batch", "batch=8,seq=384");
    const std::int64_t seq = dims_.value("seq", "batch=8,seq=384");
    declared_ = {{"batch", batch}, {"seq", seq}};
    blocks("seq", "batch*seq");
    notes_.push_back(
        fmt::format("{} sequences of {} tokens, without the head of a task", batch, seq));
  }

  void vision() {
    declared_ = {{"batch", dims_.value("batch", "batch=8")}};
    const std::int64_t patch = extent("patch_size");
    const std::int64_t image = extent("image_size");
    const std::int64_t side = image / patch;
    if (side == 0) {
      (config_.place() / "patch_size").fail("patches of this size do not fit the image");
    }
    add({{"name", "patch_embed"},
         {"conv",
          {{"N", "batch"},
           {"C", extent_or("num_channels", 3)},
           {"H", image},
           {"W", image},
           {"K", hidden_},
           {"R", patch},
           {"S", patch},
           {"stride", {patch, patch}}}},
         {"dtype", weight_dtype_}});
    const std::int64_t tokens = product({side, side}) + 1;
    blocks(std::to_string(tokens), times(tokens, "batch"));
    if (config_.has("id2label") && config_.require("id2label").is_object()) {
      weight("head", static_cast<std::int64_t>(config_.require("id2label").size()), "batch",
             hidden_, 1);
    }
  }

  /// As a workload whose dimensions have the values that the user gave.
  json workload(const std::string& name) && {
    return {{"schema", kWorkloadSchema}, {"name", name}, {"dims", declared_}, {"ops", ops_}};
  }

 private:
  static constexpr std::string_view kHint =
      "batch=1,seq=2048 for prefill, batch=16,context=2048 for decode";

  std::int64_t extent(std::string_view key) const { return config_.integer(key, 1, kMaxExtent); }
  std::int64_t extent_or(std::string_view key, std::int64_t absent) const {
    const bool said = config_.has(key) && !config_.require(key).is_null();
    return said ? extent(key) : absent;
  }
  std::int64_t product(std::initializer_list<std::int64_t> factors) const {
    const std::int64_t value = extent_product(factors);
    if (value == 0) {
      config_.place().fail(fmt::format("a GEMM of these sizes has an extent above {}", kMaxExtent));
    }
    return value;
  }

  void require_features(std::int64_t head) const {
    if (head == 0) {
      config_.place().fail("there are more attention heads than hidden features");
    }
  }

  std::string type_of_model() const {
    const std::string_view key = config_.has("torch_dtype") ? "torch_dtype" : "dtype";
    const std::string name = config_.has(key) && config_.require(key).is_string()
                                 ? config_.text(key)
                                 : std::string("bfloat16");
    return name == "float16" ? "f16" : name == "float32" ? "tf32" : "bf16";
  }

  void add(json op) { ops_.push_back(std::move(op)); }

  void weight(const std::string& name, std::int64_t m, const std::string& n, std::int64_t k,
              std::int64_t count, const std::string& batch = "1") {
    add({{"name", name},
         {"m", m},
         {"n", n},
         {"k", k},
         {"batch", batch},
         {"count", count},
         {"dtype", weight_dtype_}});
  }

  void attention(const std::string& keys, const std::string& queries, std::int64_t head,
                 const std::string& batch) {
    for (const bool scores : {true, false}) {
      add({{"name", scores ? "attn.scores" : "attn.context"},
           {"m", scores ? json(keys) : json(head)},
           {"n", queries},
           {"k", scores ? json(head) : json(keys)},
           {"batch", batch},
           {"count", layers_},
           {"dtype", dtype_},
           {"weight_operand", nullptr}});
    }
  }

  void feed_forward(const std::string& name, std::int64_t ffn, const std::string& tokens) {
    weight(name + ".gate_up", product({2, ffn}), tokens, hidden_, layers_);
    weight(name + ".down", hidden_, tokens, ffn, layers_);
  }

  void mixture(std::int64_t experts, std::int64_t tokens) {
    const std::int64_t each_token = extent_or("num_experts_per_tok", 1);
    const std::int64_t chosen = product({tokens, each_token});
    const std::int64_t active = std::min(experts, chosen);
    const std::int64_t ffn = extent_or("moe_intermediate_size", extent_or("intermediate_size", 0));
    notes_.push_back(fmt::format("experts: {} of {} get {} tokens each, as balanced routing has it",
                                 active, experts, (chosen + active - 1) / active));
    const std::string all = times(each_token, "batch*seq");
    const std::string some = fmt::format("min({}, {})", experts, all);
    const std::string each = fmt::format("ceil_div({}, {})", all, some);
    weight("moe.router", experts, "batch*seq", hidden_, layers_);
    weight("moe.expert.gate_up", product({2, ffn}), each, hidden_, layers_, some);
    weight("moe.expert.down", hidden_, each, ffn, layers_, some);
    if (const std::int64_t shared = extent_or("shared_expert_intermediate_size", 0); shared > 0) {
      feed_forward("moe.shared", shared, "batch*seq");
    }
  }

  /// The layers of an encoder.
  void blocks(const std::string& seq, const std::string& tokens) {
    const std::int64_t head = hidden_ / heads_;
    require_features(head);
    const std::int64_t ffn = extent("intermediate_size");
    weight("attn.qkv", product({3, hidden_}), tokens, hidden_, layers_);
    attention(seq, seq, head, times(heads_, "batch"));
    weight("attn.output", hidden_, tokens, hidden_, layers_);
    weight("ffn.intermediate", ffn, tokens, hidden_, layers_);
    weight("ffn.output", hidden_, tokens, ffn, layers_);
  }

  const io::JsonObject& config_;
  OpenDims& dims_;
  std::vector<std::string>& notes_;
  std::string dtype_, weight_dtype_;
  std::int64_t layers_ = 0, hidden_ = 0, heads_ = 0;
  json declared_;
  json ops_ = json::array();

 public:
  /// Weights that are stored as FP8 multiply as FP8; other quantizations are said.
  void read_quantization(const io::JsonObject& root) {
    if (!root.has("quantization_config") || !root.require("quantization_config").is_object()) {
      return;
    }
    const std::string method =
        root.object("quantization_config").text_or("quant_method", "unknown");
    if (method == "fp8") {
      weight_dtype_ = "e4m3";
    } else {
      notes_.push_back("quantization '" + io::printable(method) + "' is not read: weights are " +
                       dtype_);
    }
  }
};

}  // namespace

void read_transformer_config(input::InputStream& input, const ImportOptions& options,
                             Recording& recording) {
  constexpr std::size_t kMaxBytes = 4 << 20;
  const nlohmann::json document = io::parse_json(input.rest(kMaxBytes), input.name());
  const io::JsonObject root(document, {input.name(), ""});
  const Model& model = model_of(root);
  const bool nested = root.has("text_config") && !root.has("hidden_size");
  const io::JsonObject config = nested ? root.object("text_config") : root;
  OpenDims dims(options.dims, input.name());
  Builder builder(config, dims, recording.account.notes);
  builder.read_quantization(root);
  switch (model.family) {
    case Family::kDecoder:
      builder.decoder();
      break;
    case Family::kEncoder:
      builder.encoder();
      break;
    case Family::kVision:
      builder.vision();
      break;
  }
  dims.refuse_unused();
  recording.account.notes.emplace_back("A is the weight of each layer, as the model defines it");
  recording.parametric = std::move(builder).workload(io::printable(root.text("model_type"))).dump();
  const std::filesystem::path file = recording.workload.file;
  const std::string source = recording.workload.source;
  recording.workload = parse_workload_json(recording.parametric, input.name() + ": as a workload");
  recording.workload.file = file;
  recording.workload.source = source;
}

}  // namespace sptc::workload::topology
