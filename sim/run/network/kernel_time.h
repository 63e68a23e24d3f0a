// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/run/network/kernel_plan.h"
#include "sim/workload/vector_operation.h"

#include <cstdint>
#include <span>

namespace sptc::run::network {

/// A launch that is no GEMM in closed form, as KernelEstimate is of GEMMs: what each resource needs
/// by itself [us at the boost clock, DRAM at its own], and what cannot overlap.
struct KernelTimes {
  double tensor_us = 0;  ///< both products of attention, of the busiest SM
  double loads_us = 0;   ///< loads against the layout of a tensor, of the busiest SM
  /// CUDA cores and special function units of it, behind the products: of attention what these do
  /// not hide, and the first tiles of its blocks.
  double lanes_us = 0;
  double l2_us = 0;
  double sm_port_us = 0;
  double dram_us = 0;
  double links_us = 0;    ///< to other GPUs, whatever the clock
  double latency_us = 0;  ///< the first data arrive, the last results leave
  double launch_us = 0;
  double busy_sms = 0;

  /// Time at a clock that is `ratio` of the boost clock.
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
ResidentTensors resident_tensors(const KernelBytes& bytes, double since, double pass, const memory::MemorySpec& memory);

// What the closed forms of vector operations and of attention have in common.

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
void add_memory(const KernelBytes& bytes, double l2_read, const ResidentTensors& resident, double share,
                const gpu::GpuSpec& gpu, ClosedForm& result);

/// A chain of vector operations; `transposed`: one of them reads its input against the layout.
ClosedForm vector_kernel(const PlannedKernel& kernel, const Network& network, const KernelBytes& bytes,
                         const ResidentTensors& resident, const gpu::GpuSpec& gpu, bool transposed = false);

/// Both products of attention with the softmax between them on chip, as the FlashAttention for the
/// matrix instructions of `gpu` runs them; few queries with slices of the keys, and a kernel that
/// adds these up. Causal masks leave out what lies beyond the diagonal.
ClosedForm attention_kernel(const PlannedKernel& kernel, const Network& network, const KernelBytes& bytes,
                            const ResidentTensors& resident, const gpu::GpuSpec& gpu);

/// Between the GPUs that share a network.
struct Links {
  int gpus = 1;
  double gb_per_s = 0;  ///< of one GPU, each way
};

/// Adds what a kernel of `kind`, all_reduce, all_gather or all_to_all, sends over `links` for a
/// tensor of `bytes`: each GPU has it in the end or, of all_to_all, sends a part to each other one
/// and keeps its own. It is the fastest of the protocols of NCCL and, between GPUs with NVLink, of
/// the kernels of serving software, which read or write other GPUs at once: see the source.
/// `times` are those of the kernel alone.
void add_links(workload::VectorKind kind, double bytes, const Links& links, KernelTimes& times);

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

}  // namespace sptc::run::network
