// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/kernel_overrides.h"
#include "sim/kernels/kernel_target.h"

#include <vector>

namespace sptc::kernels {

/// The fastest kernels for `problem` in closed form at the boost clock, at most `most`, the fastest
/// first: of every tile and warp tile, number of stages, cluster, order of tiles and cut of K that
/// fits the SM, those of the library among them. What `overrides` name stays as they say. The space
/// does not depend on rates: a faster unit never makes the first kernel slower in closed form.
/// Throws InputError where none fits, or for a type without matrix instruction.
std::vector<GemmKernel> search_kernels(const GemmProblem& problem, const KernelOverrides& overrides,
                                       const KernelTarget& target, bool values, int most);

/// The kernel of a search that `overrides` name, on a GPU on which it need not be the fastest.
GemmKernel found_kernel(const GemmProblem& problem, const KernelOverrides& overrides, const KernelTarget& target);

}  // namespace sptc::kernels
