// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/config/energy.h"

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

}  // namespace sptc::run
