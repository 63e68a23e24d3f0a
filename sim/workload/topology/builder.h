// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/topology/model_config.h"

namespace sptc::workload::topology {

/// The tokens of a pass: `seq` new ones of each of `batch` sequences, which read `context` keys.
struct Pass {
  std::int64_t batch = 1, seq = 1, context = 1;

  bool decodes() const { return seq == 1 && context > 1; }
};

/// "2*batch" of 2 and "batch"; the dimension itself where the factor is 1.
std::string times(std::int64_t factor, const std::string& dims);

/// Rows of a tensor with a row for each new token.
inline constexpr const char* kTokens = "batch*seq";

/// Puts the operations of a model together, in the order of a pass, with extents as expressions of
/// batch, seq and context. Its parts are the functions below. Throws InputError.
class Builder {
 public:
  using Json = nlohmann::ordered_json;

  explicit Builder(ModelConfig& config);

  ModelConfig& config() { return config_; }
  const ModelClass& of_class() const { return class_; }
  bool has(Trait trait) const { return (class_.traits & trait) != 0; }
  std::int64_t layers() const { return layers_; }
  std::int64_t hidden() const { return hidden_; }
  std::int64_t heads() const { return heads_; }
  const std::string& norm() const { return norm_; }
  const std::string& dtype() const { return dtype_; }
  const WeightForms& forms() const { return forms_; }

  /// An extent of a GEMM; refuses one above kMaxExtent.
  std::int64_t product(std::initializer_list<std::int64_t> factors) const;
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> problem, Args&&... args) const {
    config_.place().fail(fmt::format(problem, std::forward<Args>(args)...));
  }

  void add(Json op) { ops_.push_back(std::move(op)); }
  /// A weight [m, k] of `count` layers, in the form that its name has; `batch` of them in a launch.
  void weight(const std::string& name, std::int64_t m, const std::string& n, std::int64_t k, std::int64_t count,
              const std::string& batch = "1", const Json& more = Json::object());
  void linear(const std::string& name, std::int64_t m, const std::string& n, std::int64_t k, std::int64_t count,
              bool bias);
  void product_of_activations(const std::string& name, const Json& m, const Json& n, const Json& k,
                              const std::string& batch, std::int64_t count);
  void vector(const std::string& name, const std::string& kind, const std::string& rows, const Json& columns,
              std::int64_t count, const Json& more = Json::object());
  /// The operation that the activation of the model is: "gelu" of "gelu_pytorch_tanh".
  std::string activation();
  /// What follows attention, MLP or experts: the sum of `summands`, and the norm of the next.
  void close_layer(const std::string& name, std::int64_t layers, std::int64_t summands);

  /// The workload, whose dimensions have these defaults.
  Json workload(const std::string& name, const Json& dims) const;

 private:
  ModelConfig& config_;
  const ModelClass& class_;
  std::int64_t layers_, hidden_, heads_;
  std::string norm_, dtype_;
  WeightForms forms_;
  Json ops_ = Json::array();
};

/// What attention multiplies: extents as expressions.
struct AttendedExtents {
  std::string keys, queries, batch, rows;
};
/// Scores, softmax and context of `layers` layers with heads of `key` and `value` features.
void add_scores(Builder& builder, const AttendedExtents& of, std::int64_t key, std::int64_t value, std::int64_t layers,
                bool masked, bool causal);
/// Refuses heads of 0 features, and those that do not share the hidden ones.
void require_heads(const Builder& builder, std::int64_t head, bool shared = true);
/// Attention of all layers of a decoder: attention_layers.cpp.
void add_attention(Builder& builder, const Pass& pass);
void add_latent_attention(Builder& builder, const Pass& pass);
/// The MLPs of all layers, and experts where there are any: expert_layers.cpp.
void add_feed_forward(Builder& builder, const Pass& pass);
/// Mixers of Mamba-2 of all layers: state_space_layers.cpp.
void add_state_space(Builder& builder, const Pass& pass);

}  // namespace sptc::workload::topology
