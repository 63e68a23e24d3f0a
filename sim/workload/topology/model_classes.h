// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
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
  std::int64_t dense_ffn = 0;       ///< of layers without experts, where it has a key of its own
  std::int64_t first_dense = 0;     ///< layers in front that have no experts
  std::int64_t shared_experts = 0;  ///< each as wide as the others
  /// Latent attention: ranks of queries (0: they are not compressed) and of keys and values; of a
  /// head of keys the features without and with positions, and those of values.
  std::int64_t q_rank = 0, kv_rank = 0, no_rope = 0, rope = 0, value = 0;
};

/// The class of "model_type" `type`; null where it is not modelled.
const ModelClass* find_class(std::string_view type);

/// Every "model_type" that is modelled.
std::vector<std::string_view> class_types();

/// Where the defaults were read.
inline constexpr std::string_view kTransformersVersion = "transformers 5.24.0";

}  // namespace sptc::workload::topology
