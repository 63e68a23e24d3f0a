// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/timing_device.h"

#include <cstddef>
#include <vector>

namespace sptc::hardware {

// As in TimingDevice.
long long mma_cycles(const MmaLaunch& operands, int warps, int ilp, int rounds);
std::vector<TimedWgmma> wgmma_list();
long long wgmma_cycles(std::size_t index, int warpgroups, int rounds, bool random);

}  // namespace sptc::hardware
