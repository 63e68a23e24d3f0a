// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/topology/builder.h"

namespace sptc::workload::topology {
namespace {

std::int64_t ffn_size(Builder& builder) {
  constexpr std::int64_t kUsual = 4;
  const std::int64_t ffn = builder.of_class().ffn;
  const char* const key = builder.config().find("ffn_hidden_size") != nullptr ? "ffn_hidden_size" : "n_inner";
  return ffn == 0 ? builder.config().extent_or(key, 0, builder.product({kUsual, builder.hidden()}))
                  : builder.config().extent({"intermediate_size", "ffn_dim"}, ffn);
}

/// How many experts there are; 1: none.
std::int64_t experts_of(Builder& builder) {
  ModelConfig& config = builder.config();
  for (const std::string_view key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (config.find(key) != nullptr) {
      return config.extent({key}, 0, 0);
    }
  }
  const std::int64_t experts = builder.of_class().experts.count;
  return experts == 0 ? 1 : config.extent({"num_experts"}, experts);
}

std::vector<std::int64_t> listed_layers(Builder& builder, const char* key) {
  std::vector<std::int64_t> layers;
  if (const nlohmann::json* const list = builder.config().array(key)) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      layers.push_back(io::to_integer((*list)[i], builder.config().place() / key / i, 0, builder.layers() - 1));
    }
  }
  std::ranges::sort(layers);
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

/// Layers with experts where the first ones have none: of the others each `moe_layer_freq`-th, or
/// those where an array has a 1.
std::int64_t layers_behind_dense(Builder& builder) {
  ModelConfig& config = builder.config();
  const std::int64_t layers = builder.layers();
  if (const nlohmann::json* const each = config.array("moe_layer_freq")) {
    if (static_cast<std::int64_t>(each->size()) != layers) {
      builder.fail("moe_layer_freq lists {} layers, but there are {}", each->size(), layers);
    }
    return layers - std::count(each->begin(), each->end(), nlohmann::json(0));
  }
  const std::int64_t first = config.extent_or("first_k_dense_replace", builder.of_class().experts.first_dense, 0, 0);
  const std::int64_t step = config.extent_or("moe_layer_freq", 0, 1);
  if (first > layers) {
    builder.fail("first_k_dense_replace is {}, but there are {} layers", first, layers);
  }
  const auto multiples_below = [&](std::int64_t end) { return (end + step - 1) / step; };
  return multiples_below(layers) - multiples_below(first);
}

/// Layers that have experts: those that are listed, those behind dense ones, or of every few the
/// last, and none of mlp_only_layers.
std::int64_t sparse_layers(Builder& builder) {
  ModelConfig& config = builder.config();
  const std::int64_t layers = builder.layers();
  const std::vector<std::int64_t> listed = listed_layers(builder, "moe_layers");
  const std::vector<std::int64_t> dense = listed_layers(builder, "mlp_only_layers");
  const std::int64_t each = config.extent_or("interleave_moe_layer_step", 0, 1);
  const std::int64_t step = config.extent_or("decoder_sparse_step", 0, each);
  const bool behind = builder.of_class().experts.first_dense > 0 || config.find("first_k_dense_replace") != nullptr ||
                      config.find("moe_layer_freq") != nullptr;
  const auto fall_out = std::ranges::count_if(dense, [step](std::int64_t layer) { return (layer + 1) % step == 0; });
  const std::int64_t sparse = !listed.empty() ? static_cast<std::int64_t>(listed.size())
                              : behind        ? layers_behind_dense(builder)
                                              : layers / step - fall_out;
  if (sparse < layers) {
    config.note("{} of {} layers have experts", sparse, layers);
  }
  return sparse;
}

/// The MLP of `layers` layers, or the shared expert: its weights, biases and activation.
void add_mlp(Builder& builder, const std::string& name, std::int64_t ffn, std::int64_t layers) {
  ModelConfig& config = builder.config();
  const bool gated = builder.has(kGated);
  const bool biases =
      (builder.has(kMlpBias) && config.boolean("enable_bias", true)) || config.boolean("mlp_bias", false);
  const std::string kind = builder.activation();
  builder.linear(name + (gated ? ".gate_up" : ".fc1"), gated ? builder.product({2, ffn}) : ffn, kTokens,
                 builder.hidden(), layers, biases);
  builder.vector(name + (gated ? ".gate" : "." + kind), gated ? "gate" : kind, kTokens, ffn, layers);
  builder.linear(name + (gated ? ".down" : ".fc2"), builder.hidden(), kTokens, ffn, layers, biases);
}

/// Features of the MLP that all tokens pass beside the experts, which have `ffn`; 0: there is none.
std::int64_t shared_size(Builder& builder, std::int64_t ffn) {
  ModelConfig& config = builder.config();
  const ModelClass& of = builder.of_class();
  if (builder.has(kSharedExpert)) {
    return ffn;
  }
  for (const char* const key : {"shared_expert_intermediate_size", "shared_intermediate_size"}) {
    if (config.find(key) != nullptr) {
      return config.extent({key}, 0, 0);
    }
  }
  if (of.experts.shared_ffn > 0) {
    return config.extent({"shared_expert_intermediate_size"}, of.experts.shared_ffn, 0);
  }
  const std::int64_t shared = config.extent_or("n_shared_experts", of.experts.shared, 0, 0);
  return shared == 0 ? 0 : builder.product({shared, ffn});
}

std::int64_t experts_of_token(Builder& builder, std::int64_t experts) {
  ModelConfig& config = builder.config();
  const std::int64_t each = config.extent({"num_experts_per_tok"}, builder.of_class().experts.each_token);
  const std::int64_t groups = config.extent_or("n_group", 0, 1);
  const std::int64_t of_groups = config.extent_or("topk_group", 0, groups);
  if (experts % groups != 0 || of_groups > groups) {
    builder.fail("{} of {} groups do not share {} experts", of_groups, groups, experts);
  }
  if (each > experts / groups * of_groups) {
    builder.fail("a token has {} experts of {}", each, experts / groups * of_groups);
  }
  return each;
}

void add_experts(Builder& builder, const Pass& pass, std::int64_t experts, std::int64_t layers,
                 std::int64_t dense_ffn) {
  const std::int64_t hidden = builder.hidden();
  const std::int64_t each_token = experts_of_token(builder, experts);
  const std::int64_t chosen = builder.product({pass.batch, pass.seq, each_token});
  const std::int64_t active = std::min(experts, chosen);
  const std::int64_t ffn =
      builder.config().extent_or("moe_intermediate_size", builder.of_class().experts.ffn, dense_ffn);
  const std::int64_t tokens = (chosen + active - 1) / active;
  builder.config().note("experts: {} of {} get {} token{} each, as balanced routing has it", active, experts, tokens,
                        tokens == 1 ? "" : "s");
  const std::string all = times(each_token, kTokens);
  const std::string some = fmt::format("min({}, {})", experts, all);
  const std::string each = fmt::format("ceil_div({}, {})", all, some);
  const bool biases = builder.has(kExpertBias);
  builder.linear("moe.router", experts, kTokens, hidden, layers, biases);
  builder.vector("moe.routing", "routing", kTokens, experts, layers);
  builder.vector("moe.permute", "copy", all, hidden, layers);
  const std::int64_t width = builder.product({2, ffn});
  builder.weight("moe.expert.gate_up", width, each, hidden, layers, some);
  if (biases) {
    builder.vector("moe.expert.gate_up.bias", "bias", all, width, layers);
  }
  builder.vector("moe.gate", "gate", all, ffn, layers);
  builder.weight("moe.expert.down", hidden, each, ffn, layers, some);
  if (biases) {
    builder.vector("moe.expert.down.bias", "bias", all, hidden, layers);
  }
  builder.vector("moe.unpermute", "copy", all, hidden, layers);
  const std::int64_t shared = shared_size(builder, ffn);
  if (shared > 0) {
    add_mlp(builder, "moe.shared", shared, layers);
  }
  if (shared > 0 && builder.has(kSharedGate)) {
    builder.config().note("the gate of the shared expert, one feature of each token, is left out");
  }
  builder.close_layer("moe", layers, 1 + each_token + (shared > 0 ? 1 : 0));
}

}  // namespace

void add_feed_forward(Builder& builder, const Pass& pass) {
  const std::int64_t ffn = ffn_size(builder);
  const std::int64_t experts = experts_of(builder);
  const std::int64_t sparse = experts > 1 ? sparse_layers(builder) : 0;
  const std::int64_t dense = builder.layers() - sparse;
  if (dense > 0) {
    const std::int64_t own = builder.of_class().experts.dense_ffn;
    add_mlp(builder, "mlp", own > 0 ? builder.config().extent({"intermediate_size_mlp"}, own) : ffn, dense);
    builder.close_layer("mlp", dense, 2);
  }
  builder.config().find("intermediate_size_mlp");  // of no layer where all have experts
  if (sparse > 0) {
    add_experts(builder, pass, experts, sparse, ffn);
  }
}

}  // namespace sptc::workload::topology
