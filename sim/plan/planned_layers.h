// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/plan/plan_model.h"
#include "sim/prune/prune_model.h"
#include "sim/run/inference_result.h"
#include "sim/workload/workload.h"

#include <string>
#include <vector>

namespace sptc::plan {

/// What is known of the layers of a model before they are put together.
struct LayerSources {
  const prune::ModelFile& model;
  const prune::PruneReport& pruning;                   ///< what each weight loses
  const std::vector<workload::Operation>& operations;  ///< of the workload
  const std::vector<workload::Operation>& kernels;     ///< the same as the engine has joined them
  const run::InferenceResult& inference;               ///< times and energies of these
  const config::Architecture& architecture;
};

/// The layers of a model in the order of its operations, weights without operation at the end.
/// Weights that one kernel has, and operations that one weight has, are one layer.
std::vector<PlannedLayer> planned_layers(const LayerSources& sources);

}  // namespace sptc::plan
