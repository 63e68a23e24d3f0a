// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/cycle_budget.h"

#include "sim/gpu/gpu_spec.h"
#include "sim/hardware/memory/memory_spec.h"
#include "sim/kernels/traffic_counts.h"
#include "sim/kernels/work_schedule.h"

#include <algorithm>

namespace sptc::gpu {
namespace {

/// Work of the busiest SM, in CTAs with an output tile each. Stream-K cuts its work into equal
/// stretches.
double ctas_of_busiest_sm(const kernels::GemmKernel& kernel, std::int64_t sms) {
  if (!kernel.stream_k()) {
    return static_cast<double>(base::ceil_div(kernel.ctas(), sms));
  }
  const std::int64_t active = std::min(sms, kernels::WorkSchedule::most_stretches(kernel.ctas(), kernel.k_tiles()));
  return static_cast<double>(kernel.ctas()) / static_cast<double>(active);
}

}  // namespace

CycleBudget cycle_budget(const kernels::GemmKernel& kernel, const kernels::MemoryTraffic& traffic, std::int64_t cycles,
                         double clock_mhz, const GpuSpec& gpu) {
  const double macs_per_cycle =
      gpu.sm.macs_per_cycle(numerics::storage_bits(kernel.problem.dtype), kernel.instruction.accumulator,
                            kernel.instruction.scales.has_value());
  const auto ctas = static_cast<double>(kernel.ctas());
  const double busiest = ctas_of_busiest_sm(kernel, gpu.sms);
  const double macs_per_cta = static_cast<double>(kernel.issued_macs()) / ctas;
  CycleBudget budget;
  budget.cycles = static_cast<double>(cycles);
  const double slice = kernel.ctas() <= gpu.sms ? kernel.deepest_slice() : 1;
  const double of_busiest = busiest * slice * macs_per_cta / macs_per_cycle;
  budget.tensor = of_busiest;
  budget.tensor_mean = ctas / gpu.sms * macs_per_cta / macs_per_cycle;
  budget.operand_fetch = of_busiest * (kernel.issue_stretch - 1);
  // Tiles on their way to registers pass the L1, whose banks are those of the shared memory: those
  // that it has as well as those that the L2 reads.
  const std::int64_t through_l1 =
      kernel.staged_in_registers() ? std::max(traffic.l2_and_dram.l2_read, traffic.shared_memory_written) : 0;
  const auto rate = static_cast<double>(gpu.sm.shared_memory_bytes_per_cycle().count());
  const auto written = static_cast<double>(traffic.shared_memory_written);
  // What TMA writes has a rate of its own, and holds nobody up where that is not known.
  const int fill = gpu.sm.bulk_fill_bytes_per_cycle;
  const double write_cycles = !kernel.executed.is_asynchronous() ? written / rate : fill > 0 ? written / fill : 0;
  const auto others = static_cast<double>(traffic.shared_memory() - traffic.shared_memory_written + through_l1);
  budget.shared_memory = busiest / ctas * (others / rate + write_cycles);
  // What the L2 reads once for a cluster passes the port of each of its SMs.
  const std::int64_t into_sms = kernel.multicast() ? traffic.shared_memory_written : traffic.l2_and_dram.l2_read;
  budget.sm_port = busiest / ctas * static_cast<double>(std::max(into_sms, traffic.l2_and_dram.l2_written)) /
                   gpu.memory.sm_port_bytes_per_cycle;
  const std::int64_t of_d = traffic.l2_and_dram.l2_written - kernels::WorkSchedule::partial_sum_bytes(kernel, gpu.sms);
  const std::int64_t more = memory::MemorySpec::kL2WorkOfWrite * gpu.memory.l2_partitions - 1;
  budget.l2 = static_cast<double>(traffic.l2_and_dram.l2() + more * of_d) / gpu.memory.l2_bytes_per_cycle;
  budget.dram = static_cast<double>(traffic.l2_and_dram.dram()) / gpu.memory.dram_bytes_per_cycle(clock_mhz);
  return budget;
}

kernels::MemoryTraffic waited_for(const kernels::GemmKernel& kernel, kernels::MemoryTraffic traffic, std::int64_t sms) {
  traffic.l2_and_dram.dram_written -= kernels::WorkSchedule::partial_sum_bytes(kernel, sms);
  traffic.l2_and_dram.dram_written /= kernel.split_k;
  return traffic;
}

}  // namespace sptc::gpu
