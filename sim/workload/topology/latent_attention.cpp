// SPDX-License-Identifier: Apache-2.0
//
// Multi-head latent attention (DeepSeek-AI, DeepSeek-V2, arXiv 2405.04434): the cache holds a
// compressed vector of each token for all heads, beside the part of its key that has positions.
#include "sim/workload/topology/builder.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace sptc::workload::topology {
namespace {

struct Sizes {
  std::int64_t q_rank, kv_rank, no_rope, rope, value;

  std::int64_t key() const { return no_rope + rope; }
  std::int64_t cached() const { return kv_rank + rope; }
};

Sizes sizes_of(Builder& builder) {
  ModelConfig& config = builder.config();
  const ModelClass& of = builder.of_class();
  for (const char* const key : {"num_key_value_heads", "head_dim"}) {
    config.find(key);  // of the expanded keys, whose sizes other keys say
  }
  return {config.extent_or("q_lora_rank", of.q_rank, 0),
          config.extent({"kv_lora_rank"}, of.kv_rank),
          config.extent({"qk_nope_head_dim"}, of.no_rope),
          config.extent({"qk_rope_head_dim"}, of.rope), config.extent({"v_head_dim"}, of.value)};
}

/// Keys and values are multiplied out for each head.
void attend_expanded(Builder& builder, const Sizes& sizes) {
  const std::int64_t heads = builder.heads(), layers = builder.layers();
  constexpr const char* kKeys = "batch*context";
  const std::int64_t expanded = builder.product({heads, sizes.no_rope + sizes.value});
  builder.weight("attn.kv_b", expanded, kKeys, sizes.kv_rank, layers);
  builder.vector("attn.keys", "copy", kKeys, builder.product({heads, sizes.key()}), layers);
  add_scores(builder, {"context", "seq", times(heads, "batch"), times(heads, kTokens)}, sizes.key(),
             sizes.value, layers, true, true);
}

/// Queries are multiplied with the weights that would expand the keys, and all heads read the
/// compressed ones; so are values, behind the sum.
void attend_absorbed(Builder& builder, const Sizes& sizes) {
  const std::int64_t heads = builder.heads(), layers = builder.layers();
  const std::string each = std::to_string(heads);
  // Its k are output features of kv_b_proj, along which 2:4 does not prune that weight.
  builder.weight(
      "attn.q_absorb", sizes.kv_rank, kTokens, sizes.no_rope, layers, each,
      Builder::Json::object(
          {{"prunable_2_4", false},
           {"why_not_prunable", "kv_b_proj, transposed: 2:4 is along its other dimension"}}));
  add_scores(builder, {"context", times(heads, "seq"), "batch", times(heads, kTokens)},
             sizes.cached(), sizes.kv_rank, layers, true, true);
  builder.weight("attn.v_up", sizes.value, kTokens, sizes.kv_rank, layers, each);
  if (builder.forms().quantised()) {
    builder.config().note(fmt::format(
        "attn.q_absorb and attn.v_up, the halves of kv_b_proj, are in {}, as serving software "
        "absorbs them",
        builder.dtype()));
  }
}

}  // namespace

void add_latent_attention(Builder& builder, const Pass& pass) {
  const Sizes sizes = sizes_of(builder);
  const std::int64_t heads = builder.heads(), hidden = builder.hidden(), layers = builder.layers();
  const std::int64_t queries = builder.product({heads, sizes.key()});
  const bool biases = builder.config().boolean("attention_bias", false);
  const bool compressed = sizes.q_rank > 0;
  builder.linear("attn.qkv_a",
                 builder.product({(compressed ? sizes.q_rank : queries) + sizes.cached()}), kTokens,
                 hidden, layers, biases);
  if (compressed) {
    builder.vector("attn.q_a_norm", builder.norm(), kTokens, sizes.q_rank, layers);
    builder.weight("attn.q_b", queries, kTokens, sizes.q_rank, layers);
  }
  builder.vector("attn.kv_a_norm", builder.norm(), kTokens, sizes.kv_rank, layers);
  builder.vector("attn.rotary", "rotary", kTokens, builder.product({heads + 1, sizes.rope}),
                 layers);
  builder.vector("attn.cache", "kv_append", kTokens, sizes.cached(), layers);
  builder.config().note(fmt::format(
      "latent attention: {}", pass.decodes()
                                  ? "kv_b_proj is absorbed, and all heads read the compressed cache"
                                  : "keys and values are expanded by kv_b_proj, as in a prefill"));
  if (pass.decodes()) {
    attend_absorbed(builder, sizes);
  } else {
    attend_expanded(builder, sizes);
  }
  builder.linear("attn.o", hidden, kTokens, builder.product({heads, sizes.value}), layers, biases);
}

}  // namespace sptc::workload::topology
