// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_estimate.h"

#include "sim/hardware/sm/sm_spec.h"
#include "sim/hardware/tensor_core/tensor_core_spec.h"
#include "sim/kernels/form_constants.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/grid_reuse.h"
#include "sim/kernels/kernel_target.h"
#include "sim/kernels/launch_spec.h"
#include "sim/kernels/traffic_counts.h"
#include "sim/kernels/work_schedule.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace sptc::kernels {
namespace {

double bytes_of(const GemmBytes& traffic, isa::Operand operand, std::int64_t rows, std::int64_t k) {
  return static_cast<double>(rows) * static_cast<double>(traffic.row_bytes(operand, k));
}

/// Bytes of the operands that DRAM delivers: each once, and again what a later wave of CTAs needs
/// and the L2 has lost.
struct DeliveredBytes {
  double a, b, again;  ///< a: with metadata
  double resident;     ///< of a and b: in the L2 already
  double written;      ///< share of D that DRAM takes: the rest is written where it was

  double all() const { return a + b + again - resident; }
  double missing() const { return 1 - resident / (a + b); }
};

/// Load to use of a k-tile, as DRAM and the L2 have it.
double latency_cycles(const DeliveredBytes& delivered, const memory::MemorySpec& memory) {
  return delivered.missing() * memory.dram_latency_cycles() + (1 - delivered.missing()) * memory.l2_near_latency_cycles;
}

DeliveredBytes delivered_bytes(const GemmKernel& kernel, const KernelTarget& target) {
  const GemmBytes traffic(kernel);
  const base::GemmShape& shape = kernel.problem.shape;
  double a = bytes_of(traffic, isa::Operand::kA, shape.m, shape.k) * kernel.problem.distinct(isa::Operand::kA);
  if (kernel.instruction.sparse) {
    a += bytes_of(traffic, isa::Operand::kMetadata, shape.m, shape.k);
  }
  const double b = bytes_of(traffic, isa::Operand::kB, shape.n, shape.k) * kernel.problem.distinct(isa::Operand::kB) +
                   traffic.other_columns_bytes();
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  // A wave works on a patch of D, as square as it can be.
  const double concurrent =
      static_cast<double>(std::min(kernel.ctas(), target.sms) * kernel.ctas_per_sm) / kernel.split_k;
  const double area = concurrent * static_cast<double>(kernel.cta_tile.m * kernel.cta_tile.n);
  const double patch_n = std::min(n, area / std::min(m, std::sqrt(area)));
  const double patch_m = std::min(m, area / patch_n);
  const double kept = kForm.l2_share_of_operand * static_cast<double>(target.memory.l2_capacity.count());
  double again = 0;
  if (patch_m < m && patch_n < n) {
    again = std::min(a * (n / patch_n - 1) * std::max(0.0, 1 - kept / a),
                     b * (m / patch_m - 1) * std::max(0.0, 1 - kept / b));
  }
  const auto batch = static_cast<double>(kernel.problem.batch);
  const ResidentOperands resident = resident_operands(kernel, target.memory);
  return {batch * a, batch * b, batch * again, batch * (a * resident.a + b * resident.b), 1 - resident.d};
}

/// Bytes that DRAM delivers and takes: operands, D, and what the L2 cannot keep of partial sums.
double dram_bytes(const DeliveredBytes& delivered, const GemmKernel& kernel, const memory::MemorySpec& memory) {
  return delivered.all() + delivered.written * static_cast<double>(stored_bytes(kernel)) / kernel.split_k +
         static_cast<double>(reduction_bytes(kernel, memory).spilled);
}

/// Bytes from DRAM that pass from the partition of the L2 that owns them to the other one, whose
/// SMs want them too: work for both.
double crossing_bytes(const DeliveredBytes& delivered, const GemmKernel& kernel, int partitions) {
  if (partitions == 1) {
    return 0;
  }
  const auto wanted = [](std::int64_t readers) {
    constexpr std::int64_t kNone = 1074;  // so many halves are less than any number
    return 1 - std::ldexp(1.0, -static_cast<int>(std::min(readers, kNone)));
  };
  return wanted(kernel.tiles_n()) * delivered.a + wanted(kernel.tiles_m()) * delivered.b + delivered.again;
}

double dram_bytes_per_us(const KernelTarget& target) {
  return target.memory.dram_bytes_per_cycle(target.boost_clock_mhz) * target.boost_clock_mhz;
}

/// Whether a CTA multiplies alone on its SM, with one k-tile under way: two stages.
bool waits_for_each(const GemmKernel& kernel, const KernelTarget& target) {
  const bool lone = kernel.ctas_per_sm == 1 || kernel.ctas() <= target.sms;
  return lone && !kernel.staged_in_registers() && !kernel.copies_ahead();
}

/// Time of DRAM that SMs wait for which are in step [us]: they ask for their next k-tiles at the
/// same time, and have those when DRAM has delivered them all. SMs of two partitions of the L2,
/// with latencies of their own, and producer warps do not stay in step.
double dram_waited_us(const DeliveredBytes& delivered, const GemmKernel& kernel, const KernelTarget& target) {
  if (!waits_for_each(kernel, target) || kernel.persistent() || target.memory.l2_partitions > 1) {
    return 0;
  }
  const double rounds =
      std::max(1.0, static_cast<double>(kernel.ctas()) / static_cast<double>(target.sms * kernel.ctas_per_sm));
  const auto in_step = [&](std::int64_t readers) {
    return static_cast<double>(readers) * rounds <= kForm.readers_in_step;
  };
  const double waited = delivered.missing() *
                        ((in_step(kernel.tiles_n()) ? delivered.a : 0) + (in_step(kernel.tiles_m()) ? delivered.b : 0));
  return waited / dram_bytes_per_us(target);
}

/// Bytes that the warps of a CTA read from shared memory: each its rows of A and columns of B.
double fragment_bytes_of_cta(const GemmKernel& kernel, const GemmBytes& traffic) {
  const std::int64_t k = kernel.k_tiles() * kernel.cta_tile.k;
  if (kernel.executed.is_asynchronous()) {
    // B once for the four warps of a warpgroup, and in parts for CTAs that share instructions.
    const std::int64_t groups = kernel.cta_tile.m / kernel.executed.shape.m;
    return static_cast<double>(groups) * (bytes_of(traffic, isa::Operand::kA, kernel.executed.shape.m, k) +
                                          bytes_of(traffic, isa::Operand::kB, kernel.cta_tile.n, k) / kernel.cta_group);
  }
  // Bytes as loads fill registers: of m8n8k4 two lanes hold each element. Metadata count as far as
  // they are used, with which the form was fitted.
  double bytes = static_cast<double>(operand_fragment_bytes(kernel)) / static_cast<double>(kernel.ctas());
  if (kernel.instruction.sparse) {
    bytes += bytes_of(traffic, isa::Operand::kMetadata, kernel.warp_tile.m, k) * kernel.warps();
  }
  return bytes;
}

double most_ctas(const GemmKernel& kernel, const KernelTarget& target) {
  const auto ctas = static_cast<double>(kernel.ctas());
  if (kernel.parts_of_tile > 0) {
    return std::ceil(ctas * kernel.parts_of_tile / static_cast<double>(target.sms)) / kernel.parts_of_tile;
  }
  if (kernel.stream_k()) {
    // Stretches as long for every SM, and at least two k-tiles for each that has any.
    const double stretches = ctas * static_cast<double>(kernel.k_tiles()) / 2;
    return std::max(ctas / static_cast<double>(target.sms), ctas / std::max(1.0, stretches));
  }
  return static_cast<double>(base::ceil_div(kernel.ctas(), target.sms));
}

/// Bytes that a CTA copies within the edges, with the deepest slice of K.
double copied_bytes_of_cta(const GemmKernel& kernel, const GemmBytes& traffic) {
  const base::GemmShape& shape = kernel.problem.shape;
  const std::int64_t k = std::min(shape.k, kernel.k_tiles() * kernel.cta_tile.k);
  const std::int64_t rows = std::min(kernel.cta_tile.m, shape.m);
  double bytes = bytes_of(traffic, isa::Operand::kA, rows, k) +
                 bytes_of(traffic, isa::Operand::kB, std::min(kernel.cta_tile.n, shape.n), k) / kernel.cta_group;
  if (kernel.instruction.sparse) {
    bytes += bytes_of(traffic, isa::Operand::kMetadata, rows, k);
  }
  return bytes;
}

/// Elements that TMA fills in the boxes of a k-tile, for columns and rows that they have beyond the
/// edge. The CTAs of a cluster cut the box of what they share.
/// [cycles of a CTA, on the mean or where CTAs have one round the most]
double edge_cycles_of_cta(const GemmKernel& kernel, const KernelTarget& target, const GemmBytes& traffic) {
  const int rate = target.sm.bulk_edge_elements_per_cycle;
  if (rate == 0 || !kernel.executed.is_asynchronous()) {
    return 0;
  }
  const base::GemmShape& shape = kernel.problem.shape;
  double elements = 0;
  for (const isa::Operand operand : {isa::Operand::kA, isa::Operand::kB}) {
    const bool is_b = operand == isa::Operand::kB;
    const PanelRows rows{is_b ? shape.n : shape.m, is_b ? kernel.cta_tile.n : kernel.cta_tile.m};
    const std::int64_t tiles = is_b ? kernel.tiles_n() : kernel.tiles_m();
    const std::int64_t boxes = kernel.readers(operand, {}) * (is_b ? kernel.cta_group : 1);
    const double share = kernel.ctas() <= target.sms ? 1 : 1 / static_cast<double>(tiles);
    elements += share * static_cast<double>(rows.beyond(tiles - 1, boxes) * traffic.copied_k(operand));
  }
  return elements / rate * static_cast<double>(kernel.k_tiles());
}

/// Cycles of a CTA with the deepest slice of K, at the peak rate.
double tensor_cycles_of_cta(const GemmKernel& kernel, const KernelTarget& target) {
  const double macs_per_cycle =
      target.sm.macs_per_cycle(numerics::storage_bits(kernel.problem.dtype), kernel.instruction.accumulator,
                               kernel.instruction.scales.has_value());
  return static_cast<double>(kernel.issued_macs()) / static_cast<double>(kernel.ctas()) / macs_per_cycle *
         kernel.issue_stretch * kernel.deepest_slice();
}

/// Cycles of the shared memory, to which the mean CTA copies.
double shared_memory_cycles_of_cta(const GemmKernel& kernel, const KernelTarget& target, const GemmBytes& traffic) {
  const double copied = static_cast<double>(copied_bytes(kernel)) / static_cast<double>(kernel.ctas());
  // Tiles on their way to registers pass the L1, whose banks are those of the shared memory. What
  // TMA writes holds nobody up.
  const auto rate = static_cast<double>(target.sm.shared_memory_bytes_per_cycle().count());
  const int filled = target.sm.bulk_fill_bytes_per_cycle;
  const double written = kernel.executed.is_asynchronous() ? filled > 0 ? copied * rate / filled : 0
                         : kernel.staged_in_registers()    ? 2 * copied
                                                           : copied;
  return (fragment_bytes_of_cta(kernel, traffic) + written) / rate + edge_cycles_of_cta(kernel, target, traffic);
}

/// Cycles in which a warpgroup of a CTA executes wgmma.sp by itself: it fills the registers of
/// metadata of a k-tile when those of the last one are read. 0 for other kernels.
double metadata_cycles_of_cta(const GemmKernel& kernel, const KernelTarget& target, const GemmBytes& traffic) {
  if (!kernel.instruction.sparse || kernel.executed.family != mma::MmaFamily::kWgmma) {
    return 0;
  }
  const sm::SmSpec& sm = target.sm;
  const std::int64_t groups = kernel.cta_tile.m / kernel.executed.shape.m;
  const double multiplied = tensor_cycles_of_cta(kernel, target) / static_cast<double>(groups);
  const double read = fragment_bytes_of_cta(kernel, traffic) / static_cast<double>(groups) /
                      static_cast<double>(sm.shared_memory_bytes_per_cycle().count());
  return std::max(multiplied, read) +
         static_cast<double>(kernel.k_tiles()) * (sm.tensor_core.asynchronous_pipeline_cycles() +
                                                  sm.shared_memory_latency_cycles + kForm.metadata_issue_cycles);
}

/// Cycles in which the warps of a CTA issue what they dequantise a weight with, beside the matrix
/// instructions and loads; 0 where they do not.
double issue_cycles_of_cta(const GemmKernel& kernel, const KernelTarget& target) {
  const double dequantise = kernel.dequantise_slots();
  if (dequantise <= 0) {
    return 0;
  }
  const double rows = kernel.fragments_m();
  const double columns = kernel.fragments_n();
  const double of_step = rows * (1 + dequantise) + columns / 2 + rows * columns;
  const double steps = static_cast<double>(kernel.k_tiles() * kernel.k_steps_per_tile());
  return of_step * steps * kernel.warps() / (target.sm.sub_partitions * target.sm.issue_per_cycle);
}

/// Cycles in which the busiest SM, which runs `most` CTAs, multiplies at the peak rate.
double tensor_cycles(const GemmKernel& kernel, const KernelTarget& target, double most) {
  const double of_cta = tensor_cycles_of_cta(kernel, target);
  // A warpgroup by itself keeps the tensor cores busy as long as others follow it, and one thread
  // issues the instructions of tensor memory. A warp multiplies on the tensor core of its
  // sub-partition alone, and every CTA begins on the first one, which is busy longest.
  const double of_each = static_cast<double>(kernel.warps()) / target.sm.sub_partitions;
  const double busy = kernel.tensor_memory() ? 1 : of_each / std::ceil(of_each);
  const auto rate = [&](double together) {
    const double warps = together * kernel.warps();
    return !kernel.tensor_memory() && warps < kForm.enough_warps ? busy * kForm.lone_warps : busy;
  };
  if (kernel.stream_k()) {
    return most / busy * of_cta;
  }
  const auto rest = static_cast<double>(static_cast<std::int64_t>(most) % kernel.ctas_per_sm);
  const double full = kernel.executed.is_asynchronous() ? busy : rate(kernel.ctas_per_sm);
  return ((most - rest) / full + rest / rate(rest)) * of_cta;
}

/// Time from the end of a kernel to the first copy of the next one, in a graph of launches.
double first_copy_us(const GemmKernel& kernel, const LaunchSpec& spec) {
  const bool warpgroups = kernel.executed.family == mma::MmaFamily::kWgmma;
  return spec.launch_us + (kernel.instruction.sparse && warpgroups ? spec.sparse_launch_us : 0);
}

double call_us(const GemmKernel& kernel, const LaunchSpec& spec) {
  return spec.call_us(kernel.problem.conditions.launch, kernel.instruction.sparse);
}

/// Sets what the tensor cores of the busiest SM, which runs `most` CTAs, need, and what no SM has a
/// part in: launches, and the second kernel of split-K.
void set_least(const GemmKernel& kernel, const KernelTarget& target, double most, KernelEstimate& times) {
  times.tensor_us = tensor_cycles(kernel, target, most) / target.boost_clock_mhz;
  times.launch_us = first_copy_us(kernel, target.launch);
  if (kernel.split_k == 1) {
    return;
  }
  const ReductionBytes bytes = reduction_bytes(kernel, target.memory);
  times.launch_us += target.launch.reduction_launch_us;
  times.reduction_l2_us =
      static_cast<double>(bytes.moved().l2()) / target.memory.l2_bytes_per_cycle / target.boost_clock_mhz;
  times.reduction_dram_us = static_cast<double>(bytes.spilled) / dram_bytes_per_us(target);
}

/// Time of resources that work side by side: somewhat more than that of the longest.
double side_by_side(std::initializer_list<double> times) {
  const double longest = std::max(times);
  double sum = 0;
  for (const double time : times) {
    sum += time == longest ? 1 : std::pow(time / longest, kForm.overlap);
  }
  return longest * std::pow(sum, 1 / kForm.overlap);
}

/// Cycles for which a k-tile is waited for that takes `latency`, as many as are under way at once,
/// and what comes one behind the other where it is waited for by itself. The busiest SM runs `most`
/// CTAs.
double wait_of_k_tile(const GemmKernel& kernel, const KernelTarget& target, double most, double latency,
                      KernelEstimate& times) {
  double cycles = latency + kForm.barrier_cycles;
  if (waits_for_each(kernel, target)) {
    cycles = latency;
    times.serial.sm_port = 1;
    // The next k-tile is asked for before the first k-step and waited for before the last one; by a
    // producer warp when a stage is free, which it is when the k-tile in the other one has come.
    times.serial.data_path = kernel.persistent() ? 0 : 1.0 / kernel.k_steps_per_tile();
  }
  if (kernel.stages == 1 && !kernel.staged_in_registers()) {
    // Nothing is under way while a k-tile is multiplied: only other CTAs of the SM fill that time.
    const double side_by_side = std::clamp<double>(most, 1, kernel.ctas_per_sm);
    times.serial.sm_port = times.serial.data_path = 1 / side_by_side;
  }
  return cycles;
}

/// Stream-K: partial sums are stored, a flag is read, then the sums: once for each CTA.
void add_partial_sums(const GemmKernel& kernel, const KernelTarget& target, KernelEstimate& times) {
  const memory::MemorySpec& memory = target.memory;
  const double cycles_per_us = target.boost_clock_mhz;
  const auto all = static_cast<double>(WorkSchedule::partial_sum_bytes(kernel, target.sms));
  if (all == 0) {
    return;  // whole rounds of tiles
  }
  times.l2_us += 2 * all / memory.l2_bytes_per_cycle / cycles_per_us;
  // The L2 keeps what it can until it is read, as with split-K.
  const double lost = std::max(0.0, all - static_cast<double>(memory.l2_capacity.count()));
  times.dram_us += lost / dram_bytes_per_us(target);
  const auto sums = static_cast<double>(kernel.cta_tile.m * kernel.cta_tile.n * kAccumulatorBytes);
  const double rate = kernel.sum_bytes_per_cycle > 0 ? kernel.sum_bytes_per_cycle : memory.sm_port_bytes_per_cycle;
  times.fill_us += (2 * sums / rate + 2 * memory.l2_near_latency_cycles) / cycles_per_us;
}

/// CTAs of the last round store together, behind their main loops: what the L2 takes of that comes
/// behind those too, and what it cannot keep waits for DRAM. `write_work`: of the L2, for all of D
/// [bytes].
void set_last_stores(const GemmKernel& kernel, const KernelTarget& target, double write_work, KernelEstimate& times) {
  const memory::MemorySpec& memory = target.memory;
  const auto resident = static_cast<double>(target.sms * kernel.ctas_per_sm);
  const double last = std::min(1.0, resident / static_cast<double>(kernel.ctas()));
  times.last_d_us = last * times.written_us;
  times.last_dram_us = std::max(0.0, times.last_d_us - memory.dirty_bytes() / dram_bytes_per_us(target));
  if (!kernel.stream_k()) {
    times.last_l2_us = kForm.stores_in_step * last * write_work / memory.l2_bytes_per_cycle / target.boost_clock_mhz;
    times.l2_us -= times.last_l2_us;
  }
}

/// Cycles in which the accumulators of a CTA pass shared memory and come back as rows of D.
double staging_cycles(const GemmKernel& kernel, const KernelTarget& target) {
  const double element_bytes = kernel.executed.is_asynchronous() ? stored_bits(kernel) / 8.0 : kAccumulatorBytes;
  return 2 * static_cast<double>(kernel.cta_tile.m * kernel.cta_tile.n) * element_bytes /
         static_cast<double>(target.sm.shared_memory_bytes_per_cycle().count());
}

/// Cycles in which the epilogue of a CTA issues what it does with its accumulators.
double epilogue_issue_cycles(const GemmKernel& kernel, const KernelTarget& target) {
  const double operations = kernel.split_k > 1 ? 0 : kernel.problem.epilogue_operations;
  return static_cast<double>(kernel.cta_tile.m * kernel.cta_tile.n) * operations /
         (mma::kWarpLanes * target.sm.sub_partitions * target.sm.issue_per_cycle);
}

}  // namespace

