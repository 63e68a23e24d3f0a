// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/fragment_layout.h"

#include <array>
#include <cstdint>

namespace sptc::mma {

/// One 32-bit register in each lane of a warp.
using LaneRegister = std::array<std::uint32_t, kWarpLanes>;

}  // namespace sptc::mma
