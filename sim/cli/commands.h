// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace sptc::cli {

/// What a chosen subcommand does; returns the exit code.
using Command = std::function<int()>;

/// Declares the subcommand `name` of `app`, which runs with the arguments that come back beside it.
template <typename Arguments>
std::pair<CLI::App&, Arguments&> add_command(CLI::App& app, Command& chosen, const char* name, const char* description,
                                             int (*run)(const Arguments&)) {
  CLI::App* const command = app.add_subcommand(name, description);
  auto arguments = std::make_shared<Arguments>();
  command->callback([command, arguments, run, &chosen] {
    if (command->get_subcommands().empty()) {  // else that one is chosen
      chosen = [arguments, run] { return run(*arguments); };
    }
  });
  return {*command, *arguments};
}

// Each declares the subcommand of its name on `app` and sets `chosen` when the user picks it.
void add_run_command(CLI::App& app, Command& chosen);
void add_gemm_command(CLI::App& app, Command& chosen);
void add_arch_command(CLI::App& app, Command& chosen);
void add_import_command(CLI::App& app, Command& chosen);
void add_energy_command(CLI::App& app, Command& chosen);
void add_verify_command(CLI::App& app, Command& chosen);
void add_validate_command(CLI::App& app, Command& chosen);
void add_compare_command(CLI::App& app, Command& chosen);
void add_show_command(CLI::App& app, Command& chosen);
void add_prune_command(CLI::App& app, Command& chosen);
void add_plan_command(CLI::App& app, Command& chosen);
void add_convert_command(CLI::App& app, Command& chosen);
void add_legal_command(CLI::App& app, Command& chosen);
void add_mma_command(CLI::App& app, Command& chosen);
void add_microbench_command(CLI::App& app, Command& chosen);
void add_crosscheck_command(CLI::App& app, Command& chosen);
void add_sweep_command(CLI::App& app, Command& chosen);

/// What `shell` needs to complete the commands and options that `app` has. Throws InputError unless it is bash or zsh.
std::string completion(CLI::App& app, const std::string& shell);

}  // namespace sptc::cli
