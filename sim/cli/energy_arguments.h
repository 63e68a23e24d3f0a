// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/simulation_options.h"

#include <CLI/CLI.hpp>

#include <string>

namespace sptc::sim {

/// What a user may say about energy and power, as typed. Empty: see SimulationOptions.
struct EnergyArguments {
  std::string energy;
  std::string power_limit;
  std::string board_idle;
  std::string limit_over;

  void add_to(CLI::App& command);
  /// The first two alone, for commands that have no groups.
  void add_energies_and_limit(CLI::App& command);
  /// Throws InputError.
  void set(SimulationOptions& options) const;
};

}  // namespace sptc::sim
