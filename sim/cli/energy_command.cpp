// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/config/energy.h"
#include "sim/report/energy_tables.h"
#include "sim/report/version.h"
#include "sim/run/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string name;
  std::string format = "text";
};

std::string list_json() {
  const nlohmann::ordered_json json{{"schema", "sptcsim-energy-list/0.1"},
                                    {"version", std::string(report::program_version())},
                                    {"energies", config::energy_names()}};
  return json.dump(2) + "\n";
}

int list(const Arguments& arguments) {
  write_result({},
               is_json(arguments.format) ? list_json() : fmt::format("{}\n", fmt::join(config::energy_names(), "\n")));
  return 0;
}

int show(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  const config::LoadedEnergy energy = run::load_energies(arguments.name);
  write_result({}, json ? report::energy_numbers_json(energy) : report::energy_numbers_text(energy));
  return 0;
}

int area(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  const run::AreaEstimate estimate = run::estimate_area(config::load_architecture(arguments.name));
  write_result({}, json ? report::area_json(estimate) : report::area_text(estimate));
  return 0;
}

}  // namespace

void add_energy_command(CLI::App& app, Command& chosen) {
  CLI::App& energy = *app.add_subcommand("energy", "energies, power and area, and the evidence of their numbers");
  const auto add = [&](const char* name, const char* description, int (*action)(const Arguments&), const char* argument,
                       const char* what) {
    auto [command, arguments] = add_command(energy, chosen, name, description, action);
    if (what != nullptr) {
      declare(command, {{argument, arguments.name, "NAME|FILE", what, true}});
    }
    declare(command, {{"--format", arguments.format, "text|json", "format of the result"}});
  };
  add("list", "names of the known energy files", list, nullptr, nullptr);
  add("show", "every number with its range, evidence and source", show, "NAME",
      "a name of 'energy list', a file, or the file of a derived architecture");
  add("area", "coarse silicon area of a tensor core", area, "NAME,--arch",
      "an architecture of 'arch list', or a file derived from one, that has an energy file");
}

}  // namespace sptc::cli
