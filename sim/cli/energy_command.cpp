// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/report/area_report.h"
#include "sim/report/energy_numbers.h"
#include "sim/report/version.h"
#include "sim/run/area_estimate.h"
#include "sim/run/run_options.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string name;
  std::string format = "text";

  bool is_json() const { return format == "json"; }
};

std::string list_json() {
  const nlohmann::ordered_json json{{"schema", "sptcsim-energy-list/0.1"},
                                    {"version", std::string(report::program_version())},
                                    {"energies", config::energy_names()}};
  return json.dump(2) + "\n";
}

int list(const Arguments& arguments) {
  if (arguments.is_json()) {
    write_result({}, list_json());
    return 0;
  }
  std::string text;
  for (const std::string& name : config::energy_names()) {
    text += name + "\n";
  }
  write_result({}, text);
  return 0;
}

int show(const Arguments& arguments) {
  const config::LoadedEnergy energy = run::load_energies(arguments.name);
  write_result({}, arguments.is_json() ? report::energy_numbers_json(energy)
                                       : report::energy_numbers_text(energy));
  return 0;
}

int area(const Arguments& arguments) {
  const run::AreaEstimate estimate = run::estimate_area(config::load_architecture(arguments.name));
  write_result({}, arguments.is_json() ? report::area_json(estimate) : report::area_text(estimate));
  return 0;
}

/// A subcommand that calls `action`. Returns it and where its arguments go.
std::pair<CLI::App*, Arguments*> add(CLI::App& energy, const char* name, const char* description,
                                     int (*action)(const Arguments&), Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = energy.add_subcommand(name, description);
  command->callback([arguments, action, &chosen] {
    chosen = [arguments, action] {
      require_format(arguments->format, {"text", "json"});
      return action(*arguments);
    };
  });
  return {command, arguments.get()};
}

void add_name(CLI::App& command, const char* what, Arguments& arguments) {
  command.add_option("NAME", arguments.name, what)->type_name("NAME|FILE")->required();
}

void add_format(CLI::App& command, Arguments& arguments) {
  command.add_option("--format", arguments.format, "of the result")
      ->type_name("text|json")
      ->capture_default_str();
}

}  // namespace

void add_energy_command(CLI::App& app, Command& chosen) {
  CLI::App* energy =
      app.add_subcommand("energy", "energies, power and area, and the evidence of their numbers");
  const auto [list_command, of_list] =
      add(*energy, "list", "names of the known energy files", list, chosen);
  add_format(*list_command, *of_list);

  const auto [show_command, of_show] =
      add(*energy, "show", "every number with its range, evidence and source", show, chosen);
  add_name(*show_command, "a name of 'energy list', a file, or the file of a derived architecture",
           *of_show);
  add_format(*show_command, *of_show);

  const auto [area_command, of_area] =
      add(*energy, "area", "coarse silicon area of a tensor core", area, chosen);
  area_command
      ->add_option("NAME,--arch", of_area->name,
                   "an architecture of 'arch list', or a file derived from one, that has an energy "
                   "file")
      ->type_name("NAME|FILE")
      ->required();
  add_format(*area_command, *of_area);
}

}  // namespace sptc::cli
