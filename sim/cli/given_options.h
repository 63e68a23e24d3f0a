// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace sptc::cli {

/// Throws InputError where an option of `app` or its chosen commands, as parsed, has an empty
/// value.
void check_given_options(const CLI::App& app);

}  // namespace sptc::cli
