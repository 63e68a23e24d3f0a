// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/network/kernel_plan.h"

#include <cstdint>

namespace sptc::network {

/// A launch that is no GEMM in closed form, as KernelEstimate is of GEMMs: what each resource needs
/// by itself [us at the boost clock, DRAM at its own], and what cannot overlap.
struct KernelTimes {
  double tensor_us = 0;  ///< both products of attention, of the busiest SM
  double loads_us = 0;   ///< loads against the layout of a tensor, of the busiest SM
  double lanes_us = 0;   ///< CUDA cores and special function units of it, behind the products
  double l2_us = 0;
  double sm_port_us = 0;
  double dram_us = 0;
  double latency_us = 0;  ///< the first data arrive, the last results leave
  double launch_us = 0;
  double busy_sms = 0;

  /// At a clock that is `ratio` of the boost clock.
  double time_us(double ratio) const;
};

/// What it does, for its energy.
struct KernelEvents {
  double macs = 0;             ///< on tensor cores
  double lane_operations = 0;  ///< of the CUDA cores
  double instructions = 0;     ///< of warps
  double shared_memory_bytes = 0;
  double l2_bytes = 0;    ///< between L2 and SMs
  double dram_bytes = 0;  ///< read and written
};

struct ClosedForm {
  KernelTimes times;
  KernelEvents events;
};

/// What the L2 holds of the tensors of a kernel when it begins, by share.
struct ResidentTensors {
  double weights = 0, recent = 0, earlier = 0, written = 0;
};
/// `since`: bytes that have passed since the tensor of a residual connection was used; `pass`: in a
/// whole pass of the network.
ResidentTensors resident_tensors(const KernelBytes& bytes, double since, double pass,
                                 const memory::MemorySpec& memory);

/// A chain of vector operations; `transposed`: one of them reads its input against the layout.
ClosedForm vector_kernel(const PlannedKernel& kernel, const Network& network,
                         const KernelBytes& bytes, const ResidentTensors& resident,
                         const gpu::GpuSpec& gpu, bool transposed = false);

/// Both products of attention with the softmax between them on chip.
ClosedForm attention_kernel(const PlannedKernel& kernel, const Network& network,
                            const KernelBytes& bytes, const ResidentTensors& resident,
                            const gpu::GpuSpec& gpu);

}  // namespace sptc::network
