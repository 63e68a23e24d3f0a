// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload::topology {

enum class Family { kDecoder, kEncoder, kVision };

/// What a decoder has that another has not. Without any: RMS norms in front of attention and MLP,
/// no biases, rotary embeddings, an MLP of two weights.
enum Trait : unsigned {
  kGated = 1,      ///< the MLP has a gate
  kLayerNorm = 2,  ///< its norms are layer norms
  kQkvBias = 4,
  kOutputBias = 8,  ///< of attention
  kMlpBias = 16,
  kQkNorm = 32,     ///< queries and keys have a norm, too
  kPostNorms = 64,  ///< what attention and MLP put out has a norm, too
  kNoRotary = 128,  ///< positions are learned and added
  kParallel = 256,  ///< attention and MLP read the same input
  kOneNorm = 512,   ///< of both
  kHeadBias = 1024
};

/// What the class of transformers behind a "model_type" has where its config.json says nothing. 0:
/// nothing, or what follows from the others: as many key and value heads as heads, heads of hidden
/// / heads features, an MLP of 4 * hidden.
struct ModelClass {
  std::string_view type;
  std::string_view name;  ///< of the class
  Family family = Family::kDecoder;
  unsigned traits = 0;
  std::int64_t vocab = 0, hidden = 0, ffn = 0, layers = 0, heads = 0, kv_heads = 0, head = 0;
  std::int64_t experts = 0, each_token = 0, expert_ffn = 0, shared_ffn = 0;
  /// Sliding windows: tokens, and of how many layers in a row all but the last have one; 1: all.
  std::int64_t window = 0, window_pattern = 1;
  double rotary = 1;  ///< part of a head that is turned
  std::string_view activation = "silu";
};

/// How the weights of a model are multiplied and lie in memory.
struct WeightForm {
  std::string dtype;         ///< of the products
  std::string weight_dtype;  ///< "s8" or "s4" in memory; empty: `dtype`
  std::int64_t scale_block = 0;
};

/// A config.json of Hugging Face, where the text part of it is nested that part. What it does not
/// say is as its class has it. What of it is looked at is noted down, so that notes can say the
/// rest. Throws InputError.
class ModelConfig {
 public:
  explicit ModelConfig(const io::JsonObject& root);

  const ModelClass& of_class() const { return *class_; }
  const io::JsonPlace& place() const { return config_.place(); }

  /// The value of the first of `keys` that is there and not null, at least `least`; else `absent`,
  /// that of the class. 0 for `absent`: the key is required.
  std::int64_t extent(std::initializer_list<std::string_view> keys, std::int64_t absent,
                      std::int64_t least = 1);
  /// The same where nothing or null means `follows`, which is worked out of other values.
  std::int64_t extent_or(std::string_view key, std::int64_t absent, std::int64_t follows,
                         std::int64_t least = 1);
  bool boolean(std::string_view key, bool absent);
  std::string text(std::initializer_list<std::string_view> keys, std::string_view absent);
  double number(std::string_view key, double absent);
  /// An array under `key`; null where there is none.
  const nlohmann::json* array(std::string_view key);
  /// The object or array under `key`; null where there is none.
  const nlohmann::json* find(std::string_view key);

  /// Of the activations, and of weights that are not quantised: "f16", "bf16" or "tf32".
  std::string dtype();
  /// Of the weights of the layers.
  WeightForm weights();

  /// What was not in the file, what of it is not read, and what was understood of weights.
  std::vector<std::string> notes() &&;

 private:
  WeightForm read_quantization(const io::JsonObject& quantization);
  WeightForm read_compressed_tensors(const io::JsonObject& quantization);
  WeightForm weight_only(std::int64_t bits, std::int64_t group);
  WeightForm unread(const std::string& what);

  const io::JsonObject root_, config_;
  bool nested_ = false;
  const ModelClass* class_ = nullptr;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> defaults_, notes_;
};

}  // namespace sptc::workload::topology
