// SPDX-License-Identifier: Apache-2.0
//
// What an engine and several GPUs make of the operations of a network before kernels are planned.
#pragma once

#include "sim/run/network/engine.h"
#include "sim/workload/workload.h"

#include <vector>

namespace sptc::run::network {

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

/// Weights that multiply the same input become one GEMM with the rows of all, where `engine` has a
/// rule for that and nothing but its operations stands between them: the queries, keys and values
/// of a layer. Changes both lists.
void merge_siblings(const EngineSpec& engine, std::vector<workload::Operation>& gemms,
                    std::vector<workload::VectorOperation>& vectors);

/// What operations of `engine.wide` write is f32, and what they write passes others as it is. GEMMs
/// read the type of their operands: a conversion stands before those whose input is f32, or, where
/// `engine` fuses copies with what wrote it, that writes both. Changes `vectors`, of which nothing
/// changes where the engine has no such operations.
void widen_tensors(const EngineSpec& engine, const std::vector<workload::Operation>& gemms,
                   std::vector<workload::VectorOperation>& vectors);

}  // namespace sptc::run::network
