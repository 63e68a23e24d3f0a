// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/config_fwd.h"
#include "sim/prune/model_file.h"
#include "sim/prune/plan/plan_model.h"
#include "sim/prune/prune_model.h"
#include "sim/run/run_result.h"
#include "sim/workload/workload.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sptc::prune::plan {

/// Weights that an operation has in the same launches.
struct WeightsOfOperation {
  std::size_t operation = 0;
  std::vector<std::string> tensors;
  std::string launch;  ///< the operation in a list of layers: "name" or "name[i]"
  double launches = 1;
  bool in_part = false;  ///< it reads some of their rows: of experts, those that have tokens
};

/// Which tensors of `model` the operations have as weights: of ONNX by the nodes of the graph, else by name, the ending
/// ".weight" left out, or by the names that Hugging Face gives the parts of an operation of a transformer (attn.qkv:
/// q_proj, k_proj, v_proj; moe.expert.down: down_proj of all experts). In the order of the operations.
std::vector<WeightsOfOperation> weights_of_operations(const prune::ModelFile& model,
                                                      const std::vector<workload::Operation>& operations);

/// What is known of the layers of a model before they are put together.
struct LayerSources {
  const prune::ModelFile& model;
  const prune::PruneReport& pruning;                   ///< what each weight loses
  const std::vector<workload::Operation>& operations;  ///< of the workload
  const std::vector<workload::Operation>& kernels;     ///< the same as the engine has joined them
  const run::InferenceResult& inference;               ///< times and energies of these
  const config::Architecture& architecture;
};

/// The layers of a model in the order of its operations, weights without operation at the end. Weights that one kernel
/// has, and operations that one weight has, are one layer.
std::vector<PlannedLayer> planned_layers(const LayerSources& sources);

}  // namespace sptc::prune::plan
