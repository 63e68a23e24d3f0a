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
  std::string skipped;   ///< why it stays as it is; empty: it is pruned
  std::string name;      ///< that of the tensor, or of a weight in several tensors
  bool packed = false;   ///< of a weight in several tensors, of which this one has the values
  bool sparse = false;   ///< such a weight that is 2:4
  bool by_name = false;  ///< it stays dense by its name
};

struct LayerChoice {
  std::vector<ChosenLayer> layers;  ///< in the order of the tensors
  std::vector<std::string> notes;   ///< on axes, and on tensors that are no layers; a sentence each
};

/// The layers of `model` that `options` mean. A layer that cannot be pruned is skipped, as one is that stays dense by
/// its name, or refused where `options.layers` asks for it. Throws InputError.
LayerChoice find_layers(const ModelFile& model, const PruneOptions& options);

/// The same. Throws InputError also where there is no layer to prune.
LayerChoice choose_layers(const ModelFile& model, const PruneOptions& options);

CompressedForm form_of_layer(const ChosenLayer& layer, const PruneOptions& options);

}  // namespace sptc::prune
