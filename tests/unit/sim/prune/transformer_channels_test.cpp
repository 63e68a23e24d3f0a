// SPDX-License-Identifier: Apache-2.0
//
// Channels of transformers in another order: the function of a block, in integers, is the same.
#include "sim/prune/transformer_channels.h"

#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/prune/channel_permutation.h"
#include "sim/prune/prune_model.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace sptc::prune {
namespace {

using Shape = std::vector<std::int64_t>;
using Values = std::vector<double>;  // integers, whose products and sums are exact

constexpr std::size_t kHidden = 16, kTokens = 3;

/// Integers from -60 to 60 that no two seeds have in common.
std::vector<float> integers(std::size_t count, std::size_t seed) {
  std::vector<float> values(count);
  std::size_t state = 7919 * seed + 1;
  for (float& value : values) {
    state = (state * 1103515245 + 12345) % 2147483648;
    value = static_cast<float>(static_cast<int>(state / 65536 % 121) - 60);
  }
  return values;
}

/// Rows `first` to `first + rows` of a matrix of `k` columns by x.
Values times(std::span<const double> w, std::size_t first, std::size_t rows, const Values& x) {
  Values y(rows, 0.0);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < x.size(); ++c) {
      y[r] += w[(first + r) * x.size() + c] * x[c];
    }
  }
  return y;
}

Values input(std::size_t token) {
  const std::vector<float> values = integers(kHidden, 100 + token);
  return {values.begin(), values.end()};
}

class TransformerBlocks : public testing::Test {
 protected:
  void add(const std::string& name, const Shape& shape) {
    const auto count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    const std::vector<float> values = integers(static_cast<std::size_t>(count), tensors_.size());
    const auto bytes = std::as_bytes(std::span(values));
    tensors_.push_back({name, "F32", shape, {bytes.begin(), bytes.end()}});
  }
  void write_config(const std::string& text) const { std::ofstream(path("config.json")) << text; }
  std::filesystem::path path(const std::string& name) const { return temporary_.path() / name; }

  /// Puts channels in order; what becomes of all tensors is in after_, unpruned.
  void permute(const std::string& pattern = "2:4") {
    io::write_safetensors(path("m.safetensors"), tensors_);
    const auto model = ModelFile::open(path("m.safetensors"));
    PruneOptions options;
    options.permute = {"auto"};
    options.pattern = sparsity::parse_weight_pattern(pattern);
    std::map<std::size_t, ChosenLayer> layers;
    for (ChosenLayer& layer : choose_layers(*model, options).layers) {
      layers.emplace(layer.tensor, std::move(layer));
    }
    const ChannelPermutation permutation = plan_permutation(*model, layers, options);
    notes_ = permutation.notes;
    for (std::size_t i = 0; i < model->tensors().size(); ++i) {
      const io::Tensor tensor = permutation.read(*model, i);
      after_[tensor.name] = io::as_doubles(tensor);
      before_[tensor.name] = io::as_doubles(read_tensor(*model, i));
      applied_[tensor.name] = permutation.report(i).has_value() && permutation.report(i)->applied;
    }
  }

  /// What `block` makes of the tensors is the same before and after, and `moved` are others.
  void expect_same(const std::function<Values(const std::map<std::string, Values>&)>& block,
                   const std::vector<std::string>& moved) const {
    EXPECT_EQ(block(before_), block(after_));
    for (const std::string& name : moved) {
      EXPECT_NE(before_.at(name), after_.at(name)) << name;
    }
  }

  std::vector<io::Tensor> tensors_;
  std::map<std::string, Values> before_, after_;
  std::map<std::string, bool> applied_;
  std::vector<std::string> notes_;

 private:
  const support::TemporaryDirectory temporary_;
};

