// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/table_options.h"

#include "sim/run/option_table.h"

#include <algorithm>

namespace sptc::cli {

void TableOptions::add_all(CLI::App& command, std::initializer_list<std::string_view> without) {
  for (const run::SimulationOption& option : run::simulation_options()) {
    if (std::ranges::find(without, option.name) == without.end()) {
      add(command, {option.name});
    }
  }
}

void TableOptions::add(CLI::App& command, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const run::SimulationOption& option = run::simulation_option(name);
    std::string& text = texts_[option.name];
    const std::string typed = "--" + std::string(option.name);
    const std::string help(option.help);
    if (option.type.empty()) {
      command.add_flag(typed, text, help);
      continue;
    }
    text = option.usual;
    CLI::Option* const declared = command.add_option(typed, text, help)->type_name(std::string(option.type));
    if (!option.usual.empty()) {
      declared->capture_default_str();
    }
  }
}

run::SimulationOptions TableOptions::parsed() const {
  run::SimulationOptions options;
  for (const run::SimulationOption& option : run::simulation_options()) {
    const auto typed = texts_.find(option.name);
    if (typed != texts_.end() && !typed->second.empty()) {
      run::set_option(options, option.name, typed->second);
    }
  }
  return options;
}

}  // namespace sptc::cli
