// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "sim/check/vectors/mma_batch.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::vectors {

/// Why one element of D is not what was expected.
struct Diagnosis {
  std::string step;                ///< which step of the arithmetic differs, in words
  std::vector<std::string> trace;  ///< what each step computed
};

/// Looks for the one change of the rules that gives `expected` (rounding, F, floor, zero rule, L); where there is none,
/// says how far the last step is off.
Diagnosis diagnose(const DotOperands& operands, const mma::MmaInstruction& instruction, const mma::StepRules& rules,
                   std::uint64_t expected);

/// The rules with one thing changed, each with its name: rounding, F, floor, zero rule, L, width of the result. For
/// float rules.
std::vector<std::pair<std::string, mma::StepRules>> rule_variants(const mma::StepRules& rules);

/// "0x3f800000": as many digits as the element has.
std::string hex_bits(std::uint64_t bits, int element_bytes);

}  // namespace sptc::check::vectors
