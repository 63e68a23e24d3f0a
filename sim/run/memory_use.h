// SPDX-License-Identifier: Apache-2.0
//
// What the memory of a GPU holds while a network runs on it.
#pragma once

#include "sim/gpu/gpu_fwd.h"

#include <optional>

namespace sptc::workload {
struct Workload;
}  // namespace sptc::workload

namespace sptc::run {

struct AskedWork;
struct SimulationOptions;

inline constexpr double kGib = 1 << 30;

/// Bytes of one GPU.
struct MemoryUse {
  double weights = 0;   ///< of each layer once, with their scales; of 2:4 ones what is kept
  double metadata = 0;  ///< of 2:4 weights
  double cache = 0;     ///< keys and values of the whole context of all sequences
  double activations = 0;
  double communication = 0;  ///< buffers between GPUs
  double capacity = 0;       ///< of its DRAM

  double total() const { return weights + metadata + cache + activations + communication; }
  bool fits() const { return total() <= capacity; }
};

/// What `work` takes, which is `workload` as asked_work() has it for `options`; `sparse_weights`:
/// weights that may be 2:4 are. Nothing where the board does not say how much it holds, or the
/// workload how many inputs it has: a list of launches does not tell which of them share a weight.
/// Nor where it lists no attention of a network that writes text, whose cache is not known then,
/// unless the rest alone does not fit.
///
/// Experts without tokens in this pass are there as well: as many as the routing before them
/// chooses among, or with --ep the part of one GPU. A table of embeddings has the rows of the
/// output layer with its columns, in 16 bits, and is not shared with it; without such a layer it is
/// not counted, nor are biases and norms. Activations are the two largest tensors and the results
/// of the output layer, a bound from below: what software keeps beyond that is not known. Buffers
/// of communication are the largest tensor twice.
std::optional<MemoryUse> memory_use(const workload::Workload& workload, const AskedWork& work,
                                    const SimulationOptions& options, const gpu::GpuSpec& gpu, bool sparse_weights);

}  // namespace sptc::run
