// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/data_source.h"
#include "sim/run/energy.h"
#include "sim/run/energy_files.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace sptc::run {

/// What simulations have in common: energy files, and the switching of generated operands.
class SimulationCaches {
 public:
  EnergyFiles& energies() { return energies_; }

  /// Of generated operands, by their kind and seed.
  SwitchingSource& switching(const std::string& kind, std::uint64_t seed);

 private:
  struct Generated {
    std::unique_ptr<DataSource> data;
    SwitchingSource switching;
  };
  EnergyFiles energies_;
  std::map<std::pair<std::string, std::uint64_t>, Generated> generated_;
};

}  // namespace sptc::run
