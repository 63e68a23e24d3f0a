// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/resource.h"
#include "sim/run/run_options.h"
#include "sim/run/separate_process.h"
#include "sim/trace/workload.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace sptc::sim {

/// What every launch of a run gains on faster designs where the kernel stays, and where 2x
/// is out of its reach also with the kernels of those designs: found by simulating it, each design
/// in a process of its own beside the run (SystemC elaborates once per process).
class FasterDesigns {
 public:
  struct TriedLaunch {
    Operation operation;
    bool sparse = false;
    std::optional<std::size_t> dense = std::nullopt;  ///< place of the same operation's dense one
  };

  /// Of one launch, for the VariantResult members of the same names.
  struct Gains {
    SavedTime saved;
    std::optional<SavedByPair> pair;
    std::optional<NeededDesign> needed;
    std::optional<double> without_rates_us;
    std::optional<RetunedDesign> retuned;
  };

  /// Begins; to be built before the run elaborates its GPU. `gpu` and `options` as of the run, one
  /// SM stands for all whatever they say.
  FasterDesigns(const std::vector<TriedLaunch>& launches, const GpuSpec& gpu,
                const RunOptions& options);

  /// Of each launch, in order; nothing for one that cannot be simulated. Once. `clocks_mhz` of the
  /// launches in the run: where a power limit sets them, they are known when the run has ended, and
  /// the faster designs are timed then, at them.
  std::vector<std::optional<Gains>> results(const std::vector<double>& clocks_mhz);

 private:
  std::size_t launches_;
  bool clock_limited_;
  SeparateProcess process_;
};

}  // namespace sptc::sim
