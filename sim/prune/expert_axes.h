// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/layer.h"
#include "sim/prune/model_file.h"

#include <optional>
#include <string>

namespace sptc::prune {

/// Which axes of a tensor of experts are rows and k, and what says so.
struct ExpertAxes {
  LayerAxes axes;
  std::string because;
};

/// The axes of tensor `tensor` of `model`, where it holds the weights of experts by its name: [experts, rows, k], as
/// transformers has them, or [experts, k, rows], as gpt-oss and Llama 4 do, or [experts * k, rows], as DBRX does.
/// Nothing of others.
std::optional<ExpertAxes> expert_axes(const ModelFile& model, std::size_t tensor);

}  // namespace sptc::prune
