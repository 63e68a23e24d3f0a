// SPDX-License-Identifier: Apache-2.0
#include "sim/gemm/choice_rule.h"

#include <algorithm>

namespace sptc::sim {
namespace {

// The rules are of profiles of this width, of GEMMs by themselves.
constexpr int kBitsOfRules = 16;

}  // namespace

const ChoiceRule* choice_rule(const GemmProblem& problem, const KernelLibrarySpec& library) {
  if (problem.sparse || problem.batch > 1 ||
      numerics::storage_bits(problem.dtype) != kBitsOfRules) {
    return nullptr;
  }
  const GemmShape& shape = problem.shape;
  const auto found =
      std::find_if(library.rules.begin(), library.rules.end(), [&](const ChoiceRule& rule) {
        return shape.m > rule.rows_above && shape.n >= rule.columns_from &&
               shape.k >= rule.k_from && shape.k <= rule.k_to;
      });
  return found == library.rules.end() ? nullptr : &*found;
}

}  // namespace sptc::sim
