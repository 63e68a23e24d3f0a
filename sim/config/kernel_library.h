// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/kernel_library_spec.h"

#include <string>
#include <string_view>

namespace sptc::config {

/// Tiles of the library called `name`, a file of configs/libraries without ".json", which gives
/// itself that name. Throws InputError; what says that a name is unknown begins with `asked_by`.
kernels::KernelLibrarySpec load_kernel_library(const std::string& name, const std::string& asked_by = "--library");

/// The same from text; `file` is for messages.
kernels::KernelLibrarySpec parse_kernel_library(std::string_view text, const std::string& file);

}  // namespace sptc::config
