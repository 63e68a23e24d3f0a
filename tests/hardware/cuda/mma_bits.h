// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::hardware {

/// Whether mma_bits.cu has a kernel for the instruction of this PTX name.
bool has_mma_kernel(const std::string& ptx);
/// Executes mma or mma.sp once per case. Throws std::runtime_error.
std::vector<std::uint32_t> run_mma_kernel(const MmaLaunch& launch);

/// The same for wgmma (sm_90a).
bool has_wgmma_kernel(const std::string& ptx);
std::vector<std::uint32_t> run_wgmma_kernel(const MmaLaunch& launch);

}  // namespace sptc::hardware
