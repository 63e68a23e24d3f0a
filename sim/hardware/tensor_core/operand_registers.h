// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/register_map.h"

namespace sptc::tensor_core {

/// What a tensor core sees of the register file of its sub-partition.
class OperandRegisters {
 public:
  virtual ~OperandRegisters() = default;
  /// Registers `base` and up of the warp in `slot`, each with its 32 lanes.
  virtual const mma::LaneRegister* read(int slot, int base) const = 0;
};

}  // namespace sptc::tensor_core