/// down (relu(gate x) * up x), with the matrices [channels, hidden] and [hidden, channels].
Values gated(std::span<const double> gate, std::span<const double> up, std::span<const double> down,
             std::size_t channels) {
  Values inner = times(gate, 0, channels, input(0));
  const Values factors = times(up, 0, channels, input(0));
  for (std::size_t c = 0; c < channels; ++c) {
    inner[c] = std::max(0.0, inner[c]) * factors[c];
  }
  return times(down, 0, kHidden, inner);
}

TEST_F(TransformerBlocks, GateAndUpGoWithTheColumnsOfDown) {
  const std::string stem = "model.layers.3.mlp.";
  add(stem + "gate_proj.weight", {32, kHidden});
  add(stem + "up_proj.weight", {32, kHidden});
  add(stem + "down_proj.weight", {kHidden, 32});
  add(stem + "down_proj.bias", {kHidden});
  permute();
  expect_same(
      [&](const auto& t) {
        return gated(t.at(stem + "gate_proj.weight"), t.at(stem + "up_proj.weight"), t.at(stem + "down_proj.weight"),
                     32);
      },
      {stem + "gate_proj.weight", stem + "up_proj.weight", stem + "down_proj.weight"});
  EXPECT_EQ(before_.at(stem + "down_proj.bias"), after_.at(stem + "down_proj.bias"));
  EXPECT_TRUE(applied_.at(stem + "down_proj.weight"));
  EXPECT_FALSE(applied_.at(stem + "gate_proj.weight"));
  EXPECT_TRUE(notes_.empty());
}

TEST_F(TransformerBlocks, OtherPatternsAndBiasesGoTheSameWay) {
  const std::string stem = "model.decoder.layers.0.";
  add(stem + "fc1.weight", {32, kHidden});
  add(stem + "fc1.bias", {32});
  add(stem + "fc2.weight", {kHidden, 32});
  permute("6:8");
  expect_same(
      [&](const auto& t) {
        Values inner = times(t.at(stem + "fc1.weight"), 0, 32, input(0));
        for (std::size_t c = 0; c < inner.size(); ++c) {
          inner[c] = std::max(0.0, inner[c] + t.at(stem + "fc1.bias")[c]);
        }
        return times(t.at(stem + "fc2.weight"), 0, kHidden, inner);
      },
      {stem + "fc1.weight", stem + "fc1.bias", stem + "fc2.weight"});
  support::expect_input_error([&] { permute("64:2:8"); }, {"--permute looks for orders for N:M, not for 64:2:8"});
}

TEST_F(TransformerBlocks, FusedGateAndUpAreTwoHalves) {
  const std::string stem = "model.layers.0.mlp.";
  add(stem + "gate_up_proj.weight", {64, kHidden});
  add(stem + "down_proj.weight", {kHidden, 32});
  permute();
  expect_same(
      [&](const auto& t) {
        const std::span<const double> both = t.at(stem + "gate_up_proj.weight");
        return gated(both.first(32 * kHidden), both.subspan(32 * kHidden), t.at(stem + "down_proj.weight"), 32);
      },
      {stem + "gate_up_proj.weight", stem + "down_proj.weight"});
}

TEST_F(TransformerBlocks, EachExpertHasAnOrderOfItsOwn) {
  const std::string stem = "model.layers.0.block_sparse_moe.experts.";
  for (const std::string expert : {"0", "1"}) {
    add(stem + expert + ".w1.weight", {32, kHidden});
    add(stem + expert + ".w2.weight", {kHidden, 32});
    add(stem + expert + ".w3.weight", {32, kHidden});
  }
  permute();
  for (const std::string expert : {"0", "1"}) {
    expect_same(
        [&](const auto& t) {
          return gated(t.at(stem + expert + ".w1.weight"), t.at(stem + expert + ".w3.weight"),
                       t.at(stem + expert + ".w2.weight"), 32);
        },
        {stem + expert + ".w2.weight"});
  }
}

