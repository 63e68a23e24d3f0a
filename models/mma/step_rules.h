// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/mma/instruction.h"
#include "models/numerics/float_format.h"

namespace sptc::mma {

enum class OutputRounding {
  kTowardZero,   ///< RZ: drop the bits below the last place
  kNearestEven,  ///< RNE, directly from the exact sum
};

/// The arithmetic of one *step*: L products and the accumulator, aligned to the largest exponent with F fraction bits,
/// truncated by magnitude, summed exactly and rounded once. An instruction of depth K is K/L steps in increasing k, for
/// sparse instructions counted in compressed elements (hypothesis H1 of the numerical contract).
///
/// Sources: the published hardware words and models of Khattak and Mikaitis (arXiv 2512.07004, MATLAB-tensor-core),
/// MMA-Sim (arXiv 2511.10909), Fasi, Higham, Mikaitis and Pranesh (2021).
struct StepRules {
  int products_per_step = 0;               ///< L
  int fraction_bits = 0;                   ///< F; integers: 0
  OutputRounding rounding = OutputRounding::kTowardZero;
  std::optional<int> exponent_floor;       ///< the largest exponent never counts as less than this
  numerics::DataType output = numerics::DataType::kF32;

  bool is_integer() const { return output == numerics::DataType::kS32; }
};

/// The rules of `instruction` on the row set `architecture` ("ampere": A100, A2, A30, A40, RTX 30). Throws InputError
/// for an unknown row set or an instruction that has no row.
StepRules step_rules(std::string_view architecture, const MmaInstruction& instruction);

/// Names that step_rules knows.
std::vector<std::string_view> step_rule_sets();

}  // namespace sptc::mma
