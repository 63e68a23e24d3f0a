// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/bottleneck.h"
#include "sim/run/run_options.h"
#include "sim/run/separate_process.h"
#include "sim/trace/workload.h"

#include <optional>
#include <utility>
#include <vector>

namespace sptc::sim {

/// `gpu` with `resource` twice as fast: all rates of the tensor core and of what feeds it, one
/// bandwidth, all of them (the ports of the SMs too), or half of the latencies outside the tensor
/// cores. Not the launch.
GpuSpec doubled(GpuSpec gpu, Resource resource);

/// What every launch of a run gains where one resource is twice as fast and the kernel stays: found
/// by simulating it, each resource in a process of its own beside the run (SystemC elaborates once
/// per process).
class DoubledResources {
 public:
  struct Launch {
    Operation operation;
    bool sparse = false;
  };

  /// Begins; to be built before the run elaborates its GPU. `gpu` and `options` as of the run, one
  /// SM stands for all whatever they say.
  DoubledResources(const std::vector<Launch>& launches, const GpuSpec& gpu,
                   const RunOptions& options);

  /// Of each launch, in order, for VariantResult::saved; nothing for one that cannot be simulated.
  /// Once.
  std::vector<std::optional<SavedTime>> results();

 private:
  std::size_t launches_;
  SeparateProcess base_;
  std::vector<std::pair<Resource, SeparateProcess>> changed_;
};

}  // namespace sptc::sim
