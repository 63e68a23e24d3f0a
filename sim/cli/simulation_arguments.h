// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/cli/options.h"
#include "sim/run/data_source.h"
#include "sim/workload/workload.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace sptc::cli {

/// Options that `run` and `gemm` share, as the user typed them.
struct SimulationArguments {
  std::string arch = "a100-sxm4-80gb";
  TableOptions options;
  std::string format = "text";
  std::string out;
  std::string vcd, vcd_window, vcd_element;
  std::string html;
  std::string timeline, konata;
  std::string window;
  std::string jobs;
  bool explain = false;
  bool verbose = false;
  bool quiet = false;

  void add_to(CLI::App& command);
};

/// Checks every option, simulates, and writes the report. `load` reads the workload after the options were found valid.
/// `operands` replaces what --data says; null: --data. Returns the exit code: 0, or 1 where a check failed.
int simulate_and_report(const SimulationArguments& given, const std::function<workload::Workload()>& load,
                        const run::DataSource* operands);

}  // namespace sptc::cli
