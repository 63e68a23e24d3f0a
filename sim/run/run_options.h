// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/area.h"
#include "models/energy/power.h"
#include "sim/config/architecture.h"
#include "sim/gpu/clock_policy.h"
#include "sim/network/engine.h"
#include "sim/run/energy_files.h"
#include "sim/run/simulation_options.h"

#include <optional>
#include <string>

namespace sptc::run {

/// What a caller chose, and what follows from it on an architecture.
struct RunOptions : SimulationOptions {
  gpu::ClockPolicy clock_policy;
  bool clock_limited = false;     ///< the highest clock up to that one that the power limit allows
  bool limit_over_group = false;  ///< on average over each Operation::group, not each launch
  std::optional<energy::PowerSpec> power;  ///< nothing: no energy in the report
  std::optional<energy::AreaTable> area;   ///< nothing: no area in the result
  std::string power_note;                  ///< where the energies come from, for the report
  std::optional<network::EngineSpec> network_engine;  ///< nothing: GEMMs only
  std::optional<kernels::Repetition>
      repetition;  ///< nothing: the steady state of endless repetition
};

/// Which energy file a run takes.
struct EnergySource {
  std::string name;        ///< empty: none
  bool inherited = false;  ///< that of the nearest GPU which the architecture is derived from
};

/// `asked`, or where that is empty the one of `architecture` or of what it is derived from.
EnergySource energy_source(const std::string& asked, const config::Architecture& architecture,
                           EnergyFiles& files);

/// The energies of `architecture`, or of what it is derived from. Throws InputError where it has
/// none.
config::LoadedEnergy energies_of(const config::Architecture& architecture);

/// What config::load_energy() reads, and the file of a derived architecture, whose energies_of() it
/// then returns.
config::LoadedEnergy load_energies(const std::string& name_or_path);

/// `architecture` with the arithmetic and the library that `asked` names. Throws InputError.
config::Architecture with_asked(config::Architecture architecture, const SimulationOptions& asked);

/// Whether kernels are searched on `architecture`: see SimulationOptions::kernels.
bool searches_kernels(const SimulationOptions& asked, const config::Architecture& architecture);

/// The engine that `asked` names; nothing where each GEMM runs by itself. Throws InputError.
std::optional<network::EngineSpec> asked_engine(const SimulationOptions& asked);

/// The clock up to which the power limit decides: that which the board holds under load where it
/// goes on for ever, the boost clock from rest, since it falls within some milliseconds.
void set_highest_clock(RunOptions& options);

/// `asked` with the clock, the energies and the area of `architecture`. There are none of these
/// where it has no energy file, or none that fits a derived design, and nothing asks for one.
/// Throws InputError, also for options that would do nothing.
RunOptions resolved(const SimulationOptions& asked, const config::Architecture& architecture,
                    EnergyFiles& files);

}  // namespace sptc::run
