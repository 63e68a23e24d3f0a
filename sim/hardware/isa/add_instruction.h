// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/isa/warp_instruction.h"

#include <vector>

namespace sptc::isa {

/// Appends an instruction to `code`, for the caller to fill in.
inline WarpInstruction& add(std::vector<WarpInstruction>& code, Opcode opcode) {
  code.emplace_back();
  code.back().opcode = opcode;
  return code.back();
}

}  // namespace sptc::isa
