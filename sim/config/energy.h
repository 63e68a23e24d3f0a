// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/area.h"
#include "models/energy/power.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::gpu {
struct GpuSpec;
}  // namespace sptc::gpu
namespace sptc::tensor_core {
struct TensorCoreSpec;
}  // namespace sptc::tensor_core

namespace sptc::config {

/// A validated energy file: what a chip's events, static power, clock and area are worth.
struct EnergyConfig {
  std::string name;
  int node_nm = 0;
  energy::PowerSpec power;  ///< without SMs and boost clock: those are the architecture's
  energy::AreaTable area;
  double floor_clock_mhz = 0;  ///< up to here the supply stays at its floor
  double floor_supply_v = 0;
  double boost_supply_v = 0;  ///< at the boost clock
};

/// One number of an energy file and why we believe it.
struct EnergyParameter {
  std::string pointer;       ///< JSON pointer in the file: "/events/multiply_pj/f16"
  double value = 0;          ///< as in the file, at `node_nm`
  double low = 0, high = 0;  ///< where the truth may lie; both equal `value` where nobody says
  int node_nm = 0;           ///< 0: not a matter of the process
  double scale = 1;          ///< from `node_nm` to the node of the file
  std::string evidence;      ///< measured, cited, derived or assumed
  std::string source;
  std::function<void(EnergyConfig&, double)> store;  ///< takes `value` * `scale`
};

struct LoadedEnergy {
  EnergyConfig config;
  /// Name of the file that states the power limit: this one, as all shipped ones, or a base of it.
  std::string limit_of;
  std::vector<EnergyParameter> parameters;  ///< in the order of the fields

  /// The area table with every number at the low or at the high end of its range, the factor
  /// between nodes included.
  energy::AreaTable area_at(double EnergyParameter::*end) const;
};

/// Reads `name_or_path`: the name of a file in energy/ or energy/mig/ of the configuration
/// directory, or a path (it contains '/' or ends in ".json"). A file with "base" changes another
/// one, as architecture files do (derivation.h). Throws one InputError with every problem of the
/// file.
LoadedEnergy load_energy(const std::string& name_or_path);

/// The same from text; `file` is for messages.
LoadedEnergy parse_energy(std::string_view text, const std::string& file);

/// Names that load_energy() knows: whole chips sorted, then MIG slices sorted.
std::vector<std::string> energy_names();

/// The spec of a chip: SMs, boost clock and width of the dot products are the architecture's.
/// `of`: the GPU that `config` is of; none: `gpu`. Throws InputError
/// where the two do not go together.
energy::PowerSpec power_spec(const EnergyConfig& config, const gpu::GpuSpec& gpu, const gpu::GpuSpec* of = nullptr);

/// Throws InputError where a board at rest would take less than flows outside its SMs.
void check_static_power(const energy::PowerSpec& spec);

/// What of a tensor core its area depends on, for f16 operands.
energy::TensorCoreShape tensor_core_shape(const tensor_core::TensorCoreSpec& core);

}  // namespace sptc::config
