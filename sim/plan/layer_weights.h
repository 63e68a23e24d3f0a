// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/model_file.h"
#include "sim/workload/workload.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sptc::plan {

/// Weights that an operation has in the same launches.
struct WeightsOfOperation {
  std::size_t operation = 0;
  std::vector<std::string> tensors;
  std::string launch;  ///< the operation in a list of layers: "name" or "name[i]"
  double launches = 1;
};

/// Which tensors of `model` the operations have as weights: of ONNX by the nodes of the graph, else
/// by name, the ending ".weight" left out, or by the names that Hugging Face gives the parts of an
/// operation of a transformer (attn.qkv: q_proj, k_proj, v_proj). In the order of the operations.
std::vector<WeightsOfOperation> weights_of_operations(
    const prune::ModelFile& model, const std::vector<workload::Operation>& operations);

}  // namespace sptc::plan
