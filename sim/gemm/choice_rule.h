// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_problem.h"
#include "sim/gemm/kernel_library_spec.h"

namespace sptc::sim {

/// The rule of `library` that says which tile its kernel for `problem` has, or nothing.
const ChoiceRule* choice_rule(const GemmProblem& problem, const KernelLibrarySpec& library);

}  // namespace sptc::sim
