// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/kernel_target.h"

#include <limits>

namespace sptc::kernels {

/// Time [us] of a launch at the boost clock: that of the closed form, at least that of the DRAM
/// bytes that are counted for it. Counting takes longer than the form and is left out where the
/// form alone takes `enough_us`.
double closed_form_us(const GemmKernel& kernel, const KernelTarget& target,
                      double enough_us = std::numeric_limits<double>::infinity());

/// The kernel that the library would run for `problem`: the candidate with the least time in closed
/// form, or what `overrides` say. With `values`, out of the kernels whose values the data path can
/// carry: those that do not cut K. Throws InputError for an override that does not
/// fit, or for a type without matrix instruction.
GemmKernel choose_kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                         const KernelTarget& target, bool values);

}  // namespace sptc::kernels
