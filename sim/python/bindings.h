// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/prune/prune_options.h"
#include "sim/run/simulation_options.h"

#include <map>
#include <nanobind/nanobind.h>
#include <string>
#include <utility>

namespace sptc::python {

/// An architecture as Python has it, and as another process reads it again.
struct LoadedArchitecture : config::Architecture {
  explicit LoadedArchitecture(config::ArchitectureText read)
      : config::Architecture(config::to_architecture(read)), text(std::move(read)) {}

  config::ArchitectureText text;
};

/// Options by their names, as the command line has their values; what is left out is the default.
using OptionTexts = std::map<std::string, std::string>;

/// The options of a simulation. Throws InputError.
run::SimulationOptions simulation_options(const OptionTexts& given);

/// The options of pruning: criterion, layout, pattern, dtype, activations, layers, ... Throws InputError.
prune::PruneOptions pruning_options(OptionTexts words);

// Each adds its part to the module sptcsim._core.
void bind_instructions(nanobind::module_& module);
void bind_values(nanobind::module_& module);
void bind_sparsity(nanobind::module_& module);
void bind_model_pruning(nanobind::module_& module);
void bind_architectures(nanobind::module_& module);
void bind_simulation(nanobind::module_& module);
void bind_commands(nanobind::module_& module);
void bind_sweep(nanobind::module_& module);

}  // namespace sptc::python
