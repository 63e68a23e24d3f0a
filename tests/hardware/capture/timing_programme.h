// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/capture_writer.h"
#include "tests/hardware/capture/device.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>

namespace sptc::hardware {

/// What is timed, and for how long.
struct TimingProgramme {
  std::uint64_t seed = 0;
  bool quick = false;
  std::filesystem::path shapes;  ///< list of GEMM shapes (tests/hardware/shapes.csv)
  /// No new measurement starts after it; what is left out is recorded. Microbenchmarks and memory
  /// get a share of the time from `start` on each, so that a slow part takes nothing from the next.
  std::chrono::steady_clock::time_point start, deadline;

  /// For an item that stops at the deadline by itself: up to there, and time for its last row.
  std::chrono::seconds item_limit() const {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(deadline - std::chrono::steady_clock::now());
    return std::max(left, std::chrono::seconds(0)) + kItemLimit;
  }
};

/// Microbenchmarks, memory, GEMMs and power of a device that times: an item each.
void capture_timing(CaptureWriter& writer, const TimingProgramme& programme, Device& device);

/// Items "power" and "gemm/<library>"; power.json and gemm.json.
void capture_gemm(CaptureWriter& writer, const TimingProgramme& programme, Device& device);

}  // namespace sptc::hardware
