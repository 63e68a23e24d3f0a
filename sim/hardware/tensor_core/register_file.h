// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/fragment_layout.h"

#include <vector>

namespace sptc::tensor_core {

/// The register file of one sub-partition: 32-bit words, 32 lanes wide, allocated per warp. It is empty where only time
/// is simulated.
class RegisterFile {
 public:
  explicit RegisterFile(int warp_slots) : warps_(static_cast<std::size_t>(warp_slots)) {}

  /// Gives the warp in `slot` its registers, all zero (a GEMM kernel clears its accumulators
  /// first).
  void allocate(int slot, int registers) {
    warps_[static_cast<std::size_t>(slot)].assign(static_cast<std::size_t>(registers), {});
  }

  /// Registers `base` and up of the warp in `slot`, each with its 32 lanes.
  const mma::LaneRegister* read(int slot, int base) const {
    return &warps_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(base)];
  }
  mma::LaneRegister* write(int slot, int base) {
    return &warps_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(base)];
  }

 private:
  std::vector<std::vector<mma::LaneRegister>> warps_;
};

}  // namespace sptc::tensor_core
