// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/area.h"
#include "models/energy/power.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/gpu/clock_policy.h"
#include "sim/network/engine.h"
#include "sim/run/design_cost.h"
#include "sim/run/simulation_options.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

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

  bool runs_whole_network() const { return network_engine && !network_engine->gemms_only; }
};

/// Energy files, and what they are of, each read once.
class EnergyFiles {
 public:
  bool known(const std::string& name);
  /// Throws InputError as load_energy() does.
  const config::LoadedEnergy& load(const std::string& name);
  /// The GPU that the energies of `loaded` are of: the shipped one that `architecture` is, was or
  /// is derived from; else none.
  const gpu::GpuSpec* gpu_of(const config::LoadedEnergy& loaded,
                             const config::Architecture& architecture);
  /// The factors of `loaded`, which load() returned, with `power` made of it.
  std::shared_ptr<const energy::CostFactors> factors_of(const config::LoadedEnergy& loaded,
                                                        const energy::PowerSpec& power);

 private:
  std::optional<std::vector<std::string>> names_;
  std::map<std::string, config::LoadedEnergy> loaded_;
  std::map<std::string, gpu::GpuSpec> gpus_;
  /// By what was loaded (two files may call themselves alike), SMs at rest and power at rest.
  std::map<std::tuple<const config::LoadedEnergy*, int, double>,
           std::shared_ptr<const energy::CostFactors>>
      factors_;
};

/// Which energy file a run takes.
struct EnergySource {
  std::string name;        ///< empty: none
  bool inherited = false;  ///< that of the nearest GPU which the architecture is derived from
};

/// `asked`, or where that is empty the one of `architecture` or of what it is derived from.
EnergySource energy_source(const std::string& asked, const config::Architecture& architecture,
                           EnergyFiles& files);

/// What config::load_energy() reads, and of the file of a derived architecture its energies or
/// those of what it is derived from.
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

/// The silicon of an architecture, and how far the numbers of its energy file leave it open.
struct AreaEstimate {
  std::string arch;
  int node_nm = 0;
  int selector_kept = 0, selector_inputs = 0;  ///< 2 and 4 of 2:4
  std::int64_t sms = 0;
  std::int64_t tensor_cores = 0;  ///< of the whole GPU
  std::int64_t multipliers = 0;   ///< f16, of one tensor core
  GpuArea usual;
  GpuArea low, high;  ///< with every number at that end of its range
};

/// Throws InputError where `architecture` has no energies.
AreaEstimate estimate_area(const config::Architecture& architecture);

}  // namespace sptc::run
