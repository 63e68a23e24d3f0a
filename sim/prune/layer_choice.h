// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/layer.h"
#include "sim/prune/model_file.h"
#include "sim/prune/prune_options.h"

#include <optional>
#include <string>
#include <vector>

namespace sptc::prune {

/// A tensor of a model that is to be pruned, or the reason why it is not.
struct ChosenLayer {
  std::size_t tensor = 0;
  numerics::DataType type = numerics::DataType::kF16;  ///< of its elements
  LayerLayout layout;
  std::string skipped;  ///< why it stays as it is; empty: it is pruned
};

/// The layers of `model` that `options` mean, in the order of its tensors. A layer that cannot be
/// pruned is skipped, or refused where `options.layers` asks for it. Throws InputError where
/// nothing is left.
std::vector<ChosenLayer> choose_layers(const ModelFile& model, const PruneOptions& options);

/// The compressed form of a layer.
CompressedForm form_of_layer(const ChosenLayer& layer, const PruneOptions& options);

}  // namespace sptc::prune
