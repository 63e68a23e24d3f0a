// SPDX-License-Identifier: Apache-2.0
//
// Layers of Mamba-2 (Dao, Gu, Transformers are SSMs, arXiv 2405.21060): a prefill computes in
// chunks, by products of activations; a decode changes the state of each head.
#include "sim/workload/topology/builder.h"

namespace sptc::workload::topology {
namespace {

using Json = Builder::Json;

struct Sizes {
  std::int64_t inner, head, state, groups, taps, chunk;
  std::int64_t convolved = 0;  ///< what the convolution passes: x, B and C
};

Sizes sizes_of(Builder& builder) {
  ModelConfig& config = builder.config();
  constexpr std::int64_t kExpand = 2, kState = 128, kGroups = 8, kTaps = 4, kChunk = 256;
  constexpr std::int64_t kMostTaps = 8;  // tensors that one operation reads
  const std::int64_t heads = builder.heads();
  Sizes sizes{builder.product({config.extent({"expand"}, kExpand), builder.hidden()}),
              config.extent({"head_dim"}, builder.of_class().head),
              config.extent({"state_size"}, kState),
              config.extent({"n_groups"}, kGroups),
              config.extent({"conv_kernel"}, kTaps),
              config.extent({"chunk_size"}, kChunk)};
  if (builder.product({heads, sizes.head}) != sizes.inner) {
    builder.fail("{} heads of {} features are not {} features, {} times the hidden ones", heads, sizes.head,
                 sizes.inner, sizes.inner / builder.hidden());
  }
  if (heads % sizes.groups != 0) {
    builder.fail("{} heads do not share {} groups", heads, sizes.groups);
  }
  if (sizes.taps > kMostTaps) {
    builder.fail("conv_kernel is {}, more than {}", sizes.taps, kMostTaps);
  }
  sizes.convolved = builder.product({sizes.inner + builder.product({2, sizes.groups, sizes.state})});
  return sizes;
}

/// Chunks by products: within each as attention without softmax, then what each leaves, then what
/// comes from those before.
void add_scan(Builder& builder, const Sizes& sizes) {
  const std::int64_t layers = builder.layers(), heads = builder.heads();
  const std::string length = fmt::format("min(seq, {})", sizes.chunk);
  const std::string chunks = fmt::format("batch*ceil_div(seq, {})", sizes.chunk);
  const std::string of_heads = times(heads, chunks);
  builder.vector("ssm.steps", "sigmoid", kTokens, heads, layers);
  builder.product_of_activations("ssm.scores", length, length, sizes.state, times(sizes.groups, chunks), layers);
  builder.product_of_activations("ssm.within", sizes.head, length, length, of_heads, layers);
  builder.product_of_activations("ssm.states", sizes.head, sizes.state, length, of_heads, layers);
  builder.vector("ssm.pass", "residual", times(builder.product({heads, sizes.head}), chunks), sizes.state, layers);
  builder.product_of_activations("ssm.across", sizes.head, length, sizes.state, of_heads, layers);
  builder.vector("ssm.sum", "residual", kTokens, sizes.inner, layers, Json::object({{"inputs", 3}}));
  builder.config().note(
      "ssm.within and ssm.states weigh their operands by decays inside their kernels, which costs nothing here");
}

}  // namespace

void add_state_space(Builder& builder, const Pass& pass) {
  ModelConfig& config = builder.config();
  const Sizes sizes = sizes_of(builder);
  const std::int64_t layers = builder.layers(), heads = builder.heads();
  const bool biases = config.boolean("use_bias", false);
  builder.linear("ssm.in_proj", builder.product({sizes.inner + sizes.convolved + heads}), kTokens, builder.hidden(),
                 layers, biases);
  // A decode reads the tokens before from the state of the convolution, and moves them on.
  builder.vector("ssm.conv", "bias", kTokens, sizes.convolved, layers,
                 pass.decodes() ? Json::object({{"inputs", sizes.taps}, {"outputs", sizes.taps}}) : Json::object());
  config.find("use_conv_bias");  // is added within the same operation
  const std::string kind = builder.activation();
  builder.vector("ssm." + kind, kind, kTokens, sizes.convolved, layers);
  if (pass.decodes()) {
    // Reads and writes the state; what is added to it and read out of it stays on chip.
    builder.vector("ssm.state", "state", times(builder.product({heads, sizes.head}), kTokens), sizes.state, layers);
  } else {
    add_scan(builder, sizes);
  }
  builder.vector("ssm.gate", "gate", kTokens, sizes.inner, layers);
  builder.vector("ssm.gate_norm", builder.norm(), kTokens, sizes.inner, layers);
  builder.linear("ssm.out_proj", builder.hidden(), kTokens, sizes.inner, layers, biases);
}

}  // namespace sptc::workload::topology
