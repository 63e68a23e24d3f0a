// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cli/condition_arguments.h"
#include "sim/cli/energy_arguments.h"
#include "sim/run/data_source.h"
#include "sim/run/simulation_options.h"
#include "sim/trace/workload.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace sptc::sim {

/// Options that `run` and `gemm` share, as the user typed them.
struct SimulationArguments {
  std::string arch = "a100-sxm4-80gb";
  std::string numerics;
  std::string fidelity = "timing";
  std::string variants = "both";
  std::string dtype;
  std::string pattern;
  std::string data;
  std::string check;
  std::string clock;  ///< empty: limited where the board has energies, else boost
  ConditionArguments conditions;
  EnergyArguments energy;
  std::string tile;
  std::string stages;
  std::string split_k;
  std::string decomposition;
  std::string seed = "0";
  std::string sms;
  bool no_extrapolate = false;
  std::string format = "text";
  std::string out;
  std::string vcd;
  bool explain = false;
  bool quiet = false;

  /// Declares all of them on `command`.
  void add_to(CLI::App& command);

 private:
  void add_machine_and_values(CLI::App& command);
  void add_kernel(CLI::App& command);
  void add_extent_of_simulation(CLI::App& command);
  void add_report(CLI::App& command);
};

/// What they say of the simulation. Throws InputError.
SimulationOptions parsed(const SimulationArguments& given);

/// Checks every option, simulates, and writes the report. `operands` replaces what --data says;
/// null: --data. `load` reads the workload after the options were found valid. Returns the exit
/// code: 0, or 1 where a check failed.
int simulate_and_report(const SimulationArguments& given, const std::function<Workload()>& load,
                        const DataSource* operands);

}  // namespace sptc::sim
