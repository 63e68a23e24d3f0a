// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture_consistency.h"

#include "models/mma/catalogue.h"
#include "models/mma/step_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

namespace sptc::config {
namespace {

struct Section {
  io::JsonPlace place;
  ErrorList& errors;

  Section operator/(std::string_view key) const { return {place / key, errors}; }

  /// Says `problem` of the number at `key`, or of the whole object where that is "".
  template <typename... Args>
  void refuse_if(bool wrong, std::string_view key, fmt::format_string<Args...> problem, Args&&... args) const {
    if (wrong) {
      errors.refuse(key.empty() ? place : place / key, problem, std::forward<Args>(args)...);
    }
  }
};

/// Shapes that kernels can be built of, and designs that have an effect.
void check_design(const gpu::GpuSpec& gpu, const Section& file) {
  const tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
  const auto power_of_two = [&](const char* key, int value, int least) {
    file.refuse_if(!std::has_single_bit(static_cast<unsigned>(value)) || value < least, key,
                   "{} is no power of two from {} on", value, least);
  };
  power_of_two("mma_m", core.mma_m, 8);
  power_of_two("mma_n", core.mma_n, 8);
  power_of_two("mma_k_bytes", core.mma_k_bytes, 16);
  if (core.accumulator_step_bytes > 0) {
    power_of_two("accumulator_step_bytes", core.accumulator_step_bytes, 4);
  }
  file.refuse_if(core.selector_inputs > 1 && core.selector_kept > core.selector_inputs, "selector_kept",
                 "{} is more than selector_inputs, {}", core.selector_kept, core.selector_inputs);
  const bool wgmma = gpu.sm.wgmma_interval_cycles > 0;
  file.refuse_if(core.mma_design() != mma::MmaDesign() && gpu.sm.async_mma_interval_cycles() > 0, "",
                 "mma_m, mma_n and mma_k_bytes have no effect beside {}, whose shape is its own: set "
                 "{}_interval_cycles to 0 to explore them",
                 wgmma ? "wgmma" : "tcgen05.mma", wgmma ? "wgmma" : "tcgen05");
}

void check_memory(const memory::MemorySpec& memory, const Section& file) {
  file.refuse_if(memory.l2_far_latency_cycles < memory.l2_near_latency_cycles, "l2_far_latency_cycles",
                 "{} is less than l2_near_latency_cycles, {}", memory.l2_far_latency_cycles,
                 memory.l2_near_latency_cycles);
  file.refuse_if(memory.dram_refresh_ns >= memory.dram_refresh_interval_ns, "dram_refresh_ns",
                 "{} is not less than dram_refresh_interval_ns, {}", memory.dram_refresh_ns,
                 memory.dram_refresh_interval_ns);
  constexpr double kLeastRate = 0.1;  // at the highest clock that may be asked for, 0.001 bytes/cycle
  const double gb_per_s = memory.dram_bytes_per_cycle(1) / 1e3;
  file.refuse_if(memory.dram_refresh_ns < memory.dram_refresh_interval_ns && gb_per_s < kLeastRate, "dram_gb_per_s",
                 "{:.2g} GB/s are left at {} % and with refresh, less than {}", gb_per_s,
                 memory.dram_efficiency_percent, kLeastRate);
  constexpr double kLeast = 0.001;
  file.refuse_if(memory.l2_bytes_per_cycle < kLeast * memory.l2_partitions, "l2_bytes_per_cycle",
                 "{} is less than {} for each of {} partitions", memory.l2_bytes_per_cycle, kLeast,
                 memory.l2_partitions);
}

void check_sm(const sm::SmSpec& sm, const Section& file) {
  const tensor_core::TensorCoreSpec& core = sm.tensor_core;
  const auto shared_memory = sm.shared_memory.count();
  file.refuse_if(sm.max_shared_memory_per_cta > sm.shared_memory, "max_shared_memory_per_cta_bytes",
                 "{} is more than shared_memory_bytes, {}", sm.max_shared_memory_per_cta.count(), shared_memory);
  file.refuse_if(sm.max_warps % sm.sub_partitions != 0, "max_warps", "{} is no multiple of sub_partitions, {}",
                 sm.max_warps, sm.sub_partitions);
  const Section tensor = file / "tensor_core";
  tensor.refuse_if(core.dot_units % core.f32_dot_units != 0, "f32_dot_units", "{} does not divide dot_units, {}",
                   core.f32_dot_units, core.dot_units);
  tensor.refuse_if(core.integer_dot_units > 0 && core.dot_units % core.integer_dot_units != 0, "integer_dot_units",
                   "{} does not divide dot_units, {}", core.integer_dot_units, core.dot_units);
  const auto needs_two_cycles = [](const Section& where, const char* key, int cycles) {
    where.refuse_if(cycles < 2, key, "{} is less than 2: the request alone takes a cycle", cycles);
  };
  needs_two_cycles(file, "shared_memory_latency_cycles", sm.shared_memory_latency_cycles);
  needs_two_cycles(file, "barrier_latency_cycles", sm.barrier_latency_cycles);
  file.refuse_if(sm.l1_latency_cycles < 3, "l1_latency_cycles",
                 "{} is less than 3: request, look-up and answer take a cycle each", sm.l1_latency_cycles);
  file.refuse_if(sm.l1_and_shared_memory > base::Bytes() && sm.l1_and_shared_memory < sm.shared_memory,
                 "l1_and_shared_memory_bytes", "{} is less than shared_memory_bytes, {}",
                 sm.l1_and_shared_memory.count(), shared_memory);
  file.refuse_if(sm.wgmma_interval_cycles > 0 && sm.tcgen05_interval_cycles > 0, "tcgen05_interval_cycles",
                 "an SM has wgmma or tcgen05.mma, not both");
  needs_two_cycles(file / "tensor_core", "operand_fetch_latency_cycles", core.operand_fetch_latency_cycles);
  constexpr std::array kOfPtx{0, 4, 8, 16};
  const int bytes = sm.async_copy_bytes;
  file.refuse_if(std::find(kOfPtx.begin(), kOfPtx.end(), bytes) == kOfPtx.end(), "async_copy_bytes",
                 "cp.async copies 4, 8 or 16 bytes, not {}; 0: there is none", bytes);
}

bool has_family(const mma::Target& target, mma::MmaFamily family) {
  const auto entries = mma::instructions(target);
  return std::any_of(entries.begin(), entries.end(),
                     [&](const mma::CatalogueEntry& entry) { return entry.instruction.family == family; });
}

/// Instructions of warpgroups are not taken from one generation to another one.
void check_instruction_set(const gpu::GpuSpec& gpu, const Section& file) {
  const mma::Target& target = mma::find_target(gpu.instruction_set);
  for (const auto& [key, family] : {std::pair("wgmma_interval_cycles", mma::MmaFamily::kWgmma),
                                    std::pair("tcgen05_interval_cycles", mma::MmaFamily::kTcgen05)}) {
    file.refuse_if(gpu.sm.has(family) && !has_family(target, family), key, "must be 0: {} has no {}", target.name,
                   mma::name(family));
  }
}

}  // namespace

void check_consistency(const gpu::GpuSpec& gpu, const io::JsonPlace& root, ErrorList& errors) {
  const Section file{root, errors};
  check_sm(gpu.sm, file / "sm");
  check_instruction_set(gpu, file / "sm");
  check_design(gpu, file / "sm" / "tensor_core");
  check_memory(gpu.memory, file / "memory");
  (file / "kernels")
      .refuse_if(gpu.launch.cluster_ctas > 1 && gpu.sm.async_mma_interval_cycles() == 0, "cluster_ctas",
                 "has no effect without wgmma or tcgen05: kernels of mma.sync have no clusters");
}

}  // namespace sptc::config
