// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/kernel_time.h"

#include "sim/base/cache_tags.h"
#include "sim/kernels/form_constants.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace sptc::run::network {
namespace {

/// Elements that a CTA of an element-wise kernel writes: 256 threads, 16 bytes of 16 bits each, as
/// PyTorch's vectorised kernels do. A row of a normalisation has one CTA.
constexpr double kElementsOfBlock = 2048;

/// Cycles of an SM for an element that is read against the layout of its tensor. An eager
/// `t().contiguous()` of 32768 x 8192 elements takes 1.98 ms (pytorch/pytorch issue 113560), on 132
/// SMs at 1830 MHz: that it was an H100 is inferred from the 2.4 TB/s of the same copy in tiles.
/// The reason is not public: 32 lanes read 32 lines.
constexpr double kCyclesOfCrossRead = 1.78;

/// Time of resources that work side by side.
double side_by_side(std::initializer_list<double> times) {
  const double longest = std::max(times);
  if (longest <= 0) {
    return 0;
  }
  double sum = 0;
  for (const double time : times) {
    sum += std::pow(time / longest, kernels::kForm.overlap);
  }
  return longest * std::pow(sum, 1 / kernels::kForm.overlap);
}

}  // namespace

double busiest_share(double ctas, int sms) {
  return std::ceil(ctas / sms) / ctas;
}

double lanes_per_cycle(const sm::SmSpec& sm) {
  return sm.sub_partitions * sm.issue_per_cycle * kLanes;
}

void add_memory(const KernelBytes& bytes, double l2_read, const ResidentTensors& resident, double share,
                const gpu::GpuSpec& gpu, ClosedForm& result) {
  const memory::MemorySpec& memory = gpu.memory;
  const double cycles_per_us = gpu.boost_clock_mhz;
  const double delivered = bytes.weights * (1 - resident.weights) + bytes.recent * (1 - resident.recent) +
                           bytes.earlier * (1 - resident.earlier);
  const double taken = bytes.written * (1 - resident.written);
  const double l2_write = bytes.written * memory::MemorySpec::kL2WorkOfWrite * memory.l2_partitions;
  KernelTimes& times = result.times;
  times.dram_us = (delivered + taken) / (memory.dram_bytes_per_cycle(cycles_per_us) * cycles_per_us);
  times.l2_us = (l2_read + l2_write) / memory.l2_bytes_per_cycle / cycles_per_us;
  times.sm_port_us = share * std::max(l2_read, bytes.written) / memory.sm_port_bytes_per_cycle / cycles_per_us;
  const double latency = memory.dram_latency_cycles() * kernels::kForm.first_fill;
  times.latency_us = (latency + memory.l2_near_latency_cycles) / cycles_per_us;
  times.launch_us = gpu.launch.launch_us;
  result.events.dram_bytes = delivered + taken;
  result.events.l2_bytes = l2_read + bytes.written;
}

double KernelTimes::time_us(double ratio) const {
  const double in_sms = side_by_side({tensor_us + lanes_us, loads_us, l2_us, sm_port_us}) / ratio;
  return side_by_side({in_sms, dram_us, links_us}) + latency_us / ratio + launch_us;
}

ResidentTensors resident_tensors(const KernelBytes& bytes, double since, double pass,
                                 const memory::MemorySpec& memory) {
  // Each partition keeps what its SMs read, and of what is written its own part.
  const double capacity = static_cast<double>(memory.l2_capacity.count()) / memory.l2_partitions;
  const double read = bytes.weights + bytes.recent + bytes.earlier;
  const double written = bytes.written / memory.l2_partitions;
  const double launch = std::max(1.0, read + written);
  ResidentTensors share{1, 1, 1, 1};
  constexpr int kRounds = 8;  // what survives decides what hits, and that what survives
  for (int round = 0; round < kRounds; ++round) {
    const double hit_ratio = (share.weights * bytes.weights + share.recent * bytes.recent +
                              share.earlier * bytes.earlier + share.written * written) /
                             launch;
    share.weights = base::CacheTags::survival(pass / capacity, hit_ratio);
    share.recent = share.written = base::CacheTags::survival(launch / capacity, hit_ratio);
    share.earlier = base::CacheTags::survival((since + launch) / capacity, hit_ratio);
  }
  return share;
}

