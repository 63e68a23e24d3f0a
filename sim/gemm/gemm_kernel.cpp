// SPDX-License-Identifier: Apache-2.0
#include "sim/gemm/gemm_kernel.h"

#include "models/base/error.h"
#include "models/sparsity/metadata_register.h"
#include "sim/gemm/register_allocation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace sptc::sim {
namespace {

struct TileCandidate {
  int cta_m, cta_n;
  int warp_m, warp_n;
};

// CTA and warp tiles of CUTLASS's SM80 kernels (tools/library, generator.py:
// GenerateSM80_TensorOp_16816 and GenerateSM80_SparseTensorOp_16832), larger first, and below 64 x
// 64 tiles of the same make for small GEMMs.
constexpr std::array<TileCandidate, 13> kCandidates{{
    {256, 128, 64, 64},
    {128, 256, 64, 64},
    {128, 128, 64, 64},
    {256, 64, 64, 64},
    {64, 256, 64, 64},
    {128, 64, 64, 32},
    {64, 128, 32, 64},
    {64, 64, 32, 32},
    {128, 32, 32, 32},
    {32, 128, 32, 32},
    {64, 32, 32, 16},
    {32, 64, 16, 32},
    {32, 32, 16, 16},
}};

// Depth of a CTA tile: 64 bytes of (compressed) A per row, two instructions deep, as most SM80
// kernels have it.
constexpr int kStepsPerTile = 2;
constexpr int kMaxStages = 4;
// Addresses, loop counters and predicates beside the fragments (CUTLASS kernels: 20 to 30).
constexpr int kAddressRegisters = 24;
constexpr int kThreadsPerWarp = 32;
constexpr int kMaxWarpsPerCta = 32;  // 1024 threads

// What the choice of a tile assumes of the memory side, because a library's heuristic knows it; the
// simulated time does not use these. Shared memory: 128 bytes per cycle and SM. L2: 5120 bytes per
// cycle for 108 SMs (A100 whitepaper).
constexpr double kSharedMemoryBytesPerCycle = 128;
constexpr double kL2BytesPerCycleAndSm = 47;

std::int64_t operand_bytes(std::int64_t elements, numerics::DataType type) {
  return elements * numerics::storage_bits(type) / 8;
}

/// Bytes that one k-tile of a CTA tile occupies in shared memory.
std::int64_t stage_bytes(const GemmKernel& kernel) {
  const mma::MmaInstruction& instruction = kernel.instruction;
  const std::int64_t compressed_k = instruction.sparse ? kernel.cta_tile.k / 2 : kernel.cta_tile.k;
  std::int64_t bytes = operand_bytes(kernel.cta_tile.m * compressed_k, instruction.a_type) +
                       operand_bytes(kernel.cta_tile.n * kernel.cta_tile.k, instruction.b_type);
  if (instruction.sparse) {
    // Half a byte of metadata per group.
    const auto group = sparsity::hardware_pattern(instruction.a_type).group;
    bytes += kernel.cta_tile.m * (kernel.cta_tile.k / group) / 2;
  }
  return bytes;
}

void set_resources(GemmKernel& kernel, std::optional<int> stages, const SmSpec& sm) {
  const RegisterAllocation registers(kernel.instruction, kernel.fragments_m(),
                                     kernel.fragments_n());
  kernel.registers_per_thread = registers.count() + kAddressRegisters;
  const std::int64_t fitting = sm.max_shared_memory_per_cta.count() / stage_bytes(kernel);
  kernel.stages =
      stages.value_or(static_cast<int>(std::clamp<std::int64_t>(fitting, 1, kMaxStages)));
  kernel.shared_memory_per_cta = Bytes(stage_bytes(kernel) * kernel.stages);
  const std::int64_t threads = std::int64_t{kernel.warps()} * kThreadsPerWarp;
  const std::int64_t by_registers =
      sm.registers / (threads * round_up(kernel.registers_per_thread, 8));
  const std::int64_t by_shared_memory =
      sm.shared_memory.count() / std::max<std::int64_t>(kernel.shared_memory_per_cta.count(), 1);
  const std::int64_t by_warps = sm.max_warps / kernel.warps();
  kernel.ctas_per_sm = static_cast<int>(
      std::min({by_registers, by_shared_memory, by_warps, std::int64_t{sm.max_ctas}}));
}

/// Why the kernel cannot run on the SM, or nothing.
std::optional<std::string> misfit(const GemmKernel& kernel, const SmSpec& sm) {
  if (kernel.registers_per_thread > sm.max_registers_per_thread) {
    return "needs " + std::to_string(kernel.registers_per_thread) + " registers per thread, of " +
           std::to_string(sm.max_registers_per_thread);
  }
  if (kernel.shared_memory_per_cta > sm.max_shared_memory_per_cta) {
    return "needs " + std::to_string(kernel.shared_memory_per_cta.count()) +
           " bytes of shared memory per CTA, of " +
           std::to_string(sm.max_shared_memory_per_cta.count());
  }
  if (kernel.ctas_per_sm < 1) {
    return "has " + std::to_string(kernel.warps()) + " warps, more than one SM can hold";
  }
  return std::nullopt;
}

/// The smallest extent among the candidates that covers `extent`, or the largest of all.
int covering_extent(std::int64_t extent, int TileCandidate::*side) {
  int covering = 0;
  for (const TileCandidate& candidate : kCandidates) {
    const int size = candidate.*side;
    const bool better = covering < extent ? size > covering : size >= extent && size < covering;
    covering = better ? size : covering;
  }
  return covering;
}

GemmKernel kernel_with(const GemmProblem& problem, const TileCandidate& tile, int k_steps) {
  GemmKernel kernel;
  kernel.problem = problem;
  kernel.instruction = mma::gemm_instruction(problem.dtype, problem.sparse);
  kernel.cta_tile = {tile.cta_m, tile.cta_n, std::int64_t{k_steps} * kernel.instruction.shape.k};
  kernel.warp_tile = {tile.warp_m, tile.warp_n, kernel.instruction.shape.k};
  return kernel;
}

/// Estimated cycles on the busiest SM: the slowest of tensor cores, shared memory and L2 for the
/// tiles it gets.
double estimated_cycles(const GemmKernel& kernel, const SmSpec& sm, std::int64_t sms) {
  const TensorCoreSpec& core = sm.tensor_core;
  const auto type = kernel.problem.dtype;
  const double macs_per_cycle = static_cast<double>(sm.sub_partitions) * core.dot_units *
                                core.dot_width_bytes * 8 / numerics::storage_bits(type);
  const std::int64_t compressed_k =
      kernel.instruction.sparse ? kernel.cta_tile.k / 2 : kernel.cta_tile.k;
  const double tensor =
      static_cast<double>(kernel.cta_tile.m * kernel.cta_tile.n * compressed_k) / macs_per_cycle;
  const std::int64_t warp_bytes = operand_bytes(kernel.warp_tile.m * compressed_k, type) +
                                  operand_bytes(kernel.warp_tile.n * kernel.cta_tile.k, type);
  const double shared =
      static_cast<double>(warp_bytes * kernel.warps()) / kSharedMemoryBytesPerCycle;
  const double l2 = static_cast<double>(stage_bytes(kernel)) / kL2BytesPerCycleAndSm;
  const auto tiles = static_cast<double>(ceil_div(kernel.ctas(), sms) * kernel.k_tiles());
  return tiles * std::max({tensor, shared, l2});
}

/// Warp tile for a CTA tile that the user gave: the largest that divides it and fits the registers,
/// four warps or more where the tile allows it.
GemmKernel forced_kernel(const GemmProblem& problem, const GemmShape& tile,
                         const KernelOverrides& overrides, const SmSpec& sm) {
  const mma::MmaInstruction instruction = mma::gemm_instruction(problem.dtype, problem.sparse);
  const std::string name =
      std::to_string(tile.m) + "x" + std::to_string(tile.n) + "x" + std::to_string(tile.k);
  const int depth = 2 * instruction.shape.k;
  if (tile.m <= 0 || tile.m % instruction.shape.m != 0 || tile.n <= 0 ||
      tile.n % instruction.shape.n != 0 || tile.k <= 0 || tile.k % depth != 0 || tile.m > 1024 ||
      tile.n > 1024 || tile.k > 1024) {
    throw InputError("tile " + name + " does not fit " + instruction.ptx_name() +
                     ": m must be a multiple of 16, n of 8, k of " + std::to_string(depth) +
                     ", each at most 1024");
  }
  std::optional<GemmKernel> best;
  std::string reason = "cannot be split into at most 32 warps";
  for (const int warp_m : {64, 32, 16}) {
    for (const int warp_n : {64, 32, 16, 8}) {
      if (tile.m % warp_m != 0 || tile.n % warp_n != 0 ||
          (tile.m / warp_m) * (tile.n / warp_n) > kMaxWarpsPerCta) {
        continue;
      }
      GemmKernel kernel =
          kernel_with(problem, {static_cast<int>(tile.m), static_cast<int>(tile.n), warp_m, warp_n},
                      static_cast<int>(tile.k) / instruction.shape.k);
      set_resources(kernel, overrides.stages, sm);
      if (const auto why = misfit(kernel, sm)) {
        reason = *why;
        continue;
      }
      const auto area = [](const GemmKernel& k) {
        const std::int64_t enough_warps = k.warps() >= 4 ? 1 : 0;
        return std::pair(enough_warps, k.warp_tile.m * k.warp_tile.n);
      };
      if (!best || area(kernel) > area(*best)) {
        best = kernel;
      }
    }
  }
  if (!best) {
    throw InputError("tile " + name + " with " + instruction.ptx_name() + " " + reason);
  }
  return *best;
}

}  // namespace

