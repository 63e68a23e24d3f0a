// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"

#include <string_view>

namespace sptc::tensor_core {
struct TensorCoreSpec;
}  // namespace sptc::tensor_core

namespace sptc::kernels {

/// How much longer a tensor core takes for the instructions of `kernel` than their products need at
/// the peak rate: 1, or more where a register-file port or bank, the metadata, the selector or the
/// width of a rounding step is in the way. Warpgroups read shared memory, not the ports: 1.
double issue_stretch(const GemmKernel& kernel, const tensor_core::TensorCoreSpec& core,
                     std::string_view numerics);

}  // namespace sptc::kernels
