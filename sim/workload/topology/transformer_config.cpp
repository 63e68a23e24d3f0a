// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/open_dims.h"
#include "sim/workload/readers.h"
#include "sim/workload/topology/model_config.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace sptc::workload::topology {
namespace {

using json = nlohmann::ordered_json;

/// "2*batch" of 2 and "batch"; the dimension itself where the factor is 1.
std::string times(std::int64_t factor, const std::string& dims) {
  return factor == 1 ? dims : fmt::format("{}*{}", factor, dims);
}

/// The operation that an activation is: "gelu" of "gelu_pytorch_tanh".
std::string activation_kind(const std::string& name) {
  return name == "silu" || name == "swish"                       ? "silu"
         : name == "relu" || name == "tanh" || name == "sigmoid" ? name
                                                                 : "gelu";
}

/// Makes the operations of a model, with extents as expressions of batch, seq and context.
class Builder {
 public:
  Builder(ModelConfig& config, OpenDims& dims, std::vector<std::string>& notes)
      : config_(config), class_(config.of_class()), dims_(dims), notes_(notes) {
    dtype_ = config.dtype();
    form_ = plain_ = {dtype_, "", 0};
    layers_ = config.extent({"num_hidden_layers", "n_layer"}, class_.layers);
    hidden_ = config.extent({"hidden_size", "n_embd"}, class_.hidden);
    heads_ = config.extent({"num_attention_heads", "n_head"}, class_.heads);
    norm_ = has(kLayerNorm) || class_.family != Family::kDecoder ? "layer_norm" : "rms_norm";
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
    notes_.emplace_back("attention is counted whole: causal masks do not make it smaller");
    form_ = config_.weights();
    const std::int64_t ffn = ffn_size();
    const std::int64_t projected = config_.extent_or("word_embed_proj_dim", 0, hidden_);
    embedding(projected);
    attention_part(context.value_or(seq));
    const std::int64_t experts = experts_of();
    const std::int64_t sparse = experts > 1 ? sparse_layers() : 0;
    if (layers_ > sparse) {
      feed_forward("mlp", ffn, kTokens, layers_ - sparse);
      close_layer("mlp", layers_ - sparse, 2);
    }
    if (sparse > 0) {
      mixture(experts, product({batch, seq}), ffn, sparse);
    }
    form_ = plain_;  // the last layer stays as it is
    if (projected != hidden_) {
      weight("project_out", projected, "batch", hidden_, 1);
    }
    const std::int64_t vocab = config_.extent({"vocab_size"}, class_.vocab);
    linear("lm_head", vocab, "batch", projected, 1, has(kHeadBias));
  }

  void encoder() {
    const std::int64_t batch = dims_.value("batch", "batch=8,seq=384");
    const std::int64_t seq = dims_.value("seq", "batch=8,seq=384");
    declared_ = {{"batch", batch}, {"seq", seq}};
    form_ = config_.weights();
    vector("embeddings", "embedding", kTokens, hidden_, 1, json::object({{"inputs", 3}}));
    vector("embeddings.norm", "layer_norm", kTokens, hidden_, 1);
    blocks("seq", kTokens, true);
    config_.find("vocab_size");  // of the embedding, whose rows are read alone
    notes_.push_back(
        fmt::format("{} sequences of {} tokens, without the head of a task", batch, seq));
  }

