// SPDX-License-Identifier: Apache-2.0
#include "sim/run/operand_memory.h"

#include "models/numerics/codec.h"
#include "sim/io/memory_guard.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <cstdint>

namespace sptc::run {

void require_operand_memory(const workload::Operation& op) {
  constexpr double kFitsInteger = 1e18;
  const auto m = static_cast<double>(op.shape.m);
  const auto n = static_cast<double>(op.shape.n);
  const auto k = static_cast<double>(op.shape.k);
  const double words = static_cast<double>(op.batch) * (2 * (m + n) * k + 2 * m * n);
  const double bytes = words * static_cast<double>(sizeof(numerics::Word));
  io::require_memory(static_cast<std::uint64_t>(std::min(bytes, kFitsInteger)),
                     "the operands of '" + io::printable(op.name) + "'");
}

}  // namespace sptc::run
