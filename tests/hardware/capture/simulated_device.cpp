// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/simulated_device.h"

#include "models/base/error.h"
#include "sim/check/vectors/mma_batch.h"
#include "tests/hardware/capture/operand_image.h"

#include <algorithm>

namespace sptc::hardware {

SimulatedDevice::SimulatedDevice(const mma::Target& target) : target_(target) {
  info_.name = "sptcsim, arithmetic of " + std::string(target.architecture);
  info_.target = target.name;
  const std::string digits(target.name.substr(std::string_view("sm_").size()));
  info_.compute_capability = digits.substr(0, digits.size() - 1) + "." + digits.substr(digits.size() - 1);
}

bool SimulatedDevice::has(const std::string& ptx) const {
  try {
    const mma::MmaInstruction instruction = mma::parse_instruction(ptx);
    mma::instruction_rules(target_, instruction);
    const OperandImage image(instruction);
    return true;
  } catch (const base::InputError&) {
    return false;
  }
}

std::vector<std::uint32_t> SimulatedDevice::run(const MmaLaunch& launch) {
  const mma::MmaInstruction instruction = mma::parse_instruction(launch.ptx);
  const mma::StepRules rules = mma::instruction_rules(target_, instruction);
  const OperandImage image(instruction);
  std::vector<std::uint32_t> d;
  d.reserve(launch.d_words);
  for (std::size_t index = 0; index < launch.cases; ++index) {
    const check::vectors::MmaOperands operands = image.operands(launch, index);
    const std::vector<std::uint32_t> registers =
        image.registers_of_result(check::vectors::execute(operands, instruction, rules).bits);
    d.insert(d.end(), registers.begin(), registers.end());
  }
  return d;
}

}  // namespace sptc::hardware
