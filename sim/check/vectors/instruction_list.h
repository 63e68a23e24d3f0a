// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "models/mma/step_rules.h"

#include <span>
#include <string>

namespace sptc::check::vectors {

/// Every instruction of `targets`: its name, what executes it, and its arithmetic.
std::string instruction_list_text(std::span<const mma::Target> targets);
/// One JSON object (schema "sptcsim-instructions/0.1", configs/schema/instructions.schema.json).
std::string instruction_list_json(std::span<const mma::Target> targets);

/// An instruction, and the arithmetic of one: the JSON objects that the list holds.
std::string instruction_json(const mma::MmaInstruction& instruction);
std::string rules_json(const mma::StepRules& rules);

}  // namespace sptc::check::vectors
