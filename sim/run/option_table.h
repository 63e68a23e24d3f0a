// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/simulation_options.h"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <string_view>

namespace sptc::run {

/// An option of a simulation, as the command line, sweeps and bindings know it.
struct SimulationOption {
  std::string_view name;  ///< "power-limit"
  std::string_view type;  ///< "W", "dense|sparse|both"; empty: a switch, "true" or "false"
  std::string_view help;
  std::string_view affects;  ///< what changes with it: "values", "time", "energy", "check", "files"
  std::string_view usual;    ///< its value where nobody sets it; empty: `help` says what happens
  /// Throws InputError, which names the option by `what`: "--power-limit".
  void (*set)(SimulationOptions& options, std::string_view what, const std::string& text);
  bool names_file = false;  ///< whether a value may name a file that the simulation reads
};

/// All options, in the order in which a list of them reads best.
std::span<const SimulationOption> simulation_options();

/// The option called `name`. Throws InputError, which names the nearest one.
const SimulationOption& simulation_option(std::string_view name);

/// Sets the option called `name`. Throws InputError where there is none, or where the value is not
/// one of its. Whether options go together is what simulate() checks.
void set_option(SimulationOptions& options, std::string_view name, const std::string& text);

/// Takes a number, a word, or true or false.
void set_option(SimulationOptions& options, std::string_view name, const nlohmann::json& value);

/// An option value as the command line writes it: 4096 as "4096", true as "true".
std::string option_text(const nlohmann::json& value);

}  // namespace sptc::run
