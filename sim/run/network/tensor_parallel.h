// SPDX-License-Identifier: Apache-2.0
//
// The part of a network that one of several GPUs computes.
#pragma once

#include "sim/workload/vector_operation.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <vector>

namespace sptc::run::network {

/// What one of several GPUs runs of a network of transformer layers.
struct GpuPart {
  std::vector<workload::Operation> gemms;
  std::vector<workload::VectorOperation> vectors;
};

/// Splits every layer over `gpus` as Megatron-LM does (Shoeybi et al., arXiv 1909.08053). Each
/// weight is cut as its Operation::cut says, else by rule:
/// - of two weights that follow each other the first along its rows (m) and the second along its
///   columns (k), behind which the sum over all GPUs is formed; so are those of experts, whose sum
///   is formed once, behind all of them;
/// - what makes queries, keys and values along m by heads, and the weight behind attention along k.
///   Where there are fewer heads of keys than GPUs, each GPU has one of them;
/// - of latent attention those that compress are whole on each GPU, those that a head has for
///   itself lie with it;
/// - routers and convolutions are whole on each GPU;
/// - outside the layers an output layer along m, behind which results are gathered, and tables of
///   embeddings along their rows, behind which the sum is formed. The rest is whole.
/// `inputs`: sequences of a pass, which tell heads from sequences; 0: not known. Throws InputError
/// where extents cannot be divided, or where there are no such layers.
GpuPart split_over(const std::vector<workload::Operation>& gemms, const std::vector<workload::VectorOperation>& vectors,
                   int gpus, std::int64_t inputs = 0);

}  // namespace sptc::run::network
