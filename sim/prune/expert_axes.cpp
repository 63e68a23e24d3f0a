// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/expert_axes.h"

#include "sim/prune/hugging_face_config.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/layer_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::prune {
namespace {

using Shape = std::vector<std::int64_t>;

/// What the weights of experts are called: those that read hidden features, and those that make them.
constexpr std::array<std::string_view, 8> kReading{"gate_up_proj", "gate_proj", "up_proj",      "w1",
                                                   "w3",           "w13",       "input_linear", "wi"};
constexpr std::array<std::string_view, 4> kMaking{"down_proj", "w2", "output_linear", "wo"};
/// Whose weights are [experts, k, rows].
constexpr std::array<std::string_view, 5> kKBeforeRows{"gpt_oss", "llama4", "llama4_text", "qwen3_vl_moe",
                                                       "qwen3_vl_moe_text"};

std::string_view last_part(std::string_view name) {
  name = workload::layer_of(name);
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

/// The weights of experts in one tensor.
struct Experts {
  const ModelFile& model;
  const io::TensorEntry& entry;
  std::string_view part;  ///< of an expert, by the name
  bool reads = false;     ///< hidden features
  bool known = false;     ///< whether it reads or makes them
};

ExpertAxes axes(std::size_t k, std::string because) {
  return {{0, k, true}, std::move(because)};
}

/// Gates and inner features in one tensor are twice what the other weight of an expert takes.
std::optional<ExpertAxes> beside_the_other(const Experts& experts) {
  const io::TensorEntry& own = experts.entry;
  const std::string stem = own.name.substr(0, own.name.rfind(experts.part));
  for (const ModelTensor& tensor : experts.model.tensors()) {
    const io::TensorEntry& other = tensor.entry;
    const std::string_view part = last_part(other.name);
    if (other.shape.size() != 3 || other.shape[0] != own.shape[0] || !other.name.starts_with(stem) ||
        stem.size() + part.size() > other.name.size() || other.name.compare(stem.size(), part.size(), part) != 0 ||
        std::ranges::count(experts.reads ? std::span<const std::string_view>(kMaking) : kReading, part) == 0) {
      continue;
    }
    const Shape& in = experts.reads ? own.shape : other.shape;
    const Shape& out = experts.reads ? other.shape : own.shape;
    const std::string because = fmt::format("'{}' beside it fits that", part);
    if (in[2] == out[1] && in[1] % 2 == 0 && in[1] / 2 == out[2]) {
      return axes(2, because);
    }
    if (in[1] == out[2] && in[2] % 2 == 0 && in[2] / 2 == out[1]) {
      return axes(1, because);
    }
  }
  return std::nullopt;
}

/// Features by the weights of the router or of the embedding, or a norm of the layers.
std::int64_t hidden_features(const ModelFile& model) {
  for (const std::string_view wanted : {"router", "embedding", "norm"}) {
    for (const ModelTensor& tensor : model.tensors()) {
      const Shape& shape = tensor.entry.shape;
      const bool fits = wanted == "norm" ? shape.size() == 1 : shape.size() == 2;
      if (fits && workload::dense_role(tensor.entry.name) == wanted) {
        return shape.back();
      }
    }
  }
  return 0;
}

ExpertAxes axes_of(const Experts& experts) {
  if (const auto by_pair = beside_the_other(experts)) {
    return *by_pair;
  }
  const Shape& shape = experts.entry.shape;
  const HuggingFaceConfig config = hugging_face_config(experts.model);
  const std::int64_t hidden = config.hidden > 0 ? config.hidden : hidden_features(experts.model);
  if (experts.known && hidden > 0 && shape[1] != shape[2]) {
    const std::string because = fmt::format("there are {} hidden features", hidden);
    if (shape[experts.reads ? 2 : 1] == hidden) {
      return axes(2, because);
    }
    if (shape[experts.reads ? 1 : 2] == hidden) {
      return axes(1, because);
    }
  }
  return !config.type.empty()
             ? axes(std::ranges::count(kKBeforeRows, config.type) > 0 ? 1 : 2, "config.json says " + config.type)
             : axes(2, "an assumption, as transformers has it: the extents leave it open");
}

}  // namespace

std::optional<ExpertAxes> expert_axes(const ModelFile& model, std::size_t tensor) {
  const io::TensorEntry& entry = model.tensors()[tensor].entry;
  const std::string_view part = last_part(entry.name);
  if (entry.shape.size() == 2 && workload::layer_of(entry.name).ends_with("experts.mlp.w2")) {
    return ExpertAxes{{1, 0, false}, "DBRX multiplies [experts * k, rows] from the left"};
  }
  const bool reads = std::ranges::count(kReading, part) > 0;
  const bool known = reads || std::ranges::count(kMaking, part) > 0;
  const bool fused = known && (entry.name.find("moe") != std::string::npos || part.size() > 3);
  if (entry.shape.size() != 3 || (entry.name.find("expert") == std::string::npos && !fused)) {
    return std::nullopt;
  }
  return axes_of({model, entry, part, reads, known});
}

}  // namespace sptc::prune
