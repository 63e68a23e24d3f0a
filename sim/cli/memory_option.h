// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace sptc::cli {

/// Declares --memory-limit on a command that simulates. The limit holds from when it is read.
void add_memory_limit(CLI::App& command);

}  // namespace sptc::cli
