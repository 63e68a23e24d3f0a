// SPDX-License-Identifier: Apache-2.0
#include "sim/show/show_instruction.h"

#include "sim/config/architecture.h"
#include "sim/config/board_names.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace sptc::show {
namespace {

/// The cycles of a board; nothing where `arch` is a target and no board.
std::optional<InstructionCycles> cycles_of(const std::string& arch,
                                           const mma::MmaInstruction& instruction) {
  const std::string board = config::board_name(arch);
  const std::vector<std::string> names = config::architecture_names();
  const bool is_file = board.find('/') != std::string::npos || board.ends_with(".json");
  if (!is_file && std::find(names.begin(), names.end(), board) == names.end()) {
    return std::nullopt;
  }
  const gpu::GpuSpec gpu = config::load_architecture(board).gpu;
  return instruction_cycles(gpu, instruction);
}

}  // namespace

ElementView show_instruction(
    const std::string& name, const std::string& arch,
    const std::function<ShownOperands(const mma::MmaInstruction&)>& operands,
    const ElementChoice& choice) {
  const mma::Target& target = config::target_of(arch);
  const mma::MmaInstruction instruction = mma::parse_instruction(name);
  mma::find_instruction(target, instruction);
  mma::require_steps(instruction, mma::instruction_rules(target, instruction));
  ElementView view = view_element(target, instruction, operands(instruction), choice);
  view.cycles = cycles_of(arch, instruction);
  return view;
}

}  // namespace sptc::show
