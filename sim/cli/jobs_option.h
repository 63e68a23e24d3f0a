// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace sptc::cli {

/// Declares --jobs, `what` are at once, on a command that has processes of its own.
void add_jobs(CLI::App& command, std::string& text, const std::string& what);

/// Of what was typed; all processors where that is nothing. Throws InputError.
int parse_jobs(const std::string& text);

}  // namespace sptc::cli
