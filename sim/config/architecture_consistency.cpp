// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture_consistency.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "models/mma/step_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace sptc::config {
namespace {

/// Shapes that kernels can be built of, and designs that have an effect.
void check_design(const gpu::GpuSpec& gpu, const io::JsonPlace& place, ErrorList& errors) {
  const tensor_core::TensorCoreSpec& core = gpu.sm.tensor_core;
  const auto power_of_two = [&](const char* key, int value, int least) {
    errors.collect([&] {
      if (!std::has_single_bit(static_cast<unsigned>(value)) || value < least) {
        (place / key).fail(fmt::format("{} is no power of two from {} on", value, least));
      }
    });
  };
  power_of_two("mma_m", core.mma_m, 8);
  power_of_two("mma_n", core.mma_n, 8);
  power_of_two("mma_k_bytes", core.mma_k_bytes, 16);
  if (core.accumulator_step_bytes > 0) {
    power_of_two("accumulator_step_bytes", core.accumulator_step_bytes, 4);
  }
  errors.collect([&] {
    // One input is no selector, and there is nothing to keep.
    if (core.selector_inputs > 1 && core.selector_kept > core.selector_inputs) {
      (place / "selector_kept")
          .fail(fmt::format("{} is more than selector_inputs, {}", core.selector_kept,
                            core.selector_inputs));
    }
  });
  errors.collect([&] {
    if (core.mma_design() != mma::MmaDesign() && gpu.sm.async_mma_interval_cycles() > 0) {
      const bool wgmma = gpu.sm.wgmma_interval_cycles > 0;
      place.fail(fmt::format(
          "mma_m, mma_n and mma_k_bytes have no effect beside {}, whose shape is its own: set "
          "{}_interval_cycles to 0 to explore them",
          wgmma ? "wgmma" : "tcgen05.mma", wgmma ? "wgmma" : "tcgen05"));
    }
  });
}

void check_kernels(const gpu::GpuSpec& gpu, const io::JsonPlace& place, ErrorList& errors) {
  errors.collect([&] {
    if (gpu.launch.cluster_ctas > 1 && gpu.sm.async_mma_interval_cycles() == 0) {
      (place / "cluster_ctas")
          .fail("has no effect without wgmma or tcgen05: kernels of mma.sync have no clusters");
    }
  });
}

void check_memory(const memory::MemorySpec& memory, const io::JsonPlace& place, ErrorList& errors) {
  errors.collect([&] {
    if (memory.l2_far_latency_cycles < memory.l2_near_latency_cycles) {
      (place / "l2_far_latency_cycles")
          .fail(fmt::format("{} is less than l2_near_latency_cycles, {}",
                            memory.l2_far_latency_cycles, memory.l2_near_latency_cycles));
    }
  });
  errors.collect([&] {
    if (memory.dram_refresh_ns >= memory.dram_refresh_interval_ns) {
      (place / "dram_refresh_ns")
          .fail(fmt::format("{} is not less than dram_refresh_interval_ns, {}",
                            memory.dram_refresh_ns, memory.dram_refresh_interval_ns));
    }
  });
  errors.collect([&] {
    constexpr double kLeast = 0.1;  // at the highest clock that may be asked for, 0.001 bytes/cycle
    const double gb_per_s = memory.dram_bytes_per_cycle(1) / 1e3;
    if (memory.dram_refresh_ns < memory.dram_refresh_interval_ns && gb_per_s < kLeast) {
      (place / "dram_gb_per_s")
          .fail(fmt::format("{:.2g} GB/s are left at {} % and with refresh, less than {}", gb_per_s,
                            memory.dram_efficiency_percent, kLeast));
    }
  });
  errors.collect([&] {
    constexpr double kLeast = 0.001;
    if (memory.l2_bytes_per_cycle < kLeast * memory.l2_partitions) {
      (place / "l2_bytes_per_cycle")
          .fail(fmt::format("{} is less than {} for each of {} partitions",
                            memory.l2_bytes_per_cycle, kLeast, memory.l2_partitions));
    }
  });
}

void check_sm(const sm::SmSpec& sm, const io::JsonPlace& place, ErrorList& errors) {
  errors.collect([&] {
    if (sm.max_shared_memory_per_cta > sm.shared_memory) {
      (place / "max_shared_memory_per_cta_bytes")
          .fail(fmt::format("{} is more than shared_memory_bytes, {}",
                            sm.max_shared_memory_per_cta.count(), sm.shared_memory.count()));
    }
  });
  errors.collect([&] {
    if (sm.max_warps % sm.sub_partitions != 0) {
      (place / "max_warps")
          .fail(fmt::format("{} is no multiple of sub_partitions, {}", sm.max_warps,
                            sm.sub_partitions));
    }
  });
  const tensor_core::TensorCoreSpec& core = sm.tensor_core;
  errors.collect([&] {
    if (core.dot_units % core.f32_dot_units != 0) {
      (place / "tensor_core" / "f32_dot_units")
          .fail(
              fmt::format("{} does not divide dot_units, {}", core.f32_dot_units, core.dot_units));
    }
  });
  const auto needs_two_cycles = [&](const io::JsonPlace& where, int cycles) {
    errors.collect([&] {
      if (cycles < 2) {
        where.fail(fmt::format("{} is less than 2: the request alone takes a cycle", cycles));
      }
    });
  };
  needs_two_cycles(place / "shared_memory_latency_cycles", sm.shared_memory_latency_cycles);
  needs_two_cycles(place / "barrier_latency_cycles", sm.barrier_latency_cycles);
  errors.collect([&] {
    if (sm.l1_latency_cycles < 3) {
      (place / "l1_latency_cycles")
          .fail(fmt::format("{} is less than 3: request, look-up and answer take a cycle each",
                            sm.l1_latency_cycles));
    }
  });
  errors.collect([&] {
    if (sm.l1_and_shared_memory > base::Bytes() && sm.l1_and_shared_memory < sm.shared_memory) {
      (place / "l1_and_shared_memory_bytes")
          .fail(fmt::format("{} is less than shared_memory_bytes, {}",
                            sm.l1_and_shared_memory.count(), sm.shared_memory.count()));
    }
  });
  errors.collect([&] {
    if (sm.wgmma_interval_cycles > 0 && sm.tcgen05_interval_cycles > 0) {
      (place / "tcgen05_interval_cycles").fail("an SM has wgmma or tcgen05.mma, not both");
    }
  });
  needs_two_cycles(place / "tensor_core" / "operand_fetch_latency_cycles",
                   sm.tensor_core.operand_fetch_latency_cycles);
}

void check_async_copies(const sm::SmSpec& sm, const io::JsonPlace& place, ErrorList& errors) {
  errors.collect([&] {
    constexpr std::array kOfPtx{4, 8, 16};
    const int bytes = sm.async_copy_bytes;
    if (bytes != 0 && std::find(kOfPtx.begin(), kOfPtx.end(), bytes) == kOfPtx.end()) {
      (place / "async_copy_bytes")
          .fail(fmt::format("cp.async copies 4, 8 or 16 bytes, not {}; 0: there is none", bytes));
    }
  });
}

bool has_family(const mma::Target& target, mma::MmaFamily family) {
  const auto entries = mma::instructions(target);
  return std::any_of(entries.begin(), entries.end(), [&](const mma::CatalogueEntry& entry) {
    return entry.instruction.family == family;
  });
}

/// Instructions of warpgroups are not taken from one generation to another one.
void check_instruction_set(const gpu::GpuSpec& gpu, const io::JsonPlace& place, ErrorList& errors) {
  const mma::Target& target = mma::find_target(gpu.instruction_set);
  for (const auto& [key, family] :
       {std::pair("wgmma_interval_cycles", mma::MmaFamily::kWgmma),
        std::pair("tcgen05_interval_cycles", mma::MmaFamily::kTcgen05)}) {
    errors.collect([&, key = key, family = family] {
      if (gpu.sm.has(family) && !has_family(target, family)) {
        (place / key).fail(fmt::format("must be 0: {} has no {}", target.name, mma::name(family)));
      }
    });
  }
}

}  // namespace

void check_consistency(const gpu::GpuSpec& gpu, const io::JsonPlace& root, ErrorList& errors) {
  check_sm(gpu.sm, root / "sm", errors);
  check_async_copies(gpu.sm, root / "sm", errors);
  check_instruction_set(gpu, root / "sm", errors);
  check_design(gpu, root / "sm" / "tensor_core", errors);
  check_memory(gpu.memory, root / "memory", errors);
  check_kernels(gpu, root / "kernels", errors);
}

}  // namespace sptc::config
