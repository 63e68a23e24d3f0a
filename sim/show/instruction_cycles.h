// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "sim/gpu/gpu_spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::show {

/// A stage of a tensor core at work on one step of an instruction.
struct StageSpan {
  std::string_view stage;  ///< "fetch", "select", "multiply", "align_add", "round"
  int step = 0;
  std::int64_t begin = 0, end = 0;  ///< cycles since the instruction was issued; end excluded
};

/// One instruction that goes through an idle tensor core of a board.
struct InstructionCycles {
  std::string board;
  std::vector<StageSpan> spans;  ///< in the order of their beginning
  std::int64_t done = 0;         ///< cycle in which D is in the registers
};

/// Simulates the instruction alone in the tensor core of `gpu` (sim/tensor_core). SystemC
/// elaborates once per process, so this can be called once. Nothing where the board does not run
/// the instruction as one of its own, or it is no mma.sync of m16n8.
std::optional<InstructionCycles> instruction_cycles(const gpu::GpuSpec& gpu,
                                                    const mma::MmaInstruction& instruction);

}  // namespace sptc::show
