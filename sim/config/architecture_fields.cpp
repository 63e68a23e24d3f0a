// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture_fields.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace sptc::config {
namespace {

constexpr std::string_view kGpu;
constexpr std::string_view kSm = "/sm";
constexpr std::string_view kTensorCore = "/sm/tensor_core";
constexpr std::string_view kMemory = "/memory";
constexpr std::string_view kKernels = "/kernels";

// Limits keep a slip of the keyboard from asking for the memory of a million SMs.
constexpr double kMaxCount = 1 << 20;
constexpr double kMaxUnits = 4096;
constexpr double kMaxBytes = 1 << 30;
constexpr double kMaxCapacity = 1LL << 50;
constexpr double kMaxCycles = 1 << 20;
// Near and far: what a third side would cost, neither the memory nor the closed form says.
constexpr double kMaxPartitions = 2;

template <typename Value>
Value convert(double value) {
  if constexpr (std::is_same_v<Value, base::Bytes>) {
    return base::Bytes(static_cast<std::int64_t>(value));
  } else {
    return static_cast<Value>(value);
  }
}

template <typename Spec, typename Value>
void set(gpu::GpuSpec& whole, Value Spec::*member, double value) {
  const auto parts = std::tie(whole, whole.sm, whole.sm.tensor_core, whole.memory, whole.launch);
  std::get<Spec&>(parts).*member = convert<Value>(value);
}

template <auto Member>
void store(gpu::GpuSpec& gpu, double value) {
  set(gpu, Member, value);
}

using Field = ArchitectureField;
using Gpu = gpu::GpuSpec;
using Sm = sm::SmSpec;
using Tc = tensor_core::TensorCoreSpec;
using Mem = memory::MemorySpec;
using Launch = kernels::LaunchSpec;

constexpr std::array kFields = {
    Field{kGpu, "sms", true, kMaxUnits, "streaming multiprocessors", store<&Gpu::sms>},
    Field{kGpu, "boost_clock_mhz", false, 1e5, "SM clock under boost", store<&Gpu::boost_clock_mhz>},

    Field{kSm, "sub_partitions", true, 64, "sub-partitions of an SM, one scheduler and one tensor core each",
          store<&Sm::sub_partitions>},
    Field{kSm, "max_warps", true, kMaxUnits, "resident warps of an SM", store<&Sm::max_warps>},
    Field{kSm, "max_ctas", true, kMaxUnits, "resident CTAs of an SM", store<&Sm::max_ctas>},
    Field{kSm, "registers", true, kMaxBytes, "32-bit registers of an SM", store<&Sm::registers>},
    Field{kSm, "shared_memory_bytes", true, kMaxBytes, "shared memory of an SM that CTAs can use",
          store<&Sm::shared_memory>},
    Field{kSm, "max_shared_memory_per_cta_bytes", true, kMaxBytes, "shared memory that one CTA can use",
          store<&Sm::max_shared_memory_per_cta>},
    Field{kSm, "max_registers_per_thread", true, kMaxCount, "registers of one thread",
          store<&Sm::max_registers_per_thread>},
    Field{kSm, "reserved_shared_memory_per_cta_bytes", true, kMaxBytes,
          "shared memory that the system keeps for each CTA", store<&Sm::reserved_shared_memory_per_cta>, true},
    Field{kSm, "shared_memory_allocation_bytes", true, kMaxBytes, "unit in which shared memory is given to CTAs",
          store<&Sm::shared_memory_allocation_unit>},
    Field{kSm, "issue_per_cycle", true, 64, "warp instructions that a sub-partition issues in a cycle",
          store<&Sm::issue_per_cycle>},
    Field{kSm, "barrier_latency_cycles", true, kMaxCycles, "CTA barrier, last arrival to release",
          store<&Sm::barrier_latency_cycles>},
    Field{kSm, "shared_memory_banks", true, 1024, "banks of shared memory", store<&Sm::shared_memory_banks>},
    Field{kSm, "shared_memory_bank_bytes_per_cycle", true, 1024, "width of a bank of shared memory",
          store<&Sm::shared_memory_bank_bytes_per_cycle>},
    Field{kSm, "shared_memory_latency_cycles", true, kMaxCycles,
          "load from shared memory, issue to use, without its wavefronts", store<&Sm::shared_memory_latency_cycles>},
    Field{kSm, "shared_memory_wavefront_cycles", true, kMaxCycles,
          "between wavefronts of the loads of one sub-partition", store<&Sm::shared_memory_wavefront_cycles>},
    Field{kSm, "l1_and_shared_memory_bytes", true, kMaxBytes,
          "array that L1 and shared memory of an SM divide; 0: no L1", store<&Sm::l1_and_shared_memory>, true},
    Field{kSm, "l1_latency_cycles", true, kMaxCycles, "load of one wavefront that hits the L1, issue to use",
          store<&Sm::l1_latency_cycles>},
    Field{kSm, "async_copy_bytes", true, 16,
          "most that a thread copies to shared memory with one cp.async; 0: none, GEMM kernels copy through registers",
          store<&Sm::async_copy_bytes>, true},
    Field{kSm, "async_copy_latency_cycles", true, kMaxCycles,
          "cp.async beside the load of its bytes, issue to the end of the wait", store<&Sm::async_copy_latency_cycles>,
          true},
    Field{kSm, "bulk_copy_latency_cycles", true, kMaxCycles,
          "copy of TMA beside the load of its bytes, issue to the end of the wait",
          store<&Sm::bulk_copy_latency_cycles>, true},
    Field{kSm, "bulk_fill_bytes_per_cycle", true, kMaxCount,
          "what TMA writes to shared memory while its banks serve nobody else; 0: nobody waits for it",
          store<&Sm::bulk_fill_bytes_per_cycle>, true},
    Field{kSm, "bulk_edge_elements_per_cycle", true, kMaxCount,
          "what TMA fills of a box that the edge of a matrix cuts; 0: in no time",
          store<&Sm::bulk_edge_elements_per_cycle>, true},
    Field{kSm, "wgmma_interval_cycles", true, kMaxCycles, "least time between wgmma instructions of an SM; 0: no wgmma",
          store<&Sm::wgmma_interval_cycles>, true},
    Field{kSm, "tcgen05_interval_cycles", true, kMaxCycles,
          "least time between tcgen05.mma instructions of an SM; 0: no tcgen05", store<&Sm::tcgen05_interval_cycles>,
          true},
    Field{kSm, "tcgen05_latency_cycles", true, kMaxCycles,
          "a tcgen05.mma alone beside its arithmetic and the way of A; 0: not known",
          store<&Sm::tcgen05_latency_cycles>, true},
    Field{kSm, "tcgen05_pair_latency_cycles", true, kMaxCycles, "what a tcgen05.mma of two SMs takes longer",
          store<&Sm::tcgen05_pair_latency_cycles>, true},

    Field{kTensorCore, "dot_units", true, kMaxUnits,
          "dot products that advance in a cycle; selector_bytes_per_cycle feeds them", store<&Tc::dot_units>},
    Field{kTensorCore, "dot_width_bytes", true, kMaxUnits,
          "bytes of operand A that one dot product takes in a cycle: at least an f16", store<&Tc::dot_width_bytes>,
          false, 2},
    Field{kTensorCore, "f32_dot_units", true, kMaxUnits, "dot products with an f32 accumulator that advance in a cycle",
          store<&Tc::f32_dot_units>},
    Field{kTensorCore, "integer_dot_units", true, kMaxUnits, "dot products of integers that advance in a cycle; 0: all",
          store<&Tc::integer_dot_units>, true},
    Field{kTensorCore, "rows_per_pass", true, 128,
          "rows of D that the dot products are wired for: fewer leave the rest idle", store<&Tc::rows_per_pass>},
    Field{kTensorCore, "f64_multipliers", true, kMaxUnits, "f64 multiply-accumulates per cycle; 0: no f64 instruction",
          store<&Tc::f64_multipliers>, true},
    Field{kTensorCore, "operand_a_port_bytes_per_cycle", false, kMaxCount, "register-file port of operand A",
          store<&Tc::operand_a_port_bytes_per_cycle>},
    Field{kTensorCore, "operand_b_port_bytes_per_cycle", false, kMaxCount, "register-file port of operand B",
          store<&Tc::operand_b_port_bytes_per_cycle>},
    Field{kTensorCore, "accumulator_port_bytes_per_cycle", false, kMaxCount, "register-file port of the accumulator",
          store<&Tc::accumulator_port_bytes_per_cycle>},
    Field{kTensorCore, "metadata_port_bytes_per_cycle", false, kMaxCount, "register-file port of the sparsity metadata",
          store<&Tc::metadata_port_bytes_per_cycle>},
    Field{kTensorCore, "register_banks", true, 64, "banks of the register file of a sub-partition, by register number",
          store<&Tc::register_banks>},
    Field{kTensorCore, "register_bank_bytes_per_cycle", false, kMaxCount, "what one bank delivers to the operand ports",
          store<&Tc::register_bank_bytes_per_cycle>},
    Field{kTensorCore, "reuse_registers", true, 16,
          "registers of A, and of B, that are kept for the warp's next instruction", store<&Tc::reuse_registers>, true},
    Field{kTensorCore, "selector_bytes_per_cycle", false, kMaxCount,
          "bytes of operand B that the selector hands to the multipliers, also for dense instructions: at least "
          "dot_units x dot_width_bytes for the peak rate",
          store<&Tc::selector_bytes_per_cycle>},
    Field{kTensorCore, "selector_inputs", true, 64, "candidates of one multiplier: M of the widest N:M pattern",
          store<&Tc::selector_inputs>},
    Field{kTensorCore, "selector_kept", true, 64,
          "multipliers that share the candidates: N of the sparsest N:M pattern", store<&Tc::selector_kept>},
    Field{kTensorCore, "mma_m", true, 128, "rows of D of an mma instruction", store<&Tc::mma_m>},
    Field{kTensorCore, "mma_n", true, 128, "columns of D of an mma instruction", store<&Tc::mma_n>},
    Field{kTensorCore, "mma_k_bytes", true, 256, "bytes of A per row of an mma instruction: its depth",
          store<&Tc::mma_k_bytes>},
    Field{kTensorCore, "accumulator_fraction_bits", true, 28,
          "F, to which addends are cut at the largest exponent; 0: the numerics'",
          store<&Tc::accumulator_fraction_bits>, true},
    Field{kTensorCore, "accumulator_step_bytes", true, 64,
          "bytes of A whose products one rounding step adds; 0: the numerics'", store<&Tc::accumulator_step_bytes>,
          true},
    Field{kTensorCore, "operand_fetch_latency_cycles", true, kMaxCycles, "depth of operand fetch",
          store<&Tc::operand_fetch_latency_cycles>},
    Field{kTensorCore, "selector_latency_cycles", true, kMaxCycles, "depth of the selector",
          store<&Tc::selector_latency_cycles>},
    Field{kTensorCore, "multiply_latency_cycles", true, kMaxCycles, "depth of multiply and maximum exponent",
          store<&Tc::multiply_latency_cycles>},
    Field{kTensorCore, "align_add_latency_cycles", true, kMaxCycles, "depth of align, truncate and sum",
          store<&Tc::align_add_latency_cycles>},
    Field{kTensorCore, "round_latency_cycles", true, kMaxCycles, "depth of normalise and round",
          store<&Tc::round_latency_cycles>},
    Field{kTensorCore, "write_back_latency_cycles", true, kMaxCycles, "depth of write-back",
          store<&Tc::write_back_latency_cycles>},
    Field{kTensorCore, "same_warp_gap_cycles", true, kMaxCycles,
          "wait of a warp with its next instruction after the tensor core could take one",
          store<&Tc::same_warp_gap_cycles>, true},
    Field{kTensorCore, "selector_change_cycles", true, kMaxCycles,
          "wait for metadata of another selector than the warp's mma.sp before", store<&Tc::selector_change_cycles>,
          true},
    Field{kTensorCore, "sub_byte_extra_cycles", true, kMaxCycles,
          "cycles that an instruction on 4-bit or 1-bit elements takes longer", store<&Tc::sub_byte_extra_cycles>,
          true},
    Field{kTensorCore, "integer_interval_cycles", true, kMaxCycles,
          "least time from one instruction on integers to the next; 0: that of its arithmetic",
          store<&Tc::integer_interval_cycles>, true},
    Field{kTensorCore, "metadata_sorting_cycles", true, kMaxCycles,
          "of a sub-partition for each plain mma.sp of f16 and 8-bit integers; 0: nothing sorts",
          store<&Tc::metadata_sorting_cycles>, true},
    Field{kTensorCore, "instruction_window", true, kMaxUnits, "instructions inside the tensor core at once",
          store<&Tc::instruction_window>},

    Field{kMemory, "sm_port_bytes_per_cycle", false, kMaxCount, "from the L2 into one SM, and back",
          store<&Mem::sm_port_bytes_per_cycle>},
    Field{kMemory, "l2_partitions", true, kMaxPartitions,
          "partitions of the L2, each of which serves its part of the SMs", store<&Mem::l2_partitions>},
    Field{kMemory, "l2_capacity_bytes", true, kMaxBytes, "L2 of all partitions", store<&Mem::l2_capacity>},
    Field{kMemory, "l2_bytes_per_cycle", false, kMaxCount, "what the L2 of all partitions delivers",
          store<&Mem::l2_bytes_per_cycle>},
    Field{kMemory, "l2_near_latency_cycles", true, kMaxCycles, "L2 hit in the SM's own partition, load to use",
          store<&Mem::l2_near_latency_cycles>},
    Field{kMemory, "l2_far_latency_cycles", true, kMaxCycles, "L2 hit in the other partition, load to use",
          store<&Mem::l2_far_latency_cycles>},
    Field{kMemory, "dram_capacity_bytes", true, kMaxCapacity, "what DRAM holds; 0: not known",
          store<&Mem::dram_capacity>, true},
    Field{kMemory, "dram_gb_per_s", false, kMaxCount, "DRAM pins, 1e9 bytes per second", store<&Mem::dram_gb_per_s>},
    Field{kMemory, "dram_efficiency_percent", false, 100,
          "share of the pins' rate that row misses and turnarounds leave", store<&Mem::dram_efficiency_percent>},
    Field{kMemory, "dram_refresh_ns", false, 1e6, "for which a refresh blocks a bank", store<&Mem::dram_refresh_ns>},
    Field{kMemory, "dram_refresh_interval_ns", false, 1e6, "between two refreshes of a bank",
          store<&Mem::dram_refresh_interval_ns>},
    Field{kMemory, "dram_access_latency_cycles", true, kMaxCycles,
          "what an L2 miss takes longer than a hit in the partition that asks DRAM",
          store<&Mem::dram_access_latency_cycles>},

    Field{kKernels, "launch_us", false, 1e6, "a kernel launch, beside the time that its CTAs run",
          store<&Launch::launch_us>, true},
    Field{kKernels, "sparse_launch_us", false, 1e6, "what a 2:4 kernel of wgmma.sp takes longer until its first copy",
          store<&Launch::sparse_launch_us>, true},
    Field{kKernels, "stream_us", false, 1e6, "what a launch into a stream takes longer than one of a graph",
          store<&Launch::stream_us>, true},
    Field{kKernels, "sparse_stream_us", false, 1e6, "the same of a 2:4 kernel", store<&Launch::sparse_stream_us>, true},
    Field{kKernels, "reduction_launch_us", false, 1e6, "launch of the kernel that sums the slices of split-K",
          store<&Launch::reduction_launch_us>, true},
    Field{kKernels, "cluster_ctas", true, 16,
          "CTAs of a cluster of wgmma or tcgen05 kernels, which copy common tiles once (TMA multicast); 1: each for "
          "itself",
          store<&Launch::cluster_ctas>},
};

}  // namespace

std::span<const ArchitectureField> architecture_fields() {
  return kFields;
}

const ArchitectureField* find_architecture_field(std::string_view pointer) {
  const auto found = std::ranges::find_if(kFields, [&](const Field& field) {
    return pointer.size() == field.section.size() + 1 + field.key.size() && pointer.starts_with(field.section) &&
           pointer[field.section.size()] == '/' && pointer.ends_with(field.key);
  });
  return found == kFields.end() ? nullptr : &*found;
}

std::string_view unit_of(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> kUnits[] = {{"_bytes_per_cycle", "bytes/cycle"},
                                                                      {"_cycles", "cycles"},
                                                                      {"_bytes", "bytes"},
                                                                      {"_mhz", "MHz"},
                                                                      {"_gb_per_s", "GB/s"},
                                                                      {"_percent", "%"},
                                                                      {"_ns", "ns"}};
  for (const auto& [ending, unit] : kUnits) {
    if (key.ends_with(ending)) {
      return unit;
    }
  }
  return "";
}

}  // namespace sptc::config
