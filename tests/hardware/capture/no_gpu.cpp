// SPDX-License-Identifier: Apache-2.0
//
// The GPU of a build without CUDA.
#include "models/base/error.h"
#include "tests/hardware/capture/program.h"

namespace sptc::hardware {

std::unique_ptr<Device> open_gpu() {
  throw base::InputError(
      "this build has no CUDA kernels (nvcc was not found when it was configured); --simulate "
      "works without");
}

}  // namespace sptc::hardware
