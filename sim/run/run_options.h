// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/power.h"
#include "sim/config/config_fwd.h"
#include "sim/config/energy.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/run/design_cost.h"
#include "sim/run/network/engine.h"
#include "sim/run/simulation_options.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace sptc::run {

/// Energy files, and what they are of, each read once.
class EnergyFiles {
 public:
  bool known(const std::string& name);
  const config::LoadedEnergy& load(const std::string& name);
  /// The GPU that the energies of `loaded` are of: the shipped one that `architecture` is, was or
  /// is derived from; else none.
  const gpu::GpuSpec* gpu_of(const config::LoadedEnergy& loaded, const config::Architecture& architecture);
  /// The factors of `loaded`, which load() returned, with `power` made of it.
  std::shared_ptr<const energy::CostFactors> factors_of(const config::LoadedEnergy& loaded,
                                                        const energy::PowerSpec& power);

 private:
  std::optional<std::vector<std::string>> names_;
  std::map<std::string, config::LoadedEnergy> loaded_;
  std::map<std::string, gpu::GpuSpec> gpus_;
  /// Factors by what was loaded (two files may call themselves alike), SMs at rest and power at
  /// rest.
  std::map<std::tuple<const config::LoadedEnergy*, int, double>, std::shared_ptr<const energy::CostFactors>> factors_;
};

/// Which energy file a run takes.
struct EnergySource {
  std::string name;        ///< empty: none
  bool inherited = false;  ///< that of the nearest GPU which the architecture is derived from
};

/// `asked`, or where that is empty the one of `architecture` or of what it is derived from.
EnergySource energy_source(const std::string& asked, const config::Architecture& architecture, EnergyFiles& files);

/// What config::load_energy() reads, and of the file of a derived architecture its energies or
/// those of what it is derived from.
config::LoadedEnergy load_energies(const std::string& name_or_path);

/// `architecture` with the arithmetic and the library that `asked` names. Throws InputError.
config::Architecture with_asked(config::Architecture architecture, const SimulationOptions& asked);

/// Whether kernels are searched on `architecture`: see SimulationOptions::kernels.
bool searches_kernels(const SimulationOptions& asked, const config::Architecture& architecture);
/// `asked`, whose kernels are searched on all of `boards` where they would be on one of them: what
/// is compared has one rule.
SimulationOptions by_one_rule(SimulationOptions asked, const std::vector<config::Architecture>& boards);

/// The engine that `asked` names, on `gpu` where that is not null; nothing where each GEMM runs by
/// itself. Throws InputError.
std::optional<network::EngineSpec> asked_engine(const SimulationOptions& asked, const gpu::GpuSpec* gpu = nullptr);

/// The clock up to which the power limit decides: that which the board holds under load where it
/// goes on for ever, the boost clock from rest, since it falls within some milliseconds.
void set_highest_clock(SimulationOptions& options);

/// `asked` with the clock, the energies and the area of `architecture`. There are none of these
/// where it has no energy file, or none that fits a derived design, and nothing asks for one.
/// Throws InputError, also for options that would do nothing.
SimulationOptions resolved(const SimulationOptions& asked, const config::Architecture& architecture,
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