/// Element [expert, row, k] of weights [experts, rows, k], or [experts, k, rows].
Values expert_matrix(const Values& all, std::size_t expert, std::size_t rows, std::size_t k, bool k_first) {
  Values matrix(rows * k);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < k; ++c) {
      matrix[r * k + c] = all[expert * rows * k + (k_first ? c * rows + r : r * k + c)];
    }
  }
  return matrix;
}

TEST_F(TransformerBlocks, ExpertsInOneTensorDoSoInBothOrdersOfAxesAndOfRows) {
  const struct {
    std::string type;
    bool k_first, take_turns;
  } models[] = {{"qwen3_moe", false, false}, {"llama4_text", true, false}, {"gpt_oss", true, true}};
  constexpr std::size_t kExperts = 2, kInner = 24;
  const std::string stem = "model.layers.0.mlp.experts.";
  for (const auto& model : models) {
    tensors_.clear();
    const Shape wide = model.k_first ? Shape{kExperts, kHidden, 2 * kInner} : Shape{kExperts, 2 * kInner, kHidden};
    add(stem + "gate_up_proj", wide);
    add(stem + "down_proj", model.k_first ? Shape{kExperts, kInner, kHidden} : Shape{kExperts, kHidden, kInner});
    if (model.take_turns) {
      add(stem + "gate_up_proj_bias", {kExperts, 2 * kInner});
    }
    write_config(R"({"model_type": ")" + model.type + R"(", "hidden_size": 16})");
    permute();
    for (std::size_t expert = 0; expert < kExperts; ++expert) {
      expect_same(
          [&](const auto& t) {
            const Values both = expert_matrix(t.at(stem + "gate_up_proj"), expert, 2 * kInner, kHidden, model.k_first);
            Values gate, up;
            for (std::size_t row = 0; row < 2 * kInner; ++row) {
              const bool is_gate = model.take_turns ? row % 2 == 0 : row < kInner;
              Values& to = is_gate ? gate : up;
              to.insert(to.end(), both.begin() + static_cast<std::ptrdiff_t>(row * kHidden),
                        both.begin() + static_cast<std::ptrdiff_t>((row + 1) * kHidden));
            }
            return gated(gate, up, expert_matrix(t.at(stem + "down_proj"), expert, kHidden, kInner, model.k_first),
                         kInner);
          },
          {stem + "gate_up_proj", stem + "down_proj"});
    }
    if (model.take_turns) {  // of each expert the bias of a row that has moved moves with it
      const Values& rows = after_.at(stem + "gate_up_proj");
      const Values& old_rows = before_.at(stem + "gate_up_proj");
      for (std::size_t at = 0; at < kExperts * 2 * kInner; ++at) {
        const std::size_t expert = at / (2 * kInner), row = at % (2 * kInner);
        const auto column = [&](const Values& of, std::size_t r) {
          Values values;
          for (std::size_t c = 0; c < kHidden; ++c) {
            values.push_back(of[(expert * kHidden + c) * 2 * kInner + r]);
          }
          return values;
        };
        std::size_t from = 0;
        while (column(old_rows, from) != column(rows, row)) {
          ASSERT_LT(++from, 2 * kInner);
        }
        EXPECT_EQ(after_.at(stem + "gate_up_proj_bias")[at],
                  before_.at(stem + "gate_up_proj_bias")[expert * 2 * kInner + from]);
      }
    }
  }
}

