// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu.h"
#include "tests/support/gemm_grid.h"
#include "tests/timing/fixed_latency_memory.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::timing {

/// One SM before a memory that answers after a fixed time. Several may be built before the first
/// run.
class SmBeforeMemory {
 public:
  SmBeforeMemory(const std::string& name, const gpu::GpuSpec& spec, int latency)
      : clock_(spec.boost_clock_mhz),
        gpu_(name.c_str(), clock_, support::with_sms(spec, 1), gpu::Gpu::Memory::kOutside),
        memory_((name + "_memory").c_str(), clock_, latency) {
    gpu_.sms().front()->async_copy.memory.bind(memory_.socket);
  }

  /// Notes when matrix instructions of sub-partition 0 issue.
  void watch_mma() {
    gpu_.sms().front()->sub_partitions.front()->issue.set_tap(
        [this](tensor_core::MmaIssue&) { mma_cycles.push_back(clock_.now() - start_); });
  }

  std::int64_t run(const sm::KernelLaunch& launch) {
    if (sc_core::sc_get_status() == sc_core::SC_ELABORATION) {
      sc_core::sc_start(sc_core::SC_ZERO_TIME);  // ports are bound from here on
    }
    memory_.requests.clear();
    mma_cycles.clear();
    start_ = clock_.now();
    return gpu_.run(launch).cycles;
  }

  /// Of the latest run.
  const std::vector<FixedLatencyMemory::Request>& requests() const { return memory_.requests; }
  /// Whether a request came before the end of the one before it, in any run.
  bool overlapped() const { return memory_.overlapped; }
  std::vector<std::int64_t> mma_cycles;

 private:
  base::Clock clock_;
  gpu::Gpu gpu_;
  FixedLatencyMemory memory_;
  std::int64_t start_ = 0;
};

}  // namespace sptc::timing
