// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/transformer_channels.h"

#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"
#include "sim/prune/expert_axes.h"
#include "sim/prune/hugging_face_config.h"
#include "sim/workload/layer_list.h"
#include "sim/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace sptc::prune {
namespace {

using Shape = std::vector<std::int64_t>;

/// Which rows of the producers are the channels.
enum class Rows {
  kAll,
  kBothHalves,   ///< gate above up
  kHeads,        ///< values
  kJoinedHeads,  ///< queries, keys and values
  kLatentHeads,  ///< of each head keys without positions, and values
};

/// Modules of a layer whose channels go together.
struct Rule {
  std::array<std::string_view, 2> producers;
  std::string_view consumer;
  Rows rows = Rows::kAll;
  std::string_view scope{};    ///< of an attention, where other modules may see the channels
  std::string_view queries{};  ///< whose rows are heads as config.json has them
};

constexpr Rule kRules[] = {
    {{"gate_proj", "up_proj"}, "down_proj"},
    {{"gate_up_proj", ""}, "down_proj", Rows::kBothHalves},
    {{"w1", "w3"}, "w2"},
    {{"fc1", ""}, "fc2"},
    {{"intermediate.dense", ""}, "output.dense"},
    {{"self_attn.v_proj", ""}, "self_attn.o_proj", Rows::kHeads, "self_attn.", "self_attn.q_proj"},
    {{"self_attn.v_proj", ""}, "self_attn.out_proj", Rows::kHeads, "self_attn.", "self_attn.q_proj"},
    {{"attention.self.value", ""}, "attention.output.dense", Rows::kHeads, "attention.self.", "attention.self.query"},
    {{"attention.attention.value", ""},
     "attention.output.dense",
     Rows::kHeads,
     "attention.attention.",
     "attention.attention.query"},
    {{"self_attn.qkv_proj", ""}, "self_attn.o_proj", Rows::kJoinedHeads, "self_attn."},
    {{"self_attn.kv_b_proj", ""}, "self_attn.o_proj", Rows::kLatentHeads, "self_attn."},
};

/// What stands beside them in an attention and sees no channel of values.
constexpr std::string_view kInAttention[] = {
    "q_proj", "k_proj", "v_proj", "o_proj", "out_proj", "qkv_proj", "query", "key", "value",
    // of queries and keys alone
    "q_norm", "k_norm", "q_layernorm", "k_layernorm", "sinks", "rotary_emb", "distance_embedding",
    // latent attention
    "q_a_proj", "q_a_layernorm", "q_b_proj", "kv_a_proj_with_mqa", "kv_a_layernorm", "kv_b_proj", "indexer"};

/// The same of a feed-forward block, and of a whole layer.
constexpr std::string_view kInLayer[] = {
    "gate_proj", "up_proj", "down_proj", "gate_up_proj", "w1", "w2", "w3", "fc1", "fc2",
    // routers and experts
    "gate", "router", "experts", "shared_expert", "shared_experts", "shared_expert_gate",
    // whole layers
    "self_attn", "encoder_attn", "attention", "crossattention", "intermediate", "output", "self_attn_layer_norm",
    "encoder_attn_layer_norm", "final_layer_norm", "layernorm_before", "layernorm_after", "layer_norm1", "layer_norm2",
    "input_layernorm", "post_attention_layernorm"};

/// Tensors of a module with one number for each row.
constexpr std::string_view kOfRows[] = {"bias", "scale", "weight_scale", "weight_scale_inv", "weight_zero_point"};

/// Parts of a name that say that the heads are not those of config.json's text.
constexpr std::string_view kOtherTowers[] = {"vision", "visual", "audio", "image", "speech"};

/// Whether `text` has any of `parts`.
template <typename Names>
bool names_any(std::string_view text, const Names& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// Whether a part of the name between dots is a number.
bool is_in_numbered_layer(std::string_view stem) {
  return std::ranges::any_of(workload::parts_of(stem, '.'), [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  });
}

/// Whether only the first axis is longer than 1.
bool is_of_rows(const Shape& shape, std::int64_t rows) {
  return !shape.empty() && shape[0] == rows &&
         std::all_of(shape.begin() + 1, shape.end(), [](std::int64_t n) { return n == 1; });
}

bool is_one_element(const Shape& shape) {
  return std::ranges::all_of(shape, [](std::int64_t n) { return n == 1; });
}

std::size_t place(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

/// The parts of a group, and where they stand in rows and along k.
struct Split {
  std::int64_t parts = 1, channels = 0;
  std::int64_t rows = 0, k = 0;  ///< extents
  std::vector<ChannelRun> of_rows, of_k;
};

Split whole(std::int64_t k, bool both_halves) {
  Split split{1, k, both_halves ? 2 * k : k, k, {ChannelRun{}}, {ChannelRun{}}};
  if (both_halves) {
    split.of_rows.push_back({0, 0, place(k), 1});
  }
  return split;
}

/// `count` heads of values of `size` channels, of which the last rows of each `step` have one, after `before` rows of
/// others; `sharing` heads of queries read each.
Split heads(std::int64_t count, std::int64_t size, std::int64_t before, std::int64_t step, std::int64_t sharing) {
  const std::int64_t first = before + step - size;
  Split split{count, size, before + count * step, count * sharing * size, {}, {}};
  for (std::int64_t head = 0; head < count; ++head) {
    split.of_rows.push_back({place(head), 0, place(first + head * step), 1});
  }
  for (std::int64_t head = 0; head < count * sharing; ++head) {
    split.of_k.push_back({place(head / sharing), 0, place(head * size), 1});
  }
  return split;
}

class ConfigChannels {
 public:
  explicit ConfigChannels(const ModelFile& model) : model_(model), config_(hugging_face_config(model)) {}

  TransformerChannels result() && {
    for (std::size_t i = 0; i < model_.tensors().size(); ++i) {
      for (const Rule& rule : kRules) {
        look_at(i, rule);
      }
    }
    for (const auto& [reason, row] : left_) {
      result_.notes.push_back(fmt::format("channels of '{}'{} stay in their order: {}", row.first,
                                          row.second > 1 ? fmt::format(" and {} more", row.second - 1) : "", reason));
    }
    return std::move(result_);
  }

 private:
  const io::TensorEntry& entry(std::size_t tensor) const { return model_.tensors()[tensor].entry; }

  void look_at(std::size_t consumer, const Rule& rule) {
    const std::string& name = entry(consumer).name;
    const std::string_view layer = workload::layer_of(name);
    if (!layer.ends_with(rule.consumer)) {
      return;
    }
    const std::string stem(layer.substr(0, layer.size() - rule.consumer.size()));
    if ((!stem.empty() && stem.back() != '.') || !is_in_numbered_layer(stem)) {
      return;
    }
    obstacle_.clear();
    std::optional<ChannelParts> group;
    if (entry(consumer).shape.size() == 3 && layer == name) {
      group = rule.rows == Rows::kBothHalves ? of_stacked_experts(stem, consumer, rule) : std::nullopt;
    } else if (entry(consumer).shape.size() == 2 && layer != name) {
      group = of_modules(stem, consumer, rule);
    }
    if (group && obstacle_.empty()) {
      result_.groups.push_back(std::move(*group));
    } else if (!obstacle_.empty()) {
      auto& [first, count] = left_[obstacle_];
      first = count++ == 0 ? io::printable(name) : first;
    }
  }

  void refuse(const std::string& reason) { obstacle_ = obstacle_.empty() ? reason : obstacle_; }

  /// Nothing where a producer is missing: the rule is not meant.
  std::optional<ChannelParts> of_modules(const std::string& stem, std::size_t consumer, const Rule& rule) {
    constexpr std::string_view kOfExperts[] = {"expert", "feed_forward", "ffn", "mlp"};
    if (rule.consumer == "w2" && !names_any(stem, kOfExperts)) {
      return std::nullopt;
    }
    std::vector<std::size_t> producers;
    for (const std::string_view part : rule.producers) {
      const auto found = model_.place_of(stem + std::string(part) + ".weight");
      if (!part.empty() && (!found || entry(*found).shape.size() != 2)) {
        return std::nullopt;
      }
      if (!part.empty()) {
        producers.push_back(*found);
      }
    }
    const std::optional<Split> split = split_of(stem, entry(consumer).shape[1], rule);
    if (!split) {
      return std::nullopt;
    }
    ChannelParts group{place(split->parts), place(split->channels), {}, {}};
    for (const std::size_t producer : producers) {
      if (entry(producer).shape[0] != split->rows || entry(producer).shape != entry(producers[0]).shape) {
        refuse("the extents of its projections do not go together");
        return std::nullopt;
      }
      group.producers.push_back({producer, 0, split->of_rows});
      add_of_rows(producer, split->of_rows, &group);
    }
    group.consumers.push_back({consumer, 1, split->of_k});
    add_of_rows(consumer, {}, nullptr);
    require_known(stem, rule, {split->k, split->channels});
    return group;
  }

  /// How the columns of the consumer and the rows of the producers are parts.
  std::optional<Split> split_of(const std::string& stem, std::int64_t k, const Rule& rule) {
    if (rule.rows == Rows::kAll || rule.rows == Rows::kBothHalves) {
      return whole(k, rule.rows == Rows::kBothHalves);
    }
    const HuggingFaceConfig& c = config_;
    const bool latent = rule.rows == Rows::kLatentHeads;
    const bool said = latent ? c.heads > 0 && c.nope_dim > 0 && c.value_dim > 0
                             : c.heads > 0 && c.kv_heads > 0 && c.head_dim > 0 && c.heads % c.kv_heads == 0;
    if (!said || names_any(stem, kOtherTowers)) {
      refuse("config.json beside the model does not say how many heads it has");
      return std::nullopt;
    }
    if (c.shares_values) {
      refuse("layers read the values of others");
      return std::nullopt;
    }
    if (k != c.heads * (latent ? c.value_dim : c.head_dim)) {
      refuse("its columns are not the heads that config.json says");
      return std::nullopt;
    }
    if (latent) {
      return heads(c.heads, c.value_dim, 0, c.nope_dim + c.value_dim, 1);
    }
    if (!rule.queries.empty()) {
      const auto queries = model_.place_of(stem + std::string(rule.queries) + ".weight");
      if (!queries || entry(*queries).shape.empty() || entry(*queries).shape[0] != c.heads * c.head_dim) {
        refuse("its queries are not the heads that config.json says");
        return std::nullopt;
      }
    }
    const std::int64_t before = rule.rows == Rows::kJoinedHeads ? (c.heads + c.kv_heads) * c.head_dim : 0;
    return heads(c.kv_heads, c.head_dim, before, c.head_dim, c.heads / c.kv_heads);
  }

  /// What stands beside the weight of a module: what it has of each row goes into `group`.
  void add_of_rows(std::size_t weight, const std::vector<ChannelRun>& runs, ChannelParts* group) {
    const std::string module = std::string(workload::layer_of(entry(weight).name)) + ".";
    const std::int64_t rows = entry(weight).shape[0];
    model_.for_each_below(module, [&](std::string_view part, std::size_t tensor) {
      const Shape& shape = entry(tensor).shape;
      if (tensor == weight || is_one_element(shape)) {
        return;
      }
      if (std::ranges::count(kOfRows, part) == 0 || !is_of_rows(shape, rows)) {
        refuse(fmt::format("'{}' beside a weight may hold something of each channel", io::printable(part)));
      } else if (group != nullptr) {
        group->producers.push_back({tensor, 0, runs});
      }
    });
    require_type(weight);
  }

  void require_type(std::size_t tensor) {
    if (io::find_element_type(entry(tensor).dtype) == nullptr) {
      refuse("elements of type " + io::printable(entry(tensor).dtype) + " are not permuted here");
    }
  }

  /// Refuses a module beside those of `rule` that is not known and has one of `extents`.
  void require_known(const std::string& stem, const Rule& rule, const std::array<std::int64_t, 2>& extents) {
    model_.for_each_below(stem + std::string(rule.scope), [&](std::string_view part, std::size_t tensor) {
      const std::string_view module = part.substr(0, part.find('.'));
      const bool is_known =
          rule.scope.empty() ? std::ranges::count(kInLayer, module) > 0 : std::ranges::count(kInAttention, module) > 0;
      const Shape& shape = entry(tensor).shape;
      if (!is_known && !is_one_element(shape) &&
          std::find_first_of(shape.begin(), shape.end(), extents.begin(), extents.end()) != shape.end()) {
        refuse(fmt::format("'{}' beside it may see them, too", io::printable(module)));
      }
    });
  }

  /// Gate and up of all experts in one tensor, and down in another.
  std::optional<ChannelParts> of_stacked_experts(const std::string& stem, std::size_t consumer, const Rule& rule) {
    const auto producer = model_.place_of(stem + std::string(rule.producers[0]));
    if (!producer || entry(*producer).shape.size() != 3) {
      return std::nullopt;
    }
    const auto reading = expert_axes(model_, *producer);
    const auto making = expert_axes(model_, consumer);
    if (!reading || !making) {
      return std::nullopt;
    }
    const std::size_t axis_of_rows = 3 - reading->axes.k, axis_of_k = making->axes.k;
    const Shape& shape = entry(*producer).shape;
    if (entry(*producer).bytes == 0 || entry(consumer).bytes == 0) {
      return std::nullopt;
    }
    const std::int64_t experts = entry(consumer).shape[0], k = entry(consumer).shape[axis_of_k];
    if (shape[0] != experts || shape[axis_of_rows] != 2 * k) {
      refuse("the extents of its projections do not go together");
      return std::nullopt;
    }
    if (config_.type.empty()) {
      refuse("config.json beside the model does not say whether rows of gate and up take turns");
      return std::nullopt;
    }
    const bool take_turns = config_.type == "gpt_oss";
    const std::size_t second = take_turns ? 1 : place(k), stride = take_turns ? 2 : 1;
    std::vector<ChannelRun> of_rows, of_k;
    for (std::size_t expert = 0; expert < place(experts); ++expert) {
      of_rows.push_back({expert, expert, 0, stride});
      of_rows.push_back({expert, expert, second, stride});
      of_k.push_back({expert, expert, 0, 1});
    }
    ChannelParts group{place(experts), place(k), {}, {}};
    group.producers.push_back({*producer, axis_of_rows, of_rows, true});
    group.consumers.push_back({consumer, axis_of_k, of_k, true});
    add_biases(stem, *producer, consumer, group);
    require_type(*producer);
    require_type(consumer);
    return group;
  }

  /// The biases [experts, rows] of the producer; all else beside the two weights is refused.
  void add_biases(const std::string& stem, std::size_t producer, std::size_t consumer, ChannelParts& group) {
    const ChannelAxis& rows = group.producers.front();
    const Shape of_rows{entry(producer).shape[0], entry(producer).shape[rows.axis]};
    std::optional<ChannelAxis> bias;
    model_.for_each_below(stem, [&](std::string_view part, std::size_t tensor) {
      if (part == "gate_up_proj_bias" && entry(tensor).shape == of_rows) {
        bias = ChannelAxis{tensor, 1, rows.runs, true};
        require_type(tensor);
      } else if (tensor != producer && tensor != consumer && part != "down_proj_bias") {
        refuse(fmt::format("'{}' beside a weight may hold something of each channel", io::printable(part)));
      }
    });
    if (bias) {
      group.producers.push_back(*std::move(bias));
    }
  }

  const ModelFile& model_;
  const HuggingFaceConfig config_;
  std::string obstacle_;                                     ///< of the group that is looked at
  std::map<std::string, std::pair<std::string, int>> left_;  ///< by reason: first name, how many
  TransformerChannels result_;
};

}  // namespace

TransformerChannels transformer_channels(const ModelFile& model) {
  return ConfigChannels(model).result();
}

}  // namespace sptc::prune
