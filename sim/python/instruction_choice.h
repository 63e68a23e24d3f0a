// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"

#include <string>

namespace sptc::python {

/// A matrix instruction by name, and where and how it is executed.
struct InstructionChoice {
  std::string arch;         ///< a word of config::target_of()
  std::string instruction;  ///< a PTX name, as mma::parse_instruction() takes it
  std::string grouping = "H1";
  std::string profile = "hardware";

  auto operator<=>(const InstructionChoice&) const = default;
};

struct ChosenInstruction {
  mma::MmaInstruction instruction;
  mma::StepRules rules;
};

/// The instruction that `choice` means, looked up once for each choice. Call it with the
/// interpreter's lock held. Throws InputError.
const ChosenInstruction& chosen_instruction(const InstructionChoice& choice);

numerics::DataType data_type(const std::string& name);

}  // namespace sptc::python
