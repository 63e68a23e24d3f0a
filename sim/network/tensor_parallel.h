// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/workload.h"

#include <vector>

namespace sptc::network {

/// What one of several GPUs runs of a network of transformer layers.
struct TensorParallelPart {
  std::vector<workload::Operation> gemms;
  std::vector<workload::VectorOperation> vectors;
};

/// Splits every layer over `gpus` as Megatron-LM does (Shoeybi et al., arXiv 1909.08053): of two
/// weights that follow each other the first is cut along its rows and the second along its columns,
/// behind which the sum over all GPUs is formed; attention is cut along its heads. What stands
/// outside the layers is computed by each GPU, but the output layer, which is cut along its rows.
/// Throws InputError where extents cannot be divided, or where there are no such layers.
TensorParallelPart split_over(const std::vector<workload::Operation>& gemms,
                              const std::vector<workload::VectorOperation>& vectors, int gpus);

}  // namespace sptc::network
