// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cli/condition_options.h"
#include "sim/cli/energy_options.h"
#include "sim/config/architecture.h"
#include "sim/report/report.h"
#include "sim/run/data_source.h"
#include "sim/run/run.h"
#include "sim/run/run_options.h"
#include "sim/trace/workload.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace sptc::sim {

/// Options that `run` and `gemm` share, as the user typed them.
struct SimulationOptions {
  std::string arch = "a100-sxm4-80gb";
  std::string numerics;
  std::string fidelity = "timing";
  std::string variants = "both";
  std::string dtype;
  std::string pattern;
  std::string data;
  std::string check;
  std::string clock;  ///< empty: limited where the board has energies, else boost
  ConditionOptions conditions;
  EnergyOptions energy;
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
  bool what_ifs = true;  ///< no option: whether somebody is told what bounds a launch
  bool quiet = false;

  /// Declares all of them on `command`.
  void add_to(CLI::App& command);

 private:
  void add_machine_and_values(CLI::App& command);
  void add_kernel(CLI::App& command);
  void add_extent_of_simulation(CLI::App& command);
  void add_report(CLI::App& command);
};

/// Throws InputError where an option has no valid value or two contradict each other.
void require_valid(const SimulationOptions& options);

/// What runs have in common and need not read or sample again.
struct RunCaches {
  struct Generated {
    std::unique_ptr<DataSource> data;
    SwitchingSource switching;
  };
  EnergyFiles energies;
  std::map<std::pair<std::string, std::uint64_t>, Generated> generated;  ///< by kind and seed
};

/// Simulates `workload` on `architecture` (options.arch is not looked at) and returns the result;
/// report options have no effect. `data` as for simulate(). `waveform_stem`: empty, or where to
/// write a waveform, without ".vcd". SystemC elaborates, so once per process. Throws InputError.
/// `kept`: what stays between runs.
RunResult run_as_asked(const SimulationOptions& options, const Architecture& architecture,
                       const Workload& workload, const DataSource* data,
                       const std::string& waveform_stem, const ProgressCallback& progress,
                       RunCaches& kept);

/// Checks every option, simulates, and writes the report. `data` replaces what --data says; null:
/// --data. `load` reads the workload after the options were found valid. Returns the exit code: 0,
/// or 1 where a check failed.
int simulate(const SimulationOptions& options, const std::function<Workload()>& load,
             const DataSource* data);

}  // namespace sptc::sim
