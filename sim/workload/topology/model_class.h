// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

/// All that are modelled.
std::span<const ModelClass> model_classes();
/// The one of `type`; null where it is not modelled.
const ModelClass* find_model_class(std::string_view type);

/// Of which the table has the defaults.
inline constexpr std::string_view kTransformersVersion = "transformers 5.24.0";

}  // namespace sptc::workload::topology
