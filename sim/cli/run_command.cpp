// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/simulation_arguments.h"
#include "sim/trace/workload.h"

#include <memory>
#include <string>

namespace sptc::sim {

void add_run_command(CLI::App& app, Command& chosen) {
  struct Arguments {
    std::string trace;
    SimulationArguments simulation;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "run", "simulate a workload, dense and sparse side by side, check values, report");
  command->add_option("TRACE", arguments->trace, "workload: .json or .csv")
      ->type_name("FILE")
      ->required();
  arguments->simulation.add_to(*command);
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      return simulate_and_report(
          arguments->simulation, [&] { return read_workload(arguments->trace); }, nullptr);
    };
  });
}

}  // namespace sptc::sim
