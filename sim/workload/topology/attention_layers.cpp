// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/topology/builder.h"

namespace sptc::workload::topology {
namespace {

using Json = Builder::Json;

std::int64_t ones_of(const nlohmann::json& array) {
  return std::count_if(array.begin(), array.end(), [](const nlohmann::json& element) {
    return element.is_number_integer() && element.get<std::int64_t>() != 0;
  });
}

/// Which layers read fewer keys than there are, and how many.
struct Windows {
  std::int64_t tokens = 0;  ///< 0: there are none
  std::int64_t layers = 0;
};

/// Layers with rotary embeddings of a model some of whose layers have none.
std::int64_t rotary_layers(Builder& builder) {
  const nlohmann::json* const listed = builder.config().array("no_rope_layers");
  const std::int64_t interval =
      builder.config().extent_or("no_rope_layer_interval", 0, builder.of_class().window.pattern);
  return listed != nullptr && !listed->empty() ? std::min(builder.layers(), ones_of(*listed))
                                               : builder.layers() - builder.layers() / interval;
}

/// Tokens of a sliding window or of a chunk; 0: there is none.
std::int64_t window_of(Builder& builder) {
  ModelConfig& config = builder.config();
  const bool off = config.find("use_sliding_window") != nullptr && !config.boolean("use_sliding_window", true);
  const char* const key = builder.has(kChunked) ? "attention_chunk_size" : "sliding_window";
  config.find("max_window_layers");
  return off || (config.find(key) == nullptr && builder.of_class().window.tokens == 0)
             ? 0
             : config.extent_or(key, builder.of_class().window.tokens, 0);
}

Windows windows_of(Builder& builder) {
  ModelConfig& config = builder.config();
  const std::int64_t layers = builder.layers(), window = window_of(builder);
  const nlohmann::json* const types = config.array("layer_types");
  if (window == 0) {
    return {};
  }
  if (types != nullptr) {
    const nlohmann::json type = builder.has(kChunked) ? "chunked_attention" : "sliding_attention";
    return {window, std::min<std::int64_t>(layers, std::count(types->begin(), types->end(), type))};
  }
  if (builder.has(kChunked)) {
    return {window, rotary_layers(builder)};
  }
  if (builder.of_class().types.starts_with("qwen")) {  // off where nothing says that it is on
    const std::int64_t full = config.extent_or("max_window_layers", 0, layers, 0);
    const bool on = config.boolean("use_sliding_window", false);
    return {window, on ? std::max<std::int64_t>(0, layers - full) : 0};
  }
  const std::int64_t pattern = config.extent_or("sliding_window_pattern", 0, builder.of_class().window.pattern);
  return {window, pattern == 1 ? layers : layers - layers / pattern};
}

std::string keys_in_window(const Builder& builder, std::int64_t window, const Pass& pass) {
  // One token of a chunk reads its chunk so far; those of a prefill fill chunks.
  return builder.has(kChunked) && pass.decodes() ? fmt::format("context - {0}*(ceil_div(context, {0}) - 1)", window)
                                                 : fmt::format("min(context, {})", window);
}

void add_attended(Builder& builder, const Pass& pass, std::int64_t kv, std::int64_t head) {
  const std::int64_t heads = builder.heads(), layers = builder.layers();
  const Windows windows = windows_of(builder);
  const bool shortens = windows.layers > 0 && windows.tokens < pass.context;
  const auto attend = [&](const std::string& keys, std::int64_t count) {
    add_scores(builder, {keys, times(heads / kv, "seq"), times(kv, "batch"), times(heads, kTokens)}, head, head, count,
               true, true);
  };
  if (windows.layers > 0) {
    builder.config().note("{} of {} layers have {} of {}, {}", windows.layers, layers,
                          builder.has(kChunked) ? "chunks" : "sliding windows", windows.tokens,
                          shortens ? "the keys that they read" : "which hold the whole context");
  }
  if (!shortens || windows.layers < layers) {
    attend("context", shortens ? layers - windows.layers : layers);
  }
  if (shortens) {
    attend(keys_in_window(builder, windows.tokens, pass), windows.layers);
  }
  if (builder.has(kSinks)) {
    builder.config().note("attention sinks, a term in the sum of each softmax, cost nothing here");
  }
}

void require_features(Builder& builder, std::int64_t head, std::int64_t kv) {
  const std::int64_t heads = builder.heads();
  if (heads % kv != 0) {
    builder.fail("{} attention heads do not share {} key and value heads", heads, kv);
  }
  const bool shared = builder.of_class().head == 0 && builder.config().find("head_dim") == nullptr;
  require_heads(builder, head, shared);
}

void add_rotary(Builder& builder, std::int64_t features) {
  if (builder.has(kNoRotary)) {
    return;
  }
  ModelConfig& config = builder.config();
  const char* const key = config.find("rotary_pct") != nullptr ? "rotary_pct" : "partial_rotary_factor";
  const double part = config.number(key, builder.of_class().rotary);
  const auto columns = static_cast<std::int64_t>(static_cast<double>(features) * part);
  const std::int64_t layers = builder.has(kChunked) ? rotary_layers(builder) : builder.layers();
  if (layers > 0) {
    builder.vector("attn.rotary", "rotary", kTokens, std::max<std::int64_t>(1, columns), layers);
  }
}

/// Heads of keys and values. All of Falcon's share one, but for its newer layers and where they say otherwise.
std::int64_t key_heads(Builder& builder) {
  ModelConfig& config = builder.config();
  const std::int64_t heads = builder.heads();
  if (builder.of_class().types != "falcon") {
    return config.extent_or("num_key_value_heads", builder.of_class().kv_heads, heads);
  }
  const bool one = config.boolean("multi_query", true);
  return config.boolean("new_decoder_architecture", false) ? config.extent_or("num_kv_heads", 0, heads)
         : one                                             ? 1
                                                           : heads;
}

}  // namespace

void require_heads(const Builder& builder, std::int64_t head, bool shared) {
  if (head == 0) {
    builder.fail("there are more attention heads than hidden features");
  }
  if (shared && head * builder.heads() != builder.hidden()) {
    builder.fail("{} attention heads do not share {} hidden features", builder.heads(), builder.hidden());
  }
}

void add_scores(Builder& builder, const AttendedExtents& of, std::int64_t key, std::int64_t value, std::int64_t layers,
                bool masked, bool causal) {
  builder.product_of_activations("attn.scores", of.keys, of.queries, key, of.batch, layers);
  builder.vector("attn.scale", "scale", of.rows, of.keys, layers);
  if (masked) {
    builder.vector("attn.mask", "mask", of.rows, of.keys, layers);
  }
  builder.vector("attn.softmax", "softmax", of.rows, of.keys, layers,
                 causal ? Json::object({{"causal", true}}) : Json::object());
  builder.product_of_activations("attn.context", value, of.queries, of.keys, of.batch, layers);
}

void add_attention(Builder& builder, const Pass& pass) {
  ModelConfig& config = builder.config();
  const std::int64_t heads = builder.heads(), hidden = builder.hidden(), layers = builder.layers();
  const std::int64_t kv = key_heads(builder);
  const std::int64_t head = config.extent_or("head_dim", builder.of_class().head, hidden / heads);
  require_features(builder, head, kv);
  const bool biases = config.boolean("attention_bias", builder.has(kAttentionBias)) || config.boolean("bias", false) ||
                      config.boolean("use_bias", false);
  const bool enabled = config.boolean("enable_bias", true);
  builder.linear("attn.qkv", builder.product({heads + 2 * kv, head}), kTokens, hidden, layers,
                 biases || (builder.has(kQkvBias) && enabled));
  const std::int64_t turned = builder.product({heads + kv, head});
  if (config.boolean("use_qk_norm", builder.has(kQkNorm))) {
    const std::int64_t normed = builder.has(kChunked) ? rotary_layers(builder) : layers;
    if (normed > 0) {
      builder.vector("attn.qk_norm", builder.norm(), times(heads + kv, kTokens), head, normed);
    }
  }
  add_rotary(builder, turned);
  builder.vector("attn.cache", "kv_append", kTokens, builder.product({2 * kv, head}), layers);
  add_attended(builder, pass, kv, head);
  builder.linear("attn.o", hidden, kTokens, builder.product({heads, head}), layers,
                 (biases && !builder.has(kBiasOfInputs)) || (builder.has(kOutputBias) && enabled));
}

// Multi-head latent attention (DeepSeek-AI, DeepSeek-V2, arXiv 2405.04434): the cache holds a
// compressed vector of each token for all heads, beside the part of its key that has positions.
namespace {

LatentSizes sizes_of(Builder& builder) {
  ModelConfig& config = builder.config();
  const LatentSizes& of = builder.of_class().latent;
  for (const char* const key : {"num_key_value_heads", "head_dim"}) {
    config.find(key);  // of the expanded keys, whose sizes other keys say
  }
  return {config.extent_or("q_lora_rank", of.q_rank, 0), config.extent({"kv_lora_rank"}, of.kv_rank),
          config.extent({"qk_nope_head_dim"}, of.no_rope), config.extent({"qk_rope_head_dim"}, of.rope),
          config.extent({"v_head_dim"}, of.value)};
}

/// Keys and values are multiplied out for each head.
void attend_expanded(Builder& builder, const LatentSizes& sizes) {
  const std::int64_t heads = builder.heads(), layers = builder.layers();
  constexpr const char* kKeys = "batch*context";
  const std::int64_t expanded = builder.product({heads, sizes.no_rope + sizes.value});
  builder.weight("attn.kv_b", expanded, kKeys, sizes.kv_rank, layers);
  builder.vector("attn.keys", "copy", kKeys, builder.product({heads, sizes.key()}), layers);
  add_scores(builder, {"context", "seq", times(heads, "batch"), times(heads, kTokens)}, sizes.key(), sizes.value,
             layers, true, true);
}

/// Queries are multiplied with the weights that would expand the keys, and all heads read the
/// compressed ones; so are values, behind the sum.
void attend_absorbed(Builder& builder, const LatentSizes& sizes) {
  const std::int64_t heads = builder.heads(), layers = builder.layers();
  const std::string each = std::to_string(heads);
  // Its k are output features of kv_b_proj, along which 2:4 does not prune that weight.
  builder.weight(
      "attn.q_absorb", sizes.kv_rank, kTokens, sizes.no_rope, layers, each,
      Builder::Json::object(
          {{"prunable_2_4", false}, {"why_not_prunable", "kv_b_proj, transposed: 2:4 is along its other dimension"}}));
  add_scores(builder, {"context", times(heads, "seq"), "batch", times(heads, kTokens)}, sizes.cached(), sizes.kv_rank,
             layers, true, true);
  builder.weight("attn.v_up", sizes.value, kTokens, sizes.kv_rank, layers, each);
  if (builder.forms().quantised()) {
    builder.config().note(
        "attn.q_absorb and attn.v_up, the halves of kv_b_proj, are in {}, as serving software absorbs them",
        builder.dtype());
  }
}

}  // namespace

void add_latent_attention(Builder& builder, const Pass& pass) {
  const LatentSizes sizes = sizes_of(builder);
  const std::int64_t heads = builder.heads(), hidden = builder.hidden(), layers = builder.layers();
  const std::int64_t queries = builder.product({heads, sizes.key()});
  const bool biases = builder.config().boolean("attention_bias", false);
  const bool compressed = sizes.q_rank > 0;
  builder.linear("attn.qkv_a", builder.product({(compressed ? sizes.q_rank : queries) + sizes.cached()}), kTokens,
                 hidden, layers, biases);
  if (compressed) {
    builder.vector("attn.q_a_norm", builder.norm(), kTokens, sizes.q_rank, layers);
    builder.weight("attn.q_b", queries, kTokens, sizes.q_rank, layers);
  }
  builder.vector("attn.kv_a_norm", builder.norm(), kTokens, sizes.kv_rank, layers);
  builder.vector("attn.rotary", "rotary", kTokens, builder.product({heads + 1, sizes.rope}), layers);
  builder.vector("attn.cache", "kv_append", kTokens, sizes.cached(), layers);
  builder.config().note("latent attention: {}", pass.decodes()
                                                    ? "kv_b_proj is absorbed, and all heads read the compressed cache"
                                                    : "keys and values are expanded by kv_b_proj, as in a prefill");
  if (pass.decodes()) {
    attend_absorbed(builder, sizes);
  } else {
    attend_expanded(builder, sizes);
  }
  builder.linear("attn.o", hidden, kTokens, builder.product({heads, sizes.value}), layers, biases);
}

}  // namespace sptc::workload::topology
