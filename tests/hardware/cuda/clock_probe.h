// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/cuda/check.cuh"

#include <optional>

namespace sptc::hardware {

/// What one warp saw of its SM while others worked.
struct ClockCount {
  long long cycles, nanoseconds;
};

/// The clock of the SMs while a stream works: one warp counts the cycles of its SM between two
/// marks in that stream. NVML reads the clock too seldom for runs of milliseconds, and misses what
/// the power limit does to it meanwhile.
class ClockProbe {
 public:
  /// The warp waits for the first mark from now on. It may take an SM from the launches beside it,
  /// so their time is not to be used.
  ClockProbe();
  ClockProbe(const ClockProbe&) = delete;
  ClockProbe& operator=(const ClockProbe&) = delete;
  ~ClockProbe();

  void begin(cudaStream_t stream) const { mark(1, stream); }
  void end(cudaStream_t stream) const { mark(2, stream); }
  /// Mean between begin and end, for which it waits. Nothing where the span was too short.
  std::optional<double> mhz() const;

 private:
  void mark(int value, cudaStream_t stream) const;

  DeviceArray<unsigned char> mark_;
  DeviceArray<ClockCount> count_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace sptc::hardware
