// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/capture_writer.h"
#include "tests/hardware/capture/device.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace sptc::hardware {

/// The GPU of this machine, or nothing in a build without CUDA. Throws InputError where there is
/// none, or none that the build has code for.
std::unique_ptr<Device> open_gpu();

/// What is timed, and for how long.
struct TimingProgramme {
  std::uint64_t seed = 0;
  bool quick = false;
  std::filesystem::path shapes;  ///< list of GEMM shapes (tests/hardware/shapes.csv)
  /// No new measurement starts after it; what is left out is recorded.
  std::chrono::steady_clock::time_point deadline;
};

/// Microbenchmarks, memory, GEMMs and power of the GPU that open_gpu() found: an item each.
void capture_timing(CaptureWriter& writer, const TimingProgramme& programme, Device& device);

}  // namespace sptc::hardware
