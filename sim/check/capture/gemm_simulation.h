// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/capture/capture.h"
#include "sim/config/config_fwd.h"
#include "sim/run/run_options.h"

#include <optional>
#include <string>
#include <vector>

namespace sptc::check::capture {

/// What the simulator says about one row of power.json, or of gemm.json: of that the time alone.
struct PowerFigures {
  /// Time at the clock that the row was measured at; without one, at the clock below, or the boost clock.
  std::optional<double> time_us;
  /// The same, over the measured time where clock and time were measured: an error of the simulated time is none of the
  /// energies.
  std::optional<double> power_w;
  /// The highest clock that the power limit of the capture allows, else that of the energy file, to a launch that takes
  /// the measured cycles.
  std::optional<double> clock_mhz;
  std::string reason = {};  ///< why there are none, or no power and clock
};

struct GemmSimulation {
  std::vector<PowerFigures> times;   ///< of every row of gemm.json
  std::vector<PowerFigures> powers;  ///< of every row of power.json
};

/// Tiles, stages and registers of the own GEMM kernels of the kit (tests/hardware/cuda/gemm_tile.h).
kernels::KernelOverrides own_kernel(numerics::DataType type, bool sparse);

/// Simulates the GEMMs of `capture` on `architecture`: with tile and stages of the own kernels where they ran, else
/// with the kernel that the library of the architecture takes. The board idles as in the capture.
GemmSimulation simulate_gemms(const config::Architecture& architecture, const Capture& capture, run::Fidelity fidelity);

}  // namespace sptc::check::capture
