// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/sm/kernel_launch.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sptc::gpu {

/// Notes when the last warp of each CTA had each of its k-tiles.
class TileTimes final : public sm::TileObserver {
 public:
  void tile_used(std::int64_t cta, std::int64_t tile, std::int64_t cycle) override {
    std::vector<std::int64_t>& cycles = cycles_[cta];
    const auto index = static_cast<std::size_t>(tile);
    if (cycles.size() <= index) {
      cycles.resize(index + 1);
    }
    cycles[index] = std::max(cycles[index], cycle);
  }

  /// Of CTA `cta`, which is forgotten [cycles].
  std::vector<std::int64_t> take(std::int64_t cta) { return std::move(cycles_[cta]); }

 private:
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> cycles_;
};

}  // namespace sptc::gpu
