// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/prune_options.h"

#include <CLI/CLI.hpp>

#include <string>

namespace sptc::cli {

// Options that 'prune', 'plan' and 'convert' share; the values are read by those commands.

/// --activations: inputs for calibration.
void add_activations(CLI::App& command, std::string& activations);
/// --criterion: which weights stay.
void add_criterion(CLI::App& command, std::string& criterion);
/// --report and --format: where the report goes, as text or JSON.
void add_report(CLI::App& command, std::string& report, std::string& format);

/// --transposed and --k-axis: where k is. --include: what names would leave dense.
void add_axes(CLI::App& command, prune::PruneOptions& options);
void add_include(CLI::App& command, prune::PruneOptions& options);

}  // namespace sptc::cli
