// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace sptc::workload::topology {

enum class Family {
  kDecoder,
  kStateSpace,  ///< a decoder whose layers have a state in place of attention: Mamba-2
  kEncoder,
  kVision
};

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
  kHeadBias = 1024,
  kAttentionBias = 2048,   ///< "attention_bias" is true where the file does not say
  kBiasOfInputs = 4096,    ///< "attention_bias" is of queries, keys and values, not of the output
  kExpertBias = 8192,      ///< routers and experts have biases
  kSinks = 16384,          ///< a learned term in the sum of each softmax
  kLatent = 32768,         ///< multi-head latent attention: keys and values are expanded
  kChunked = 65536,        ///< windows are chunks, and layers without them have no rotary embedding
  kSharedExpert = 131072,  ///< one shared expert as wide as the others, without a key of its own
  kSharedGate = 262144     ///< the shared expert has a gate of one feature
};

struct ExpertSizes {
  std::int64_t count = 0, each_token = 0, ffn = 0, shared_ffn = 0;
  std::int64_t first_dense = 0;  ///< layers in front that have no experts
  std::int64_t shared = 0;       ///< each as wide as the others
  std::int64_t dense_ffn = 0;    ///< of layers without experts, where it has a key of its own
};

/// Sizes of latent attention: ranks of queries (0: they are not compressed) and of keys and values;
/// of a head of keys the features without and with positions, and those of values.
struct LatentSizes {
  std::int64_t q_rank = 0, kv_rank = 0, no_rope = 0, rope = 0, value = 0;

  std::int64_t key() const { return no_rope + rope; }
  std::int64_t cached() const { return kv_rank + rope; }
};

/// Sliding windows of so many tokens, which of `pattern` layers in a row all but the last have; of
/// 1 all.
struct WindowSizes {
  std::int64_t tokens = 0, pattern = 1;
};

/// What the class of transformers behind a "model_type" has where its config.json says nothing. 0:
/// nothing, or what follows from the others: as many key and value heads as heads, heads of hidden
/// / heads features, an MLP of 4 * hidden.
struct ModelClass {
  std::string_view types;  ///< every "model_type" of it, with blanks between them
  std::string_view name;
  Family family = Family::kDecoder;
  unsigned traits = 0;
  std::int64_t vocab = 0, hidden = 0, ffn = 0, layers = 0, heads = 0, kv_heads = 0, head = 0;
  ExpertSizes experts{};
  WindowSizes window{};
  double rotary = 1;  ///< part of a head that is turned
  std::string_view activation = "silu";
  LatentSizes latent{};
};

/// A config.json of Hugging Face, of a nested one its text part; what it does not say is as its
/// class has it. Keys that are looked at are noted down, so that notes can say the rest.
class ModelConfig {
 public:
  explicit ModelConfig(const io::JsonObject& root);

  const ModelClass& of_class() const { return *class_; }
  const io::JsonPlace& place() const { return config_.place(); }

  /// The value of the first of `keys` that is there and not null; else `absent`, that of the class.
  /// 0 for `absent`: the key is required.
  std::int64_t extent(std::initializer_list<std::string_view> keys, std::int64_t absent, std::int64_t least = 1);
  /// The same where nothing or null means `follows`, which is worked out of other values.
  std::int64_t extent_or(std::string_view key, std::int64_t absent, std::int64_t follows, std::int64_t least = 1);
  bool boolean(std::string_view key, bool absent);
  std::string text(std::initializer_list<std::string_view> keys, std::string_view absent);
  /// A number above 0, at most 1, under `key`, or under that of "rope_parameters".
  double number(std::string_view key, double absent);
  const nlohmann::json* array(std::string_view key);
  /// What stands under `key`; null where nothing or null does.
  const nlohmann::json* find(std::string_view key);

  /// The object of the text part or else of the whole.
  std::optional<io::JsonObject> object(std::string_view key);

  /// The type of the activations, and of weights that are not quantised: "f16", "bf16" or "tf32".
  std::string dtype();

  /// Notes down a sentence on how the file was understood.
  template <typename... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) {
    std::string sentence = fmt::format(text, std::forward<Args>(args)...);
    if (std::ranges::count(notes_, sentence) == 0) {
      notes_.push_back(std::move(sentence));
    }
  }
  /// What was noted, each once, what was not in the file, and what of it is not read.
  std::vector<std::string> notes() &&;

 private:
  const io::JsonObject root_, config_;
  bool nested_ = false;
  const ModelClass* class_ = nullptr;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> defaults_, notes_;
};

/// The text under `key`; empty where there is none.
std::string word_of(const io::JsonObject& object, std::string_view key);

/// How the weights of a model are multiplied and lie in memory.
struct WeightForm {
  std::string dtype;         ///< of the products
  std::string weight_dtype;  ///< "s8" or "s4" in memory; empty: `dtype`
  std::int64_t scale_block = 0;
};

/// What the "quantization_config" of a model says of each of its weights. Embeddings, routers and
/// the last layer stay as they are, and so does what its lists of modules name in more than half of
/// the layers. Notes say what was understood. Throws InputError.
class WeightForms {
 public:
  WeightForms(ModelConfig& config, std::int64_t layers);

  /// The form of the weight of operation `name`, which `count` layers have.
  WeightForm of(std::string_view name, std::int64_t count);
  bool quantised() const { return form_.dtype != plain_.dtype || !form_.weight_dtype.empty(); }

 private:
  /// The layers of an operation that lists name.
  struct Kept {
    bool all = false;
    std::set<std::int64_t> layers;
  };

  WeightForm read(const io::JsonObject& quantization);
  WeightForm read_compressed_tensors(const io::JsonObject& quantization);
  WeightForm weight_only(std::int64_t bits, std::int64_t group);
  WeightForm experts_of_mxfp4();
  WeightForm unread(const std::string& what);
  void read_list(const io::JsonObject& quantization, std::string_view key);
  bool keep(const std::string& module);

  ModelConfig& config_;
  std::int64_t layers_;
  WeightForm plain_, form_;
  bool experts_alone_ = false;
  std::map<std::string, Kept, std::less<>> kept_;  ///< by operation
};

}  // namespace sptc::workload::topology
