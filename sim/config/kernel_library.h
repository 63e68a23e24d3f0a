// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/json_reader.h"
#include "sim/gemm/kernel_library_spec.h"

#include <string>
#include <string_view>

namespace sptc::sim {

/// Tiles of the library called `name`, a file of configs/libraries without ".json", which gives
/// itself that name. Throws InputError; an unknown name is reported at `place`.
KernelLibrarySpec load_kernel_library(const std::string& name, const JsonPlace& place);

/// `library` with the kernels of the one called `name`; what a launch takes beside them stays.
/// Throws InputError, which begins with `asked_by`.
KernelLibrarySpec with_kernels_of(const std::string& name, const KernelLibrarySpec& library,
                                  const std::string& asked_by = "--library");

/// The same from text; `file` is for messages.
KernelLibrarySpec parse_kernel_library(std::string_view text, const std::string& file);

}  // namespace sptc::sim
