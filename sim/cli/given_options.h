// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace sptc::sim {

/// Throws InputError where an option of `app` or its chosen commands, as parsed, has an empty value
/// or names a file to be written that another one names too: what is read is not written over.
void check_given_options(const CLI::App& app);

}  // namespace sptc::sim
