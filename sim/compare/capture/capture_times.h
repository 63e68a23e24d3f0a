// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/capture/capture.h"
#include "sim/compare/capture/gemm_simulation.h"
#include "sim/compare/capture/time_comparison.h"
#include "sim/microbench/memory_bench.h"
#include "sim/microbench/microbench.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sptc::compare::capture {

/// What the simulator says about times and power. An empty function, or no figures: not simulated.
/// What a function throws as InputError becomes the reason of the row.
struct TimeSimulation {
  std::string architecture;  ///< of the simulator
  std::string reason;        ///< why nothing is simulated, where nothing is
  std::function<microbench::MicrobenchResult(const microbench::MicrobenchCase&)> microbench;
  // As in MemoryBench.
  std::function<double(std::int64_t footprint, std::int64_t stride)> chase_cycles;
  std::function<double()> line_cycles;
  std::function<double(microbench::BandwidthOperation operation, std::int64_t footprint)>
      bandwidth_gb_per_s;
  std::int64_t l1_reach_bytes = 0;  ///< up to here a load may hit an L1, which is not modelled
  GemmSimulation gemms;
};

/// Every measured figure of a capture beside the simulated one.
struct CaptureTimes {
  std::vector<TimedRow> rows;
  std::vector<TimeFinding> findings;
  /// "9 rows of memory.json are absent: bulk copies need sm_90".
  std::vector<std::string> unmeasured;
  /// What the measurements say by themselves: whether the L2 has a near and a far side.
  std::vector<std::string> answers;
};

CaptureTimes compare_times(const Capture& capture, const TimeSimulation& simulation);

}  // namespace sptc::compare::capture
