// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace sptc::cli {

// Options that 'prune' and 'plan' share; the values are read by those commands.

/// --activations: inputs for calibration.
void add_activations(CLI::App& command, std::string& activations);
/// --criterion: which weights stay.
void add_criterion(CLI::App& command, std::string& criterion);
/// --report and --format: where the report goes, as text or JSON.
void add_report(CLI::App& command, std::string& report, std::string& format);

}  // namespace sptc::cli
