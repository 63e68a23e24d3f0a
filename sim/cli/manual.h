// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace sptc::cli {

/// The manual page sptcsim(1) in roff, of the commands and options that `app` has.
std::string man_page(CLI::App& app, std::string_view version);

/// A completion script of the same. Throws InputError unless `shell` is bash or zsh.
std::string completion(CLI::App& app, const std::string& shell);

}  // namespace sptc::cli
