// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/run/run_options.h"

#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sptc::sim {

/// What a user may say about energy and power, as typed.
struct EnergyOptions {
  /// Empty: the file of the architecture's name or of the one it is derived from, if there is one.
  std::string energy;
  std::string power_limit;  ///< W; empty: the file's
  std::string board_idle;   ///< W; empty: the file's
  std::string limit_over;   ///< "launch" or "group"; empty: launch

  void add_to(CLI::App& command);
  /// The first two alone, for commands that have no groups.
  void add_energies_and_limit(CLI::App& command);
};

/// Energy files, and what they are of, each read once.
class EnergyFiles {
 public:
  bool known(const std::string& name);
  /// Throws InputError as load_energy() does.
  const LoadedEnergy& load(const std::string& name);
  /// The GPU that the energies of `loaded` are of: the shipped one that `architecture` is, was or
  /// is derived from; else none.
  const GpuSpec* gpu_of(const LoadedEnergy& loaded, const Architecture& architecture);

 private:
  std::optional<std::vector<std::string>> names_;
  std::map<std::string, LoadedEnergy> loaded_;
  std::map<std::string, GpuSpec> gpus_;
};

/// What `clock`, the text of --clock, says: "limited", "boost" or MHz. Nothing is limited where the
/// energies of the board are known, else boost: see set_power().
void set_clock(const std::string& clock, RunOptions& options);

/// Fills options.power and options.area for `architecture`; leaves it empty where there is no
/// energy file, or none that fits a derived design, and nothing asks for one. Throws InputError,
/// also for options that would do nothing.
void set_power(const EnergyOptions& given, const Architecture& architecture, EnergyFiles& files,
               RunOptions& options);

}  // namespace sptc::sim
