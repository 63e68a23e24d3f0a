// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"

#include <cstdint>

namespace sptc::gpu {

/// Throws InputError, with the fields that ask for most, where the modules of a GPU of `spec` need
/// more memory than there is or than any design may take. Call it before they are built.
void require_memory_to_build(const GpuSpec& spec);

/// Bytes that they take, about.
std::uint64_t memory_to_build(const GpuSpec& spec);

}  // namespace sptc::gpu
