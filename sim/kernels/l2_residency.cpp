// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/l2_residency.h"

#include "sim/base/cache_tags.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/traffic_counts.h"

#include <algorithm>

namespace sptc::kernels {

ResidentOperands resident_operands(const GemmKernel& kernel, const memory::MemorySpec& memory) {
  const L2State& state = kernel.problem.conditions.l2;
  if (state.kind == L2State::Kind::kCold) {
    return {};
  }
  const GemmBytes bytes(kernel);
  const base::GemmShape& shape = kernel.problem.shape;
  const auto batch = static_cast<double>(kernel.problem.batch);
  const auto of = [&](isa::Operand operand, std::int64_t rows) {
    return batch * static_cast<double>(rows * bytes.row_bytes(operand, shape.k));
  };
  double a = of(isa::Operand::kA, shape.m) * kernel.problem.distinct(isa::Operand::kA);
  if (kernel.instruction.sparse) {
    a += of(isa::Operand::kMetadata, shape.m);
  }
  const double b = of(isa::Operand::kB, shape.n) * kernel.problem.distinct(isa::Operand::kB);
  // Each partition keeps what its SMs read, and of D what it owns.
  const double d = static_cast<double>(stored_bytes(kernel)) / memory.l2_partitions;
  const double capacity = static_cast<double>(memory.l2_capacity.count()) / memory.l2_partitions;
  const double launch = a + b + d;
  const int weights = state.kind == L2State::Kind::kRotate ? state.weights : 1;
  ResidentOperands share{1, 1, 1};
  constexpr int kRounds = 8;  // what survives decides what hits, and that what survives
  for (int round = 0; round < kRounds; ++round) {
    const double hit_ratio = (share.a * a + share.b * b + share.d * d) / launch;
    share.a = share.b = share.d = base::CacheTags::survival(launch / capacity, hit_ratio);
    (kernel.problem.transposed ? share.b : share.a) =
        base::CacheTags::survival(weights * launch / capacity, hit_ratio);
  }
  return share;
}

}  // namespace sptc::kernels
