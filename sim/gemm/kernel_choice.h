// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gemm/kernel_target.h"

#include <limits>

namespace sptc::sim {

/// Time [us] of a launch in closed form at the boost clock, and of what is counted of it in DRAM at
/// the least. Counting takes longer than the form, and is left out from `enough_us` on.
double closed_form_us(const GemmKernel& kernel, const KernelTarget& target,
                      double enough_us = std::numeric_limits<double>::infinity());

/// The kernel that the library would run for `problem`: the candidate with the least time in closed
/// form, or what `overrides` say. With `values` the kernels whose values the
/// data path can carry: those that do not cut K. Throws InputError for an override that does not
/// fit, or for a type without matrix instruction.
GemmKernel choose_kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                         const KernelTarget& target, bool values);

}  // namespace sptc::sim
