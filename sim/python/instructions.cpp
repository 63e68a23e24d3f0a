// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/catalogue.h"
#include "sim/compare/vectors/identify.h"
#include "sim/config/board_names.h"
#include "sim/io/text_file.h"
#include "sim/python/bindings.h"
#include "sim/python/instruction_choice.h"

#include <map>
#include <nanobind/stl/string.h>
#include <optional>
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
  chosen.rules =
      mma::with_profile(mma::instruction_rules(target, chosen.instruction,
                                               compare::vectors::parse_grouping(choice.grouping)),
                        mma::parse_profile(choice.profile));
  return known.emplace(choice, chosen).first->second;
}

numerics::DataType data_type(const std::string& name) {
  if (const auto type = numerics::parse_data_type(name)) {
    return *type;
  }
  std::vector<std::string_view> allowed = numerics::operand_type_names();
  allowed.insert(allowed.end(), {"f32", "s32"});
  throw base::InputError("unknown type " + base::unknown_name(io::printable(name), allowed));
}

namespace {

nb::dict dict_of(const mma::StepRules& rules) {
  nb::dict result;
  result["products_per_step"] = rules.products_per_step;
  result["fraction_bits"] = rules.fraction_bits;
  result["rounding"] =
      rules.rounding == mma::OutputRounding::kTowardZero ? "toward-zero" : "nearest-even";
  result["exponent_floor"] =
      rules.exponent_floor ? nb::object(nb::int_(*rules.exponent_floor)) : nb::object(nb::none());
  result["output"] = std::string(numerics::name(rules.output));
  result["cleared_output_bits"] = rules.cleared_output_bits;
  result["lowered_fp8"] = rules.lowered_fp8;
  result["zero_rule"] = rules.zero_rule == mma::ZeroRule::kIgnore ? "ignore" : "mma-sim";
  result["evidence"] = std::string(mma::name(rules.evidence));
  result["source"] = std::string(rules.source);
  return result;
}

nb::dict dict_of(const mma::MmaInstruction& instruction) {
  nb::dict result;
  result["name"] = instruction.ptx_name();
  result["m"] = instruction.shape.m;
  result["n"] = instruction.shape.n;
  result["k"] = instruction.shape.k;
  result["a_type"] = std::string(numerics::name(instruction.a_type));
  result["b_type"] = std::string(numerics::name(instruction.b_type));
  result["c_type"] = std::string(numerics::name(instruction.c_type()));
  result["d_type"] = std::string(numerics::name(instruction.accumulator));
  result["sparse"] = instruction.sparse;
  result["block_scaled"] = instruction.block_scaled;
  return result;
}

nb::list instructions(const std::string& arch) {
  const mma::Target& target = config::target_of(arch);
  nb::list result;
  for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
    nb::dict row = dict_of(entry.instruction);
    const auto rules = entry.is_software
                           ? std::nullopt
                           : mma::find_step_rules(target.architecture, entry.instruction);
    row["max_n"] = entry.max_n;
    row["sass"] = entry.sass;
    row["rules"] = rules ? nb::object(dict_of(*rules)) : nb::object(nb::none());
    result.append(row);
  }
  return result;
}

}  // namespace

void bind_instructions(nb::module_& module) {
  module.def("instruction",
             [](const std::string& name) { return dict_of(mma::parse_instruction(name)); });
  module.def("instructions", instructions);
  module.def("step_rules", [](const std::string& arch, const std::string& instruction,
                              const std::string& grouping, const std::string& profile) {
    return dict_of(chosen_instruction({arch, instruction, grouping, profile}).rules);
  });
}

}  // namespace sptc::python
