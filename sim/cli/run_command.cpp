// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/import_options.h"
#include "sim/cli/simulation_arguments.h"
#include "sim/config/architecture.h"
#include "sim/report/message.h"
#include "sim/run/asked_work.h"
#include "sim/run/run_options.h"

#include <string>
#include <utility>

namespace sptc::cli {
namespace {

struct Arguments {
  RecordingOptions recording;
  SimulationArguments simulation;
  const CLI::App* command = nullptr;
};

/// The workload; a recording's GPU is simulated unless the user names another.
workload::Workload load(Arguments& arguments) {
  std::string proposed;
  workload::Recording recording = arguments.recording.read([&](workload::Recording& read) {
    if (arguments.command->count("--arch") == 0 && !read.account.arch.empty()) {
      proposed = arguments.simulation.arch = read.account.arch;
    }
    if (read.account.format.empty()) {
      return;  // no account says what is left, so that the result does
    }
    const run::SimulationOptions options = arguments.simulation.options.parsed();
    const config::Architecture architecture =
        run::with_asked(config::load_architecture(arguments.simulation.arch), options);
    run::leave_unsupported(architecture.gpu, options, read.workload);
  });
  if (!proposed.empty()) {
    report::write_message("  simulated on " + proposed + ", as recorded; --arch names another\n");
  }
  return std::move(recording.workload);
}

int run(const Arguments& given) {
  Arguments arguments = given;
  return simulate_and_report(
      arguments.simulation, [&] { return load(arguments); }, nullptr);
}

}  // namespace

void add_run_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      add_command(app, chosen, "run",
                  "simulate a workload or a recording, dense and sparse side by side, check values, report", run);
  arguments.command = &command;
  arguments.recording.add_to(command);
  arguments.simulation.add_to(command);
}

}  // namespace sptc::cli
