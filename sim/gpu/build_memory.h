// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"

#include <cstdint>

namespace sptc::gpu {

/// Throws InputError where the modules of a GPU of `spec` take more memory than there is, or than
/// any design may: it names the fields of the architecture that ask for most of it. Call it before
/// they are built.
void require_memory_to_build(const GpuSpec& spec);

/// About what they take [bytes].
std::uint64_t memory_to_build(const GpuSpec& spec);

}  // namespace sptc::gpu