  void vision() {
    declared_ = {{"batch", dims_.value("batch", "batch=8")}};
    form_ = config_.weights();
    constexpr std::int64_t kPatch = 16, kImage = 224, kChannels = 3;
    const std::int64_t patch = config_.extent({"patch_size"}, kPatch);
    const std::int64_t image = config_.extent({"image_size"}, kImage);
    const std::int64_t side = image / patch;
    if (side == 0) {
      (config_.place() / "patch_size").fail("patches of this size do not fit the image");
    }
    ops_.push_back({{"name", "patch_embed"},
                    {"conv",
                     {{"N", "batch"},
                      {"C", config_.extent({"num_channels"}, kChannels)},
                      {"H", image},
                      {"W", image},
                      {"K", hidden_},
                      {"R", patch},
                      {"S", patch},
                      {"stride", {patch, patch}}}},
                    {"dtype", dtype_}});
    const std::int64_t tokens = product({side, side}) + 1;
    const std::string rows = times(tokens, "batch");
    vector("patch_embed.bias", "bias", times(tokens - 1, "batch"), hidden_, 1);
    vector("tokens", "copy", rows, hidden_, 1);
    vector("position", "residual", rows, hidden_, 1);
    vector("norm", "layer_norm", rows, hidden_, 1);
    blocks(std::to_string(tokens), rows, false);
    const nlohmann::json* const labels = config_.find("id2label");
    if (labels != nullptr && labels->is_object() && !labels->empty()) {
      form_ = plain_;
      linear("head", static_cast<std::int64_t>(labels->size()), "batch", hidden_, 1, true);
    }
  }

  /// As a workload whose dimensions have the values that the user gave.
  json workload(const std::string& name) && {
    return {{"schema", kWorkloadSchema}, {"name", name}, {"dims", declared_}, {"ops", ops_}};
  }

 private:
  static constexpr std::string_view kHint =
      "batch=1,seq=2048 for prefill, batch=16,context=2048 for decode";
  static constexpr const char* kTokens = "batch*seq";

  bool has(Trait trait) const { return (class_.traits & trait) != 0; }

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
    const bool shared = class_.head == 0 && config_.find("head_dim") == nullptr;
    if (shared && head * heads_ != hidden_) {
      config_.place().fail(
          fmt::format("{} attention heads do not share {} hidden features", heads_, hidden_));
    }
  }

  std::int64_t ffn_size() {
    constexpr std::int64_t kUsual = 4;
    const bool four = class_.ffn == 0;
    return four ? config_.extent_or("n_inner", 0, product({kUsual, hidden_}))
                : config_.extent({"intermediate_size", "ffn_dim"}, class_.ffn);
  }

  /// How many experts there are; 1: none.
  std::int64_t experts_of() {
    constexpr std::string_view kKeys[] = {"num_local_experts", "num_experts"};
    for (const std::string_view key : kKeys) {
      if (config_.find(key) != nullptr) {
        return config_.extent({key}, 0, 0);
      }
    }
    return class_.experts == 0 ? 1 : config_.extent({"num_experts"}, class_.experts);
  }

