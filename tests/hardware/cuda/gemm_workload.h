// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "tests/hardware/capture/timing_device.h"

#include <memory>

namespace sptc::hardware {

/// A GEMM in the memory of the GPU. `data` must outlive it. Throws AbsentError where the target has
/// no own kernel, or the library is not there or has none.
std::unique_ptr<GemmWorkload> make_gemm_workload(const GemmChoice& choice, const GemmData& data,
                                                 const mma::Target& target);

}  // namespace sptc::hardware