ClosedForm vector_kernel(const PlannedKernel& kernel, const Network& network, const KernelBytes& bytes,
                         const ResidentTensors& resident, const gpu::GpuSpec& gpu, bool transposed) {
  double operations = 0;
  double special = 0;
  double elements = 0;
  for (const std::size_t i : kernel.vectors) {
    const workload::VectorOperation& op = network.vectors[i];
    const workload::VectorKindInfo& kind =
        workload::info(kernel.makes_contiguous ? workload::VectorKind::kCopy : op.kind);
    elements = static_cast<double>(op.elements());
    const double window = static_cast<double>(op.input_rows) / static_cast<double>(op.rows);
    operations += elements * (kind.instructions + (op.tensors - 1 + kind.parameters) + window);
    special += elements * kind.special;
  }
  // What is read and written is converted, bytes by the special function units.
  const int bits = tensor_bits(kernel, network);
  const double converted = (bytes.recent + bytes.earlier + bytes.written) * 8 / bits;
  (bits == 8 ? special : operations) += converted;
  const workload::VectorOperation& last = network.vectors[kernel.vectors.back()];
  const bool by_row =
      kernel.group == workload::WorkGroup::kNormalisation || kernel.group == workload::WorkGroup::kSoftmax;
  const double ctas = std::max(1.0, by_row ? static_cast<double>(last.rows) : std::ceil(elements / kElementsOfBlock));
  const double share = busiest_share(ctas, gpu.sms);

  ClosedForm result;
  const double read = bytes.weights + bytes.recent + bytes.earlier;
  add_memory(bytes, read, resident, share, gpu, result);
  const double loads = (read + bytes.written) / kBytesOfLoad;
  result.events.lane_operations = operations + special;
  result.events.instructions = (operations + special) / kLanes + loads;
  result.times.lanes_us =
      share * std::max(result.events.instructions * kLanes / lanes_per_cycle(gpu.sm), special / kSpecialPerCycle) /
      gpu.boost_clock_mhz;
  if (transposed) {
    result.times.loads_us = share * elements * kCyclesOfCrossRead / gpu.boost_clock_mhz;
  }
  result.times.busy_sms = std::min(static_cast<double>(gpu.sms), ctas);
  return result;
}

namespace {

/// A ring of NCCL in one of its protocols, as src/graph/tuning.cc of NVIDIA/nccl (BSD-3-Clause,
/// commit b6475625) has them for GPUs of one node: LL, LL128, Simple. What a launch takes at least
/// [us], and each step over NVLink or PCIe; 0: there is none.
struct Ring {
  double launch_us, nvlink_us, pcie_us;
  double share;          ///< of what the links carry
  double most_gb_per_s;  ///< from Ampere on
};
constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr Ring kRings[] = {
    {6.6, 0.6, 1.0, 0.25, 87.7}, {14.0, 1.9, 0, 0.92, kUnlimited}, {8.4, 3.4, 5.7, 1, kUnlimited}};

/// What a GPU gets each way from 16 lanes of PCIe 5.0 (PCI-SIG): links that carry more are NVLink.
constexpr double kPcieGbPerS = 64;

/// The largest tensor of such kernels (vLLM, device_communicators/custom_all_reduce.py).
constexpr double kMostBytesAtOnce = 8 << 20;

/// A barrier of all GPUs: a flag is written to each over NVLink and waited for (assumed: 1.7 steps
/// of the protocol LL of NCCL, for a fence of the system comes before). With a launch and the
/// latency of memory an all-reduce of few bytes takes about 5 us.
constexpr double kBarrierUs = 1;

}  // namespace

void add_links(workload::VectorKind kind, double bytes, const Links& links, KernelTimes& times) {
  const bool sums = kind == workload::VectorKind::kAllReduce;
  const bool to_each = kind == workload::VectorKind::kAllToAll;
  const double others = links.gpus - 1;
  if (others <= 0 || links.gb_per_s <= 0) {
    return;
  }
  constexpr double kBytesPerUs = 1e3;  // of a GB/s
  const bool nvlink = links.gb_per_s > kPcieGbPerS;
  const double once_us = bytes / (links.gb_per_s * kBytesPerUs);
  const double launch_us = times.launch_us + times.latency_us;
  double least_us = kUnlimited;
  const auto consider = [&](double fixed_us, double links_us) {
    if (fixed_us + links_us < least_us) {
      least_us = fixed_us + links_us;
      times.launch_us = fixed_us;
      times.links_us = links_us;
    }
  };
  const double passes = sums ? 2 * others : others;  // of one part of the tensor over the links
  const double steps = to_each ? 1 : passes;         // all others are sent to at once
  for (const Ring& ring : kRings) {
    const double step_us = nvlink ? ring.nvlink_us : ring.pcie_us;
    if (step_us > 0) {
      const double rate = std::min(ring.most_gb_per_s, ring.share * links.gb_per_s) * kBytesPerUs;
      consider(std::max(launch_us, ring.launch_us) + steps * step_us, passes / links.gpus * bytes / rate);
    }
  }
  if (to_each && nvlink) {
    // Each GPU writes to all others at once, between two barriers (deepseek-ai/DeepEP, README.md:
    // kernels within a node run at the rate of NVLink; recalled).
    consider(launch_us + 2 * kBarrierUs, passes / links.gpus * once_us);
  }
  if (sums && nvlink && bytes <= kMostBytesAtOnce) {
    // Each GPU reads the tensors of all others, or its part of them and then the sums of the
    // others; barriers stand before, between and behind (vLLM, csrc/custom_all_reduce.cuh).
    consider(launch_us + 2 * kBarrierUs, others * once_us);
    consider(launch_us + 3 * kBarrierUs, passes / links.gpus * once_us);
  }
  times.latency_us = 0;  // is part of what a launch takes
}

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
  /// Adds `layers` more like the one since `before`.
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
    const auto end =
        std::find_if(launches.begin(), launches.end(), [count](const QueuedLaunch& row) { return row.count != count; });
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

}  // namespace sptc::run::network
