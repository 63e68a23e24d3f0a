// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/device.h"

#include <functional>
#include <memory>

namespace sptc::hardware {

/// The GPU of this machine. Throws InputError where there is none, none that the build has code
/// for, or where the build has no CUDA.
std::unique_ptr<Device> open_gpu();

/// The program hardware_capture: measures the device that `open` finds and writes one capture
/// directory (tests/hardware/CAPTURE.md). Returns the exit code.
int run_program(int argc, char** argv, const std::function<std::unique_ptr<Device>()>& open);

}  // namespace sptc::hardware
