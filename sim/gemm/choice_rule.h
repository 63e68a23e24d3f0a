// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_problem.h"
#include "sim/gemm/kernel_library_spec.h"

#include <cstdint>

namespace sptc::sim {

/// The rule of `library` that says which tile its kernel for `problem` has, or nothing.
const ChoiceRule* choice_rule(const GemmProblem& problem, const KernelLibrarySpec& library);

/// Whether that is a tile of `m` rows and `n` columns.
constexpr bool names_tile(const ChoiceRule& rule, std::int64_t m, std::int64_t n) {
  return rule.cta_m == m && rule.cta_n == n;
}

}  // namespace sptc::sim
