// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "sim/gemm/gemm_problem.h"
#include "sim/gemm/kernel_result.h"
#include "sim/sm/sm_spec.h"

#include <cstdint>

namespace sptc::sim {

/// Where a CTA works: GEMM of the batch, and its tile of D.
struct CtaTile {
  std::int64_t batch = 0;
  std::int64_t tile_m = 0;
  std::int64_t tile_n = 0;
};

/// A GEMM cut into CTAs, warps and instructions, as CUTLASS's multistage kernels are.
struct GemmKernel {
  GemmProblem problem;
  mma::MmaInstruction instruction;
  GemmShape cta_tile;   ///< k logical
  GemmShape warp_tile;  ///< k logical, that of one instruction
  int stages = 0;
  int registers_per_thread = 0;
  Bytes shared_memory_per_cta;
  int ctas_per_sm = 0;

  std::int64_t tiles_m() const { return ceil_div(problem.shape.m, cta_tile.m); }
  std::int64_t tiles_n() const { return ceil_div(problem.shape.n, cta_tile.n); }
  std::int64_t k_tiles() const { return ceil_div(problem.shape.k, cta_tile.k); }
  std::int64_t ctas() const { return problem.batch * tiles_m() * tiles_n(); }

  int warps_m() const { return static_cast<int>(cta_tile.m / warp_tile.m); }
  int warps_n() const { return static_cast<int>(cta_tile.n / warp_tile.n); }
  int warps() const { return warps_m() * warps_n(); }
  int k_steps_per_tile() const { return static_cast<int>(cta_tile.k / instruction.shape.k); }
  /// Fragments of a warp tile: rows of 16, columns of 8.
  int fragments_m() const { return static_cast<int>(warp_tile.m) / instruction.shape.m; }
  int fragments_n() const { return static_cast<int>(warp_tile.n) / instruction.shape.n; }

  /// Multiply-accumulates that the tensor cores execute for the whole launch, padding included.
  std::int64_t issued_macs() const;

  /// Rasterisation: tile of CTA `cta`. Down a column of tiles, in groups of 8 columns side by side
  /// (the thread block swizzle of CUTLASS), so that CTAs that run together share operand tiles.
  CtaTile rasterise(std::int64_t cta) const;

  KernelResult result(std::int64_t sms) const;
};

/// The kernel for `problem` on `sms` SMs of kind `sm`: the candidate tile with the least estimated
/// time on the busiest SM, or what `overrides` say. Throws InputError for an override that is no
/// multiple of the instruction, does not fit the registers or shared memory of an SM, or for a type
/// without matrix instruction.
GemmKernel choose_kernel(const GemmProblem& problem, const KernelOverrides& overrides,
                         const SmSpec& sm, std::int64_t sms);

}  // namespace sptc::sim