  /// Layers that have experts: of every decoder_sparse_step the last, and none of mlp_only_layers.
  std::int64_t sparse_layers() {
    const std::int64_t step = config_.extent_or("decoder_sparse_step", 0, 1);
    std::vector<std::int64_t> dense;
    if (const nlohmann::json* const list = config_.array("mlp_only_layers")) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        dense.push_back(
            io::to_integer((*list)[i], config_.place() / "mlp_only_layers" / i, 0, layers_ - 1));
      }
    }
    std::sort(dense.begin(), dense.end());
    dense.erase(std::unique(dense.begin(), dense.end()), dense.end());
    const auto fall_out = std::count_if(
        dense.begin(), dense.end(), [step](std::int64_t layer) { return (layer + 1) % step == 0; });
    const std::int64_t sparse = layers_ / step - fall_out;
    if (sparse < layers_) {
      notes_.push_back(
          fmt::format("{} of {} layers have experts, as decoder_sparse_step and "
                      "mlp_only_layers say",
                      sparse, layers_));
    }
    return sparse;
  }

  void embedding(std::int64_t projected) {
    vector("embeddings", "embedding", kTokens, projected, 1);
    if (projected != hidden_) {
      weight("project_in", hidden_, kTokens, projected, 1);
    }
    if (has(kNoRotary)) {
      vector("position", "residual", kTokens, hidden_, 1);
    }
    vector("norm", norm_, kTokens, hidden_, 1);
  }

  void attention_part(std::int64_t context) {
    const std::int64_t kv = config_.extent_or("num_key_value_heads", class_.kv_heads, heads_);
    const std::int64_t head = config_.extent_or("head_dim", class_.head, hidden_ / heads_);
    if (heads_ % kv != 0) {
      config_.place().fail(
          fmt::format("{} attention heads do not share {} key and value heads", heads_, kv));
    }
    require_features(head);
    const std::int64_t turned = product({heads_ + kv, head});
    const std::int64_t projections = product({heads_ + 2 * kv, head});
    const bool biases = config_.boolean("attention_bias", false) ||
                        config_.boolean("bias", false) || config_.boolean("use_bias", false);
    linear("attn.qkv", projections, kTokens, hidden_, layers_, biases || has(kQkvBias));
    if (has(kQkNorm)) {
      vector("attn.qk_norm", norm_, times(heads_ + kv, kTokens), head, layers_);
    }
    if (!has(kNoRotary)) {
      const char* const key =
          config_.find("rotary_pct") != nullptr ? "rotary_pct" : "partial_rotary_factor";
      const double part = config_.number(key, class_.rotary);
      const auto columns = static_cast<std::int64_t>(static_cast<double>(turned) * part);
      vector("attn.rotary", "rotary", kTokens, std::max<std::int64_t>(1, columns), layers_);
    }
    vector("attn.cache", "kv_append", kTokens, product({2 * kv, head}), layers_);
    const std::int64_t window = window_of(), windowed = windowed_layers(window);
    const bool shortens = windowed > 0 && window < context;
    const auto attend = [&](const std::string& keys, std::int64_t layers) {
      attention({keys, times(heads_ / kv, "seq"), times(kv, "batch"), times(heads_, kTokens)}, head,
                layers, true, true);
    };
    if (windowed > 0) {
      notes_.push_back(
          fmt::format("{} of {} layers have sliding windows of {}, {}", windowed, layers_, window,
                      shortens ? "the keys that they read" : "which hold the whole context"));
    }
    if (!shortens || windowed < layers_) {
      attend("context", shortens ? layers_ - windowed : layers_);
    }
    if (shortens) {
      attend(fmt::format("min(context, {})", window), windowed);
    }
    linear("attn.o", hidden_, kTokens, product({heads_, head}), layers_,
           biases || has(kOutputBias));
    if (!has(kParallel)) {
      close_layer("attn", layers_, 2);
    } else if (!has(kOneNorm)) {
      vector("attn.norm", norm_, kTokens, hidden_, layers_);
    }
  }

  /// Tokens of a sliding window; 0: there is none.
  std::int64_t window_of() {
    const bool off = config_.find("use_sliding_window") != nullptr &&
                     !config_.boolean("use_sliding_window", true);
    const bool said = config_.find("sliding_window") != nullptr;
    config_.find("max_window_layers");
    if (off || (!said && class_.window == 0)) {
      return 0;
    }
    return config_.extent_or("sliding_window", class_.window, 0);
  }

  std::int64_t windowed_layers(std::int64_t window) {
    if (const nlohmann::json* const types = config_.array("layer_types")) {
      return window == 0 ? 0
                         : std::min<std::int64_t>(layers_, std::count(types->begin(), types->end(),
                                                                      "sliding_attention"));
    }
    if (window == 0) {
      return 0;
    }
    if (class_.type.starts_with("qwen")) {  // off where nothing says that it is on
      const std::int64_t full = config_.extent_or("max_window_layers", 0, layers_, 0);
      return config_.boolean("use_sliding_window", false)
                 ? std::max<std::int64_t>(0, layers_ - full)
                 : 0;
    }
    const std::int64_t pattern =
        config_.extent_or("sliding_window_pattern", 0, class_.window_pattern);
    return pattern == 1 ? layers_ : layers_ - layers_ / pattern;
  }

  struct Attended {
    std::string keys, queries, batch, rows;
  };

  void attention(const Attended& of, std::int64_t head, std::int64_t layers, bool masked,
                 bool causal) {
    const auto product_of = [&](const char* name, const json& m, const json& k) {
      ops_.push_back({{"name", name},
                      {"m", m},
                      {"n", of.queries},
                      {"k", k},
                      {"batch", of.batch},
                      {"count", layers},
                      {"dtype", dtype_},
                      {"weight_operand", nullptr}});
    };
    product_of("attn.scores", of.keys, head);
    vector("attn.scale", "scale", of.rows, of.keys, layers);
    if (masked) {
      vector("attn.mask", "mask", of.rows, of.keys, layers);
    }
    vector("attn.softmax", "softmax", of.rows, of.keys, layers,
           causal ? json::object({{"causal", true}}) : json::object());
    product_of("attn.context", head, of.keys);
  }

  /// What follows attention or MLP: the sum with its input, and the norm of the next.
  void close_layer(const std::string& name, std::int64_t layers, std::int64_t summands) {
    if (has(kPostNorms)) {
      vector(name + ".post_norm", norm_, kTokens, hidden_, layers);
    }
    constexpr std::int64_t kMost = 8;  // tensors that one operation reads
    std::int64_t inputs = summands + (has(kParallel) ? 1 : 0);
    for (; inputs > kMost; inputs -= kMost - 1) {
      vector(name + ".combine", "residual", kTokens, hidden_, layers,
             json::object({{"inputs", kMost}}));
    }
    vector(name + ".residual", "residual", kTokens, hidden_, layers,
           inputs == 2 ? json::object() : json::object({{"inputs", inputs}}));
    vector(name + ".norm", norm_, kTokens, hidden_, layers);
  }

  void weight(const std::string& name, std::int64_t m, const std::string& n, std::int64_t k,
              std::int64_t count, const std::string& batch = "1") {
    json op = {
        {"name", name},        {"m", m}, {"n", n}, {"k", k}, {"batch", batch}, {"count", count},
        {"dtype", form_.dtype}};
    if (!form_.weight_dtype.empty()) {
      op["weight_dtype"] = form_.weight_dtype;
    }
    if (form_.scale_block > 0) {
      op["scale_block"] = form_.scale_block;
    }
    ops_.push_back(std::move(op));
  }

  /// A weight and, where there is one, its bias.
  void linear(const std::string& name, std::int64_t m, const std::string& n, std::int64_t k,
              std::int64_t count, bool bias) {
    weight(name, m, n, k, count);
    if (bias) {
      vector(name + ".bias", "bias", n, m, count);
    }
  }

  void vector(const std::string& name, const std::string& kind, const std::string& rows,
              const json& columns, std::int64_t count, const json& more = json::object()) {
    json op = {
        {"name", name}, {"kind", kind}, {"rows", rows}, {"columns", columns}, {"count", count}};
    op.update(more);
    ops_.push_back(std::move(op));
  }

  std::string activation() {
    return activation_kind(config_.text({"hidden_act", "hidden_activation", "activation_function"},
                                        class_.activation));
  }

  void feed_forward(const std::string& name, std::int64_t ffn, const std::string& tokens,
                    std::int64_t layers) {
    const bool biases = has(kMlpBias) || config_.boolean("mlp_bias", false);
    const std::string kind = activation();
    const std::string first = name + (has(kGated) ? ".gate_up" : ".fc1");
    const std::string second = name + (has(kGated) ? ".down" : ".fc2");
    const std::int64_t width = has(kGated) ? product({2, ffn}) : ffn;
    linear(first, width, tokens, hidden_, layers, biases);
    vector(name + (has(kGated) ? ".gate" : "." + kind), has(kGated) ? "gate" : kind, tokens, ffn,
           layers);
    linear(second, hidden_, tokens, ffn, layers, biases);
  }

  void mixture(std::int64_t experts, std::int64_t tokens, std::int64_t dense_ffn,
               std::int64_t layers) {
    const std::int64_t each_token = config_.extent({"num_experts_per_tok"}, class_.each_token);
    const std::int64_t chosen = product({tokens, each_token});
    const std::int64_t active = std::min(experts, chosen);
    const std::int64_t ffn =
        config_.extent_or("moe_intermediate_size", class_.expert_ffn, dense_ffn);
    notes_.push_back(fmt::format("experts: {} of {} get {} tokens each, as balanced routing has it",
                                 active, experts, (chosen + active - 1) / active));
    const std::string all = times(each_token, kTokens);
    const std::string some = fmt::format("min({}, {})", experts, all);
    const std::string each = fmt::format("ceil_div({}, {})", all, some);
    std::swap(form_, plain_);
    weight("moe.router", experts, kTokens, hidden_, layers);
    std::swap(form_, plain_);
    vector("moe.routing", "routing", kTokens, experts, layers);
    vector("moe.permute", "copy", all, hidden_, layers);
    weight("moe.expert.gate_up", product({2, ffn}), each, hidden_, layers, some);
    vector("moe.gate", "gate", all, ffn, layers);
    weight("moe.expert.down", hidden_, each, ffn, layers, some);
    vector("moe.unpermute", "copy", all, hidden_, layers);
    const bool said = config_.find("shared_expert_intermediate_size") != nullptr;
    const std::int64_t shared =
        !said && class_.shared_ffn == 0
            ? 0
            : config_.extent({"shared_expert_intermediate_size"}, class_.shared_ffn, 0);
    if (shared > 0) {
      feed_forward("moe.shared", shared, kTokens, layers);
    }
    close_layer("moe", layers, 1 + each_token + (shared > 0 ? 1 : 0));
  }

  /// The layers of an encoder.
  void blocks(const std::string& seq, const std::string& tokens, bool masked) {
    const std::int64_t head = hidden_ / heads_;
    require_features(head);
    const std::int64_t ffn = config_.extent({"intermediate_size"}, class_.ffn);
    const std::string kind = activation();
    const auto norm = [&](const char* part) {
      const std::string name(part);
      vector(name + ".residual", "residual", tokens, hidden_, layers_);
      vector(name + ".norm", "layer_norm", tokens, hidden_, layers_);
    };
    const std::int64_t projections = product({3, hidden_});
    linear("attn.qkv", projections, tokens, hidden_, layers_, true);
    vector("attn.split_heads", "copy", tokens, projections, layers_);
    const std::string rows =
        masked ? times(heads_, tokens) : times(product({heads_, std::stoll(seq)}), "batch");
    attention({seq, seq, times(heads_, "batch"), rows}, head, layers_, masked, false);
    vector("attn.merge_heads", "copy", tokens, hidden_, layers_);
    linear("attn.output", hidden_, tokens, hidden_, layers_, true);
    norm("attn");
    linear("ffn.intermediate", ffn, tokens, hidden_, layers_, true);
    vector("ffn." + kind, kind, tokens, ffn, layers_);
    linear("ffn.output", hidden_, tokens, ffn, layers_, true);
    norm("ffn");
  }

  ModelConfig& config_;
  const ModelClass& class_;
  OpenDims& dims_;
  std::vector<std::string>& notes_;
  std::string dtype_, norm_;
  WeightForm form_, plain_;
  std::int64_t layers_ = 0, hidden_ = 0, heads_ = 0;
  json declared_;
  json ops_ = json::array();
};

void read(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  constexpr std::size_t kMaxBytes = 4 << 20;
  const nlohmann::json document = io::parse_json(input.rest(kMaxBytes), input.name());
  const io::JsonObject root(document, {input.name(), ""});
  ModelConfig config(root);
  OpenDims dims(options.dims, input.name());
  Builder builder(config, dims, recording.account.notes);
  switch (config.of_class().family) {
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
  recording.account.add_notes(std::move(config).notes());
  recording.account.notes.emplace_back("A is the weight of each layer, as the model defines it");
  recording.parametric = std::move(builder).workload(io::printable(root.text("model_type"))).dump();
  const std::filesystem::path file = recording.workload.file;
  const std::string source = recording.workload.source;
  recording.workload = parse_workload_json(recording.parametric, input.name() + ": as a workload");
  recording.workload.file = file;
  recording.workload.source = source;
}

}  // namespace

const Reader kTransformerConfig{"model configuration of Hugging Face",
                                [](const Head& head) { return head.has("model_type"); }, read,
                                true};

}  // namespace sptc::workload::topology
