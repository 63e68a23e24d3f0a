// SPDX-License-Identifier: Apache-2.0
#include "sim/run/board_figures.h"

#include "sim/run/kernel_runner.h"

namespace sptc::run {

BoardFigures board_figures(const gpu::GpuSpec& gpu) {
  const double mhz = gpu.boost_clock_mhz;
  const double gb_per_byte_per_cycle = mhz * 1e-3;
  const auto of_sm = static_cast<double>(gpu.sm.shared_memory_bytes_per_cycle().count());
  return {gpu.sms, mhz, gpu.memory.dram_bytes_per_cycle(mhz) * gb_per_byte_per_cycle,
          gpu.memory.l2_bytes_per_cycle * gb_per_byte_per_cycle,
          gpu.sms * of_sm * gb_per_byte_per_cycle};
}

double peak_tflops(const gpu::GpuSpec& gpu, numerics::DataType type) {
  return 2 * peak_macs_per_sm_and_cycle(gpu, type) * gpu.sms * gpu.boost_clock_mhz * 1e-6;
}

}  // namespace sptc::run
