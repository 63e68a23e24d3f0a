// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/gpu/gpu_spec.h"

namespace sptc::run {

/// What a board could do at best, at its boost clock.
struct BoardFigures {
  int sms = 0;
  double boost_clock_mhz = 0;
  double dram_gb_per_s = 0;  ///< that the pins deliver after row misses and refresh
  double l2_gb_per_s = 0;
  double shared_memory_gb_per_s = 0;  ///< of all SMs
};
BoardFigures board_figures(const gpu::GpuSpec& gpu);

/// Dense TFLOP/s of the tensor cores at the boost clock, with the accumulator that GEMMs of `type`
/// have; integers count as floats.
double peak_tflops(const gpu::GpuSpec& gpu, numerics::DataType type);

}  // namespace sptc::run
