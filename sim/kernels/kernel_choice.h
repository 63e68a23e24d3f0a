// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/kernel_overrides.h"
#include "sim/kernels/kernel_target.h"

#include <optional>
#include <string>
#include <vector>

namespace sptc::kernels {

/// Throws InputError where `overrides` ask for more slices of K than there are k-tiles, `most`.
void require_slices(const KernelOverrides& overrides, const GemmProblem& problem, std::int64_t most);

/// Throws InputError: `overrides` ask for more slices of K than any of `fitting` has, or none fits, the
/// last one for `reason`.
[[noreturn]] void refuse_all(const GemmProblem& problem, const KernelOverrides& overrides,
                             const std::vector<GemmKernel>& fitting, const std::string& reason);

/// Cuts `kernel`, whose tile `overrides` name, as they say.
void cut_as_asked(GemmKernel& kernel, const KernelOverrides& overrides, const KernelTarget& target);

/// Time [us] of a launch at the boost clock: that of the closed form, at least that of the DRAM
/// bytes that are counted for it.
double closed_form_us(const GemmKernel& kernel, const KernelTarget& target);

/// The kernel that the library would run for `problem`: the candidate with the least time in closed
/// form, the one that its heuristic takes for it, or what `overrides` say. With `values`, only
/// kernels that do not cut K. Throws InputError for an override that does not fit, or for a type
/// without matrix instruction.
GemmKernel choose_kernel(const GemmProblem& problem, const KernelOverrides& overrides, const KernelTarget& target,
                         bool values);

/// `problem` where its weights use no more of the selector than 2:4 does. Nothing where it is so
/// already, and for a pattern that 2:4 hardware does not run.
std::optional<GemmProblem> without_wide_selector(const GemmProblem& problem);

/// The kernels one of which runs for `problem`: that one, or where `overrides` ask for a search the
/// fastest ones in closed form, at most `most`.
std::vector<GemmKernel> candidate_kernels(const GemmProblem& problem, const KernelOverrides& overrides,
                                          const KernelTarget& target, bool values, int most);

}  // namespace sptc::kernels
