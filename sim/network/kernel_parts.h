// SPDX-License-Identifier: Apache-2.0
//
// What the closed forms of vector operations and of attention have in common.
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/network/kernel_time.h"

namespace sptc::network {

inline constexpr double kLanes = 32;
/// Results of the special function units of an SM in a cycle, of every compute capability from 7.0
/// to 9.0 (CUDA C++ Programming Guide, throughput of native arithmetic instructions).
inline constexpr double kSpecialPerCycle = 16;
inline constexpr double kBytesOfLoad = 512;  ///< of a warp: 16 bytes of 32 lanes (PTX ISA)

/// The part of the busiest SM where `ctas` equal ones are spread over `sms`.
double busiest_share(double ctas, int sms);

/// Instructions of a lane that an SM issues in a cycle.
double lanes_per_cycle(const sm::SmSpec& sm);

/// Adds the traffic of a launch that reads `l2_read` bytes from the L2, of which the busiest SM has
/// `share`.
void add_memory(const KernelBytes& bytes, double l2_read, const ResidentTensors& resident,
                double share, const gpu::GpuSpec& gpu, ClosedForm& result);

}  // namespace sptc::network