double KernelEstimate::alone_us(double ratio) const {
  const double data_path = side_by_side({tensor_us, shared_memory_us, issue_us, metadata_us}) + epilogue_us;
  const double waits =
      std::max(latency_us + serial.sm_port * sm_port_us, serial.dram_us * ratio) + serial.data_path * data_path;
  const double in_sms = side_by_side({data_path, std::max(l2_us, sm_port_us), waits});
  return side_by_side({in_sms / ratio, dram_us - last_d_us}) + fill_us / ratio +
         std::max({store_us / ratio, last_l2_us / ratio, last_dram_us});
}

KernelEstimate KernelEstimate::without_dram() const {
  KernelEstimate result = *this;
  result.dram_us = result.written_us = result.last_d_us = result.last_dram_us = 0;
  result.reduction_dram_us = 0;
  result.serial.dram_us = 0;
  return result;
}

double least_us(const GemmKernel& kernel, const KernelTarget& target) {
  KernelEstimate times;
  set_least(kernel, target, most_ctas(kernel, target), times);
  return times.tensor_us + times.without_dram().outside_us();
}

KernelEstimate estimate(const GemmKernel& kernel, const KernelTarget& target) {
  const DeliveredBytes delivered = delivered_bytes(kernel, target);
  const GemmBytes traffic(kernel);
  const memory::MemorySpec& memory = target.memory;
  const double cycles_per_us = target.boost_clock_mhz;
  const double most = most_ctas(kernel, target);

  KernelEstimate result;
  // What a copy takes beside the load of its bytes.
  const double of_copy = kernel.executed.is_asynchronous() ? target.sm.bulk_copy_latency_cycles
                         : kernel.staged_in_registers()    ? 0
                                                           : target.sm.async_copy_latency_cycles;
  const double loaded = latency_cycles(delivered, memory);
  const double of_k_tile = wait_of_k_tile(kernel, target, most, loaded + of_copy, result);
  set_least(kernel, target, most, result);
  const double copied = copied_bytes_of_cta(kernel, traffic);
  result.shared_memory_us = most * shared_memory_cycles_of_cta(kernel, target, traffic) / cycles_per_us;
  result.issue_us = most * issue_cycles_of_cta(kernel, target) / cycles_per_us;
  const double rounds = kernel.stream_k() ? most / kernel.ctas_per_sm : std::ceil(most / kernel.ctas_per_sm);
  result.metadata_us = rounds * metadata_cycles_of_cta(kernel, target, traffic) / cycles_per_us;
  const auto stored = static_cast<double>(stored_bytes(kernel));
  const double write_work = stored * memory::MemorySpec::kL2WorkOfWrite * memory.l2_partitions;
  const double over_l2 =
      static_cast<double>(l2_read_bytes(kernel)) + write_work + crossing_bytes(delivered, kernel, memory.l2_partitions);
  result.l2_us = over_l2 / memory.l2_bytes_per_cycle / cycles_per_us;
  const double through_port =
      std::max(copied, static_cast<double>(traffic.output_tile_bytes())) / memory.sm_port_bytes_per_cycle;
  result.sm_port_us = most * through_port / cycles_per_us;
  result.dram_us = dram_bytes(delivered, kernel, memory) / dram_bytes_per_us(target);
  // The first k-tiles, as many as are under way at once, come with the fill.
  const double under_way = std::max(1, kernel.stages - 1);
  const auto k_tiles = static_cast<double>(kernel.k_tiles());
  const double waited_for =
      kernel.persistent() ? rounds * k_tiles - under_way : rounds * std::max(0.0, k_tiles - under_way);
  result.latency_us = std::max(0.0, waited_for) / under_way * of_k_tile / cycles_per_us;
  result.store_us = static_cast<double>(traffic.output_tile_bytes()) / memory.sm_port_bytes_per_cycle / cycles_per_us;
  // A CTA that is alone on its SM has nobody who multiplies while its first tiles come, of later
  // rounds mostly from the L2, and its last results leave. CTAs that share one come to their
  // epilogues together, which copies for the next ones go beside.
  const double of_epilogue = epilogue_issue_cycles(kernel, target);
  const double alone = kernel.ctas_per_sm == 1 && !kernel.persistent() ? rounds : 1;
  result.epilogue_us = (most - std::min(most, alone)) * of_epilogue / cycles_per_us;
  const double latencies = loaded + (alone - 1) * memory.l2_near_latency_cycles;
  result.fill_us =
      (kForm.first_fill * latencies + alone * (of_copy + staging_cycles(kernel, target) + of_epilogue)) / cycles_per_us;
  if (kernel.stream_k()) {
    add_partial_sums(kernel, target, result);
  }
  result.written_us = delivered.written * stored / kernel.split_k / dram_bytes_per_us(target);
  result.serial.dram_us = dram_waited_us(delivered, kernel, target);
  result.gap_us = first_copy_us(kernel, target.launch) + call_us(kernel, target.launch);
  set_last_stores(kernel, target, write_work, result);
  return result;
}

double launch_overhead_us(const GemmKernel& kernel, const KernelEstimate& form, const LaunchSpec& spec) {
  return form.outside_us() + call_us(kernel, spec);
}

}  // namespace sptc::kernels
