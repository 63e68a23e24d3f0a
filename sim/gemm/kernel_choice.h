// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gemm/kernel_target.h"

namespace sptc::sim {

/// The kernel that the library would run for `problem`: the candidate with the least estimated
/// time at the boost clock, or what `overrides` say. With `values` the kernels whose values the
/// data path can carry: those that do not cut K. Throws InputError for an override that does not
/// fit, or for a type without matrix instruction.
GemmKernel choose_kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                         const KernelTarget& target, bool values);

}  // namespace sptc::sim
