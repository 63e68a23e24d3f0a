// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/isa/warp_instruction.h"

namespace sptc::isa {

/// `program` with what its instructions say of themselves worked out, once for all warps that walk
/// it:
/// - registers are divided into parts, those next to each other that all instructions name together
///   or not at all, such as a fragment of an accumulator: who follows the use of registers need
///   only follow parts; the producer's are its own;
/// - each matrix instruction knows how many like it follow.
WarpProgram prepared(const WarpProgram& program);

}  // namespace sptc::isa