std::int64_t GemmKernel::issued_macs() const {
  const std::int64_t depth = k_tiles() * cta_tile.k / (instruction.sparse ? 2 : 1);
  return ctas() * cta_tile.m * cta_tile.n * depth;
}

CtaTile GemmKernel::rasterise(std::int64_t cta) const {
  constexpr std::int64_t kSwizzle = 8;
  const std::int64_t per_gemm = tiles_m() * tiles_n();
  const std::int64_t index = cta % per_gemm;
  const std::int64_t group = index / (kSwizzle * tiles_m());
  const std::int64_t first_n = group * kSwizzle;
  const std::int64_t width = std::min(kSwizzle, tiles_n() - first_n);
  const std::int64_t in_group = index - first_n * tiles_m();
  return {cta / per_gemm, in_group / width, first_n + in_group % width};
}

KernelResult GemmKernel::result(std::int64_t sms) const {
  return {cta_tile,
          warp_tile,
          {instruction.shape.m, instruction.shape.n, instruction.shape.k},
          instruction.ptx_name(),
          stages,
          1,
          ctas(),
          ctas_per_sm,
          ceil_div(ctas(), sms * ctas_per_sm)};
}

GemmKernel choose_kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                         const SmSpec& sm, std::int64_t sms) {
  if (overrides.stages && (*overrides.stages < 1 || *overrides.stages > 16)) {
    throw InputError("stages " + std::to_string(*overrides.stages) + " is not in 1..16");
  }
  if (overrides.cta_tile) {
    return forced_kernel(problem, *overrides.cta_tile, overrides, sm);
  }
  std::optional<GemmKernel> best;
  double best_cycles = 0;
  std::string reason;
  // A tile that is larger than the GEMM needs would only add padding.
  const int widest_m = covering_extent(problem.shape.m, &TileCandidate::cta_m);
  const int widest_n = covering_extent(problem.shape.n, &TileCandidate::cta_n);
  for (const TileCandidate& candidate : kCandidates) {
    if (candidate.cta_m > widest_m || candidate.cta_n > widest_n) {
      continue;
    }
    GemmKernel kernel = kernel_with(problem, candidate, kStepsPerTile);
    set_resources(kernel, overrides.stages, sm);
    if (const auto why = misfit(kernel, sm)) {
      reason = *why;
      continue;
    }
    const double cycles = estimated_cycles(kernel, sm, sms);
    if (!best || cycles < best_cycles) {
      best = kernel;
      best_cycles = cycles;
    }
  }
  if (!best) {
    throw InputError("no GEMM kernel for " + std::string(numerics::name(problem.dtype)) +
                     " fits this SM: the last one " + reason);
  }
  return *best;
}

}  // namespace sptc::sim
