// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/device.h"

#include <memory>

namespace sptc::hardware {

/// The GPU of this machine. Throws InputError where there is none, none that the build has code
/// for, or where the build has no CUDA.
std::unique_ptr<Device> open_gpu();

}  // namespace sptc::hardware
