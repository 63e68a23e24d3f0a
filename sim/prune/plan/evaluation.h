// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/plan/plan_model.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sptc::prune::plan {

/// A model to be evaluated: that of the user with some tensors pruned.
struct EvaluatedModel {
  std::string name;                           ///< of what is pruned, for messages
  std::vector<workload::ListedLayer> pruned;  ///< none: the model as it is
};

/// What the command of `evaluation` says of each of `models`: the number on its last line. It gets the path of the
/// model in SPTCSIM_MODEL and where a word of it has "{}". Throws InputError where it fails, says no number, or takes
/// too long; the rest are then not evaluated. `progress` may be empty.
std::vector<double> metrics_of(const std::filesystem::path& model, const std::vector<EvaluatedModel>& models,
                               const prune::PruneOptions& pruning, const Evaluation& evaluation,
                               const std::function<void(std::size_t done, std::size_t total)>& progress);

}  // namespace sptc::prune::plan
