// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"
#include "models/mma/instruction.h"

namespace sptc::sm {

/// Bytes that an asynchronous `instruction` (wgmma, tcgen05.mma) reads from the shared memory of one SM. Of a
/// `cta_group` of two SMs each reads its part of B for both.
base::Bytes warpgroup_operand_bytes(const mma::MmaInstruction& instruction, bool a_in_registers, int cta_group = 1);

}  // namespace sptc::sm
