// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/traffic_counts.h"

#include "models/mma/register_map.h"
#include "sim/hardware/memory/memory_spec.h"
#include "sim/hardware/sm/warpgroup_operands.h"
#include "sim/kernels/gemm_traffic.h"

#include <algorithm>
#include <optional>

namespace sptc::kernels {
namespace {

/// Bytes that all warps load with `registers` of them filled in each k-step; warpgroups load none.
std::int64_t bytes_of_all_steps(const GemmKernel& kernel, std::int64_t registers) {
  if (kernel.executed.is_asynchronous()) {
    return 0;
  }
  const std::int64_t steps = kernel.k_tiles() * kernel.k_steps_per_tile();
  return steps * registers * isa::kRegisterBytes * kernel.warps() * kernel.ctas();
}

std::int64_t operand_bytes(const GemmKernel& kernel, std::int64_t b_times, std::int64_t a_times) {
  const GemmBytes traffic(kernel);
  const base::GemmShape& shape = kernel.problem.shape;
  std::int64_t per_gemm = b_times * shape.n * traffic.row_bytes(isa::Operand::kB, shape.k) +
                          a_times * shape.m * traffic.row_bytes(isa::Operand::kA, shape.k);
  if (kernel.instruction.sparse) {
    per_gemm += a_times * shape.m * traffic.row_bytes(isa::Operand::kMetadata, shape.k);
  }
  return kernel.problem.batch * per_gemm;
}

}  // namespace

ReductionBytes reduction_bytes(const GemmKernel& kernel, const memory::MemorySpec& memory) {
  if (kernel.split_k == 1) {
    return {};
  }
  const GemmProblem& problem = kernel.problem;
  ReductionBytes bytes;
  bytes.partial_sums = stored_bytes(kernel);
  // What was written back meanwhile stays in the L2 until something else takes its place.
  bytes.spilled = std::max<std::int64_t>(0, bytes.partial_sums - memory.l2_capacity.count());
  bytes.stored = problem.batch * problem.shape.m * problem.shape.n * output_bits(problem) / 8;
  return bytes;
}

std::int64_t fragment_bytes(const GemmKernel& kernel) {
  const mma::OperandRegisters registers = mma::operand_registers(kernel.instruction);
  const std::int64_t of_metadata =
      registers.metadata * base::ceil_div(kernel.fragments_m(), std::int64_t{registers.metadata_selectors});
  return operand_fragment_bytes(kernel) + bytes_of_all_steps(kernel, of_metadata);
}

std::int64_t operand_fragment_bytes(const GemmKernel& kernel) {
  const mma::OperandRegisters registers = mma::operand_registers(kernel.instruction);
  return bytes_of_all_steps(kernel,
                            kernel.fragments_m() * kernel.loaded_a_registers() + kernel.fragments_n() * registers.b);
}

std::int64_t multiplied_bytes(const GemmKernel& kernel) {
  if (!kernel.executed.is_asynchronous()) {
    return 0;
  }
  return kernel.issued_macs() / kernel.executed.macs() *
         sm::warpgroup_operand_bytes(kernel.executed, false, kernel.cta_group).count();
}

std::int64_t copied_bytes(const GemmKernel& kernel) {
  return operand_bytes(kernel, kernel.tiles_m() / kernel.cta_group, kernel.tiles_n());
}

std::int64_t l2_read_bytes(const GemmKernel& kernel) {
  const std::optional<isa::Operand> common = kernel.multicast();
  const auto readers = [&](isa::Operand operand, std::int64_t tiles) {
    return common == operand ? base::ceil_div(tiles, std::int64_t{kernel.cluster_ctas}) : tiles;
  };
  return operand_bytes(kernel, readers(isa::Operand::kB, kernel.tiles_m() / kernel.cta_group),
                       readers(isa::Operand::kA, kernel.tiles_n()));
}

std::int64_t stored_bytes(const GemmKernel& kernel) {
  const base::GemmShape& shape = kernel.problem.shape;
  return kernel.problem.batch * kernel.split_k * shape.m * shape.n * stored_bits(kernel) / 8;
}

}  // namespace sptc::kernels
