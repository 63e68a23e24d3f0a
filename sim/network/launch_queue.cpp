// SPDX-License-Identifier: Apache-2.0
#include "sim/network/launch_queue.h"

#include <algorithm>

namespace sptc::network {
namespace {

/// Layers after which the next one takes as long as the last.
constexpr std::int64_t kSettledLayers = 64;

struct Clocks {
  double host = 0, gpu = 0, waiting = 0;

  void layer(std::span<const QueuedLaunch> launches) {
    for (const QueuedLaunch& launch : launches) {
      host += launch.host_us;
      waiting += std::max(0.0, host - gpu);
      gpu = std::max(gpu, host) + launch.us;
    }
  }
  /// As `layers` more like the one since `before`.
  void repeat(const Clocks& before, double layers) {
    host += layers * (host - before.host);
    waiting += layers * (waiting - before.waiting);
    gpu += layers * (gpu - before.gpu);
  }
};

}  // namespace

QueueTime queue_time(std::span<const QueuedLaunch> launches) {
  Clocks clocks;
  while (!launches.empty()) {
    const std::int64_t count = launches.front().count;
    const auto end = std::find_if(launches.begin(), launches.end(),
                                  [count](const QueuedLaunch& row) { return row.count != count; });
    const auto layer = launches.first(static_cast<std::size_t>(end - launches.begin()));
    Clocks before = clocks;
    for (std::int64_t i = 0; i < std::min(count, kSettledLayers); ++i) {
      before = clocks;
      clocks.layer(layer);
    }
    if (count > kSettledLayers) {
      clocks.repeat(before, static_cast<double>(count - kSettledLayers));
    }
    launches = launches.subspan(layer.size());
  }
  return {clocks.gpu, clocks.waiting};
}

}  // namespace sptc::network
