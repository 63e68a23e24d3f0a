// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/kernel_model.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sptc::compare::kernel {

/// Which parts of K a kernel multiplies with each other, one after the other, in units: groups of
/// the pattern of a sparse instruction, single k of a dense one.
struct KMap {
  static constexpr std::int64_t kZero = -1;  ///< zeros instead of a part

  std::vector<std::int64_t> a, b;  ///< of the same length

  /// All of K in its order.
  static KMap identity(std::size_t units);
};

/// Logical k of a unit of `instruction`.
std::size_t unit_of(const mma::MmaInstruction& instruction);

/// Makes A, its metadata and B those that a kernel by `map` multiplies.
void rearrange(KernelOperands& operands, const KMap& map, const mma::MmaInstruction& instruction);

}  // namespace sptc::compare::kernel
