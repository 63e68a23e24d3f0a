// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/isa/warp_instruction.h"

namespace sptc::sim {

/// `program` with its registers divided into parts: registers next to each other that all of its
/// instructions name together or not at all, such as a fragment of an accumulator. Who follows the
/// use of registers need only follow parts. The producer's are its own.
WarpProgram with_register_parts(const WarpProgram& program);

}  // namespace sptc::sim
