// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace sptc::network {

/// A kernel that the host launches `count` times in a pass.
struct QueuedLaunch {
  double us = 0;       ///< on the GPU
  double host_us = 0;  ///< for which the host is busy with it
  std::int64_t count = 1;
};

struct QueueTime {
  double latency_us = 0;  ///< from the first call to the end of the last kernel
  double waiting_us = 0;  ///< of it the GPU has nothing to do
};

/// Kernels one behind the other, which the host gives out one by one and may be late with. Those of
/// one count that follow each other are a layer of the network, which repeats as a whole.
QueueTime queue_time(std::span<const QueuedLaunch> launches);

}  // namespace sptc::network
