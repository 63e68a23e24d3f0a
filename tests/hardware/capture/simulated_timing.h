// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "tests/hardware/capture/timing_device.h"

#include <memory>

namespace sptc::hardware {

/// The simulator in place of a GPU that is measured: cycles of its microbenchmarks, closed-form
/// times of its GEMMs, power of its energy file. For tests of everything around the kernels; a
/// capture of it says "simulated". SystemC elaborates with the first microbenchmark, once per
/// process.
std::unique_ptr<TimingDevice> make_simulated_timing(const config::Architecture& architecture);

}  // namespace sptc::hardware
