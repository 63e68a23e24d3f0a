// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace sptc::cli {

/// What `shell` needs to complete the commands and options that `app` has. Throws InputError unless
/// it is bash or zsh.
std::string completion(CLI::App& app, const std::string& shell);

}  // namespace sptc::cli