/// What `heads` of `size` make of values [tokens][kv heads * size], with integers for their
/// attention, and the output projection of it.
Values attended(const std::vector<Values>& values, std::span<const double> output, std::size_t heads,
                std::size_t kv_heads, std::size_t size) {
  Values all;
  for (std::size_t token = 0; token < kTokens; ++token) {
    Values joined(heads * size, 0.0);
    for (std::size_t at = 0; at < joined.size(); ++at) {
      const std::size_t head = at / size, group = head / (heads / kv_heads);
      for (std::size_t other = 0; other < kTokens; ++other) {
        joined[at] +=
            static_cast<double>(1 + (head * 5 + token * 3 + other) % 7) * values[other][group * size + at % size];
      }
    }
    const Values y = times(output, 0, kHidden, joined);
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}

constexpr std::size_t kHeads = 4, kKvHeads = 2, kHead = 8;
const std::string kAttention = "model.layers.0.self_attn.";
const std::string kGrouped =
    R"({"model_type": "llama", "hidden_size": 16, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 8})";

TEST_F(TransformerBlocks, ValuesOfAHeadGoWithTheColumnsOfItsGroupOfQueries) {
  add(kAttention + "q_proj.weight", {kHeads * kHead, kHidden});
  add(kAttention + "k_proj.weight", {kKvHeads * kHead, kHidden});
  add(kAttention + "v_proj.weight", {kKvHeads * kHead, kHidden});
  add(kAttention + "v_proj.bias", {kKvHeads * kHead});
  add(kAttention + "o_proj.weight", {kHidden, kHeads * kHead});
  write_config(kGrouped);
  permute();
  expect_same(
      [&](const auto& t) {
        std::vector<Values> values;
        for (std::size_t token = 0; token < kTokens; ++token) {
          values.push_back(times(t.at(kAttention + "v_proj.weight"), 0, kKvHeads * kHead, input(token)));
          for (std::size_t c = 0; c < kKvHeads * kHead; ++c) {
            values.back()[c] += t.at(kAttention + "v_proj.bias")[c];
          }
        }
        return attended(values, t.at(kAttention + "o_proj.weight"), kHeads, kKvHeads, kHead);
      },
      {kAttention + "v_proj.weight", kAttention + "o_proj.weight"});
  EXPECT_EQ(before_.at(kAttention + "q_proj.weight"), after_.at(kAttention + "q_proj.weight"));
  EXPECT_EQ(before_.at(kAttention + "k_proj.weight"), after_.at(kAttention + "k_proj.weight"));
}

TEST_F(TransformerBlocks, OfAFusedProjectionOnlyTheValuesMove) {
  constexpr std::size_t kBefore = (kHeads + kKvHeads) * kHead;
  add(kAttention + "qkv_proj.weight", {kBefore + kKvHeads * kHead, kHidden});
  add(kAttention + "o_proj.weight", {kHidden, kHeads * kHead});
  write_config(kGrouped);
  permute();
  expect_same(
      [&](const auto& t) {
        std::vector<Values> values;
        for (std::size_t token = 0; token < kTokens; ++token) {
          values.push_back(times(t.at(kAttention + "qkv_proj.weight"), kBefore, kKvHeads * kHead, input(token)));
        }
        return attended(values, t.at(kAttention + "o_proj.weight"), kHeads, kKvHeads, kHead);
      },
      {kAttention + "qkv_proj.weight", kAttention + "o_proj.weight"});
  for (std::size_t i = 0; i < kBefore * kHidden; ++i) {
    ASSERT_EQ(before_.at(kAttention + "qkv_proj.weight")[i], after_.at(kAttention + "qkv_proj.weight")[i]);
  }
}

TEST_F(TransformerBlocks, OfLatentAttentionTheValuesOfEachHeadMove) {
  constexpr std::size_t kNope = 4, kValue = 8;
  add(kAttention + "kv_b_proj.weight", {kHeads * (kNope + kValue), kHidden});
  add(kAttention + "o_proj.weight", {kHidden, kHeads * kValue});
  write_config(R"({"hidden_size": 16, "num_attention_heads": 4, "qk_nope_head_dim": 4,
                   "v_head_dim": 8})");
  permute();
  const auto rows = [&](const auto& t, std::size_t first, std::size_t count) {
    std::vector<Values> values(kTokens);
    for (std::size_t at = 0; at < kTokens * kHeads; ++at) {
      const std::size_t head = at % kHeads;
      const Values own =
          times(t.at(kAttention + "kv_b_proj.weight"), head * (kNope + kValue) + first, count, input(at / kHeads));
      values[at / kHeads].insert(values[at / kHeads].end(), own.begin(), own.end());
    }
    return values;
  };
  expect_same(
      [&](const auto& t) {
        return attended(rows(t, kNope, kValue), t.at(kAttention + "o_proj.weight"), kHeads, kHeads, kValue);
      },
      {kAttention + "kv_b_proj.weight", kAttention + "o_proj.weight"});
  EXPECT_EQ(rows(before_, 0, kNope), rows(after_, 0, kNope)) << "keys";
}

