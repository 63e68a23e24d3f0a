// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/capture/capture.h"
#include "sim/check/capture/gemm_simulation.h"
#include "sim/run/microbench/memory_bench.h"
#include "sim/run/microbench/microbench.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sptc::check::capture {

/// One measured figure of a capture and what the simulator says.
struct TimedRow {
  std::string group;    ///< "latency", "throughput", "shared memory", "gemm", "power"
  std::string subject;  ///< instruction; of a GEMM its types and library
  std::string point;    ///< "warps 4, ilp 3, zeros"
  std::string unit;     ///< "cycles", "FMA/clk/SM", "B/clk/SM", "us"
  bool sparse = false;
  double measured = 0;
  std::optional<double> simulated = std::nullopt;
  std::string reason = {};  ///< why it is not simulated

  /// simulated / measured - 1.
  std::optional<double> deviation() const {
    return simulated ? std::optional(*simulated / measured - 1) : std::nullopt;
  }
};

/// What the simulator says about times and power. An empty function, or no figures: not simulated. What a function
/// throws as InputError becomes the reason of the row.
struct TimeSimulation {
  std::string architecture;  ///< of the simulator
  std::string reason;        ///< why nothing is simulated, where nothing is
  std::function<run::microbench::MicrobenchResult(const run::microbench::MicrobenchCase&)> microbench;
  // See MemoryBench.
  std::function<double(std::int64_t footprint, std::int64_t stride)> chase_cycles;
  std::function<double()> line_cycles;
  std::function<double(run::microbench::BandwidthOperation operation, std::int64_t footprint)> bandwidth_gb_per_s;
  std::int64_t l1_reach_bytes = 0;  ///< up to here a load may hit an L1, which is not modelled
  GemmSimulation gemms;
};

/// Every measured figure of a capture beside the simulated one.
struct CaptureTimes {
  std::vector<TimedRow> rows;
  /// "9 rows of memory.json are absent: bulk copies need sm_90".
  std::vector<std::string> unmeasured;
};

CaptureTimes compare_times(const Capture& capture, const TimeSimulation& simulation);

}  // namespace sptc::check::capture
