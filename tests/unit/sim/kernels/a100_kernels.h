// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/kernels/kernel_choice.h"

#include <cstdint>

namespace sptc::kernels {

inline const gpu::GpuSpec& a100() {
  static const gpu::GpuSpec spec = config::load_architecture("a100-sxm4-80gb").gpu;
  return spec;
}

/// Of the A100, for values.
inline GemmKernel kernel_for(const GemmProblem& problem, const KernelOverrides& overrides = {}) {
  return choose_kernel(problem, overrides, a100().kernel_target(), true);
}

inline GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, bool sparse = false,
                           numerics::DataType type = numerics::DataType::kF16, std::int64_t batch = 1) {
  return {{m, n, k}, batch, type, sparse};
}

}  // namespace sptc::kernels
