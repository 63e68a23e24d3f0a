// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"
#include "models/mma/catalogue.h"
#include "models/numerics/data_type.h"
#include "sim/check/vectors/identify.h"
#include "sim/check/vectors/instruction_list.h"
#include "sim/config/board_names.h"
#include "sim/io/text_file.h"
#include "sim/python/bindings.h"
#include "sim/python/instruction_choice.h"

#include <map>
#include <nanobind/stl/string.h>
#include <span>
#include <string_view>
#include <vector>

namespace nb = nanobind;

namespace sptc::python {

const ChosenInstruction& chosen_instruction(const InstructionChoice& choice) {
  static std::map<InstructionChoice, ChosenInstruction> known;
  const auto found = known.find(choice);
  if (found != known.end()) {
    return found->second;
  }
  const mma::Target& target = config::target_of(choice.arch);
  ChosenInstruction chosen;
  chosen.instruction = mma::parse_instruction(choice.instruction);
  chosen.rules = mma::with_profile(
      mma::instruction_rules(target, chosen.instruction, check::vectors::parse_grouping(choice.grouping)),
      mma::parse_profile(choice.profile));
  return known.emplace(choice, chosen).first->second;
}

numerics::DataType data_type(const std::string& name) {
  if (const auto type = numerics::parse_usual_type(name)) {
    return *type;
  }
  std::vector<std::string_view> allowed = numerics::operand_type_names();
  allowed.insert(allowed.end(), {"f32", "s32"});
  io::refuse("unknown type {}", base::unknown_name(io::printable(name), allowed));
}

void bind_instructions(nb::module_& module) {
  module.def("instruction",
             [](const std::string& name) { return check::vectors::instruction_json(mma::parse_instruction(name)); });
  module.def("instructions", [](const std::string& arch) {
    return check::vectors::instruction_list_json(std::span(&config::target_of(arch), 1));
  });
  module.def("step_rules", [](const std::string& arch, const std::string& instruction, const std::string& grouping,
                              const std::string& profile) {
    return check::vectors::rules_json(chosen_instruction({arch, instruction, grouping, profile}).rules);
  });
}

}  // namespace sptc::python
