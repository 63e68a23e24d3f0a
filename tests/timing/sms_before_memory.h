// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu.h"
#include "tests/timing/protocol_memory.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::timing {

/// SMs before a memory that answers in a way of its own, as usual after a fixed time. Several may
/// be built before the first run.
class SmsBeforeMemory {
 public:
  SmsBeforeMemory(const std::string& name, const gpu::GpuSpec& spec, int latency,
                  ProtocolMemory::Answer answer = ProtocolMemory::Answer::kEndOfRequestLater)
      : clock_(spec.boost_clock_mhz),
        gpu_(name.c_str(), clock_, spec, gpu::Gpu::Memory::kOutside),
        memory((name + "_memory").c_str(), clock_, answer, static_cast<int>(spec.sms), latency) {
    for (std::size_t i = 0; i < gpu_.sms().size(); ++i) {
      gpu_.sms()[i]->async_copy.memory.bind(memory.socket(i));
    }
  }

  /// Notes when matrix instructions of sub-partition 0 of the first SM issue.
  void watch_mma() {
    gpu_.sms().front()->sub_partitions.front()->issue.set_tap(
        [this](tensor_core::MmaIssue&) { mma_cycles.push_back(clock_.now() - start_); });
  }

  std::int64_t run(const sm::KernelLaunch& launch) {
    if (sc_core::sc_get_status() == sc_core::SC_ELABORATION) {
      sc_core::sc_start(sc_core::SC_ZERO_TIME);  // ports are bound from here on
    }
    memory.requests.clear();
    mma_cycles.clear();
    start_ = clock_.now();
    return gpu_.run(launch).cycles;
  }

 private:
  base::Clock clock_;
  gpu::Gpu gpu_;
  std::int64_t start_ = 0;

 public:
  ProtocolMemory memory;                 ///< `requests`: of the latest run
  std::vector<std::int64_t> mma_cycles;  ///< of the latest run
};

}  // namespace sptc::timing
