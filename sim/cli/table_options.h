// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/simulation_options.h"

#include <CLI/CLI.hpp>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

namespace sptc::cli {

/// Options of the table of sim/run/option_table.h that a command takes, as typed.
class TableOptions {
 public:
  /// Declares all of them on `command` but those called `without`.
  void add_all(CLI::App& command, std::initializer_list<std::string_view> without = {});
  void add(CLI::App& command, std::initializer_list<std::string_view> names);
  run::SimulationOptions parsed() const;

 private:
  std::map<std::string_view, std::string> texts_;  ///< by the name in the table
};

}  // namespace sptc::cli
