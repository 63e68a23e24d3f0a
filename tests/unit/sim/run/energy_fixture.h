// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/run/energy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

namespace sptc::run {

inline workload::Operation layer() {
  workload::Operation op;
  op.name = "layer";
  op.shape = {128, 128, 64};
  op.prunable = true;
  return op;
}

/// One launch of layer() as a simulator would report it: m16n8k16 (k32 sparse), 2 us at 1000 MHz.
inline VariantResult figures(bool sparse = false) {
  VariantResult result;
  result.kernel.instruction = mma::gemm_instruction(numerics::DataType::kF16, sparse);
  result.kernel.metadata_registers = sparse ? 1 : 0;
  result.timing.executed_share = sparse ? 0.5 : 1;
  result.timing.cycles = 2000;
  result.timing.time_us = 2;
  result.timing.clock_mhz = 1000;
  result.timing.clock_scaling.form.tensor_us = 2;  // all of it follows the clock
  result.timing.clock_scaling.boost_clock_mhz = 1000;
  result.timing.tflops = 1;
  result.timing.utilization = 0.5;
  result.traffic.memory = {{20000, 12000, 8000, 4000}, 65536, 32768};
  result.timing.budget.cycles = 2000;
  result.timing.budget.tensor = 1600;
  result.timing.budget.tensor_mean = 800;
  result.timing.budget.dram = 1000;
  return result;
}

inline energy::PowerSpec a100() {
  return config::power_spec(config::load_energy("a100-sxm4-80gb").config,
                            config::load_architecture("a100-sxm4-80gb").gpu);
}

/// A launch whose energies are asked for at the clock that it has.
inline VariantResult never(double clock_mhz) {
  ADD_FAILURE() << "simulated again at " << clock_mhz << " MHz";
  return {};
}

/// `at_boost` as a simulator would report it at another clock: half of its cycles follow the clock,
/// the others are DRAM, which keeps its own time.
inline VariantResult half_at(const VariantResult& at_boost, double clock_mhz) {
  VariantResult result = at_boost;
  result.timing.cycles = std::llround(1000 + clock_mhz);
  result.timing.clock_mhz = clock_mhz;
  result.timing.time_us = static_cast<double>(result.timing.cycles) / clock_mhz + result.timing.launch_us;
  result.timing.tflops = 2 / result.timing.time_us;
  result.timing.budget.cycles = static_cast<double>(result.timing.cycles);
  return result;
}

/// What half_at() takes at 800 MHz, which is no step of the clock.
inline double watts_at_800_mhz() {
  VariantResult result = half_at(figures(), 800);
  add_energy(layer(), false, a100(), {}, SimulationOptions{}, never, result);
  return result.energy->power_w;
}

inline double part(const EnergyResult& energy, std::string_view name) {
  for (const auto& [known, uj] : energy.parts_uj) {
    if (known == name) {
      return uj;
    }
  }
  ADD_FAILURE() << "no part " << name;
  return 0;
}

}  // namespace sptc::run
