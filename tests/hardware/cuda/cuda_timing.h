// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "tests/hardware/capture/timing_device.h"

#include <memory>

namespace sptc::hardware {

/// Times on the GPU that the process has open.
std::unique_ptr<TimingDevice> make_cuda_timing(const mma::Target& target);

}  // namespace sptc::hardware