TEST_F(TransformerBlocks, ChannelsThatSomethingElseMaySeeStayAndANoteSaysWhy) {
  const auto only_note = [&](const std::string& wanted) {
    after_.clear();
    before_.clear();
    permute();
    EXPECT_EQ(before_, after_) << wanted;
    ASSERT_EQ(notes_.size(), 1U) << wanted;
    EXPECT_NE(notes_[0].find(wanted), std::string::npos) << notes_[0];
  };
  const std::string mlp = "model.layers.0.mlp.";
  add(mlp + "gate_proj.weight", {32, kHidden});
  add(mlp + "up_proj.weight", {32, kHidden});
  add(mlp + "down_proj.weight", {kHidden, 32});
  add(mlp + "ffn_sub_norm.weight", {32});
  only_note("'ffn_sub_norm' beside it may see them, too");
  tensors_.pop_back();
  add(mlp + "gate_proj.weight_scale_inv", {2, 2});
  only_note("'weight_scale_inv' beside a weight may hold something of each channel");
  tensors_.clear();
  for (const std::string part : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    add(kAttention + part + ".weight", {kHidden, kHidden});
  }
  only_note(
      "channels of 'model.layers.0.self_attn.o_proj.weight' stay in their order: config.json "
      "beside the model does not say how many heads");
  write_config(kGrouped);
  only_note("its columns are not the heads that config.json says");
  write_config(R"({"hidden_size": 16, "num_attention_heads": 2})");
  permute();
  EXPECT_TRUE(notes_.empty());
  EXPECT_TRUE(applied_.at(kAttention + "o_proj.weight"));
  permute("2:16");
  EXPECT_EQ(notes_.at(0),
            "channels of 'model.layers.0.self_attn.o_proj.weight', and perhaps of "
            "others, stay in their order: 8 of a part are no multiple of 16");
  tensors_.clear();
  add("fc1.weight", {32, kHidden});  // of no numbered layer
  add("fc2.weight", {kHidden, 32});
  support::expect_input_error([&] { permute(); }, {"tensors called as those of transformers"});
}

TEST_F(TransformerBlocks, ShardsOfAModelArePermutedAndPruned) {
  const std::string mlp = "model.layers.0.mlp.";
  std::filesystem::create_directory(path("in"));
  std::string map;
  for (const std::string part : {"gate_proj", "up_proj", "down_proj"}) {
    const std::string name = mlp + part + ".weight";
    const bool makes = part == "down_proj";
    add(name, makes ? Shape{kHidden, 32} : Shape{32, kHidden});
    io::write_safetensors(path("in/" + part + ".safetensors"), std::vector{tensors_.back()});
    map += (map.empty() ? "\"" : ", \"") + name + "\": \"" + part + ".safetensors\"";
  }
  std::ofstream(path("in/model.safetensors.index.json")) << R"({"weight_map": {)" << map << "}}";
  PruneOptions options;
  options.permute = {"auto"};
  const PruneReport report = prune_model(path("in"), path("out"), {}, options);
  ASSERT_EQ(report.layers.size(), 3U);
  for (const LayerReport& layer : report.layers) {
    EXPECT_EQ(layer.permutation.has_value(), layer.name == mlp + "down_proj.weight");
    if (layer.permutation) {
      EXPECT_GT(layer.kept.magnitude, layer.permutation->magnitude_before);
      EXPECT_NEAR(layer.kept.magnitude, layer.permutation->magnitude_after, 1e-6);
    }
  }
}

}  // namespace
}  // namespace sptc::prune
