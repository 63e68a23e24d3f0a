// SPDX-License-Identifier: Apache-2.0
#include "sim/run/beside_operands.h"

#include <cmath>

namespace sptc::run {

void add_beside_operands(const BesideOperands& bytes, const gpu::GpuSpec& gpu,
                         VariantResult& figures) {
  if (bytes.read + bytes.written <= 0) {
    return;
  }
  const double mhz = gpu.boost_clock_mhz;
  kernels::KernelEstimate& form = figures.timing.clock_scaling.form;
  const double ratio = figures.timing.clock_mhz / mhz;
  const double before = form.time_us(ratio);
  form.dram_us += (bytes.from_dram + bytes.written) / (gpu.memory.dram_bytes_per_cycle(mhz) * mhz);
  form.l2_us += (bytes.read + bytes.written) / gpu.memory.l2_bytes_per_cycle / mhz;
  const double more_us = form.time_us(ratio) - before;
  figures.timing.time_us += more_us;
  figures.timing.cycles += std::llround(more_us * figures.timing.clock_mhz);
  memory::MemoryBytes& moved = figures.traffic.memory.l2_and_dram;
  moved.l2_read += std::llround(bytes.read);
  moved.dram_read += std::llround(bytes.from_dram);
  moved.l2_written += std::llround(bytes.written);
  moved.dram_written += std::llround(bytes.written);
}

}  // namespace sptc::run
