// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/base/units.h"
#include "models/mma/instruction.h"
#include "sim/hardware/isa/operand.h"
#include "sim/kernels/gemm_problem.h"
#include "sim/kernels/launch_conditions.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::kernels {

struct KernelOverrides;
struct KernelResult;
struct KernelTarget;
struct TileShape;

/// Bytes of an accumulator, f32 or s32.
inline constexpr std::int64_t kAccumulatorBytes = 4;

/// Where a CTA works: GEMM of the batch, its tile of D, and its slice of K.
struct CtaTile {
  std::int64_t batch = 0;
  std::int64_t tile_m = 0;
  std::int64_t tile_n = 0;
  std::int64_t slice = 0;
};

/// A GEMM cut into CTAs, warps and instructions, as CUTLASS's multistage kernels are, or, where the
/// SM has no asynchronous copies, its pipelined ones, which copy through registers.
struct GemmKernel {
  GemmProblem problem;
  /// The mma.sync of the operands. m8n8k4 stands for a quarter of a warp's instruction, which is
  /// one of the four HMMA.884 that it runs as.
  mma::MmaInstruction instruction{};
  /// What the warps execute: `instruction`, or an asynchronous one on the same operands, which stay
  /// in shared memory, where TMA copies them: wgmma of Hopper, or tcgen05.mma of Blackwell, whose
  /// accumulators lie in the tensor memory. Of those two only time is simulated.
  mma::MmaInstruction executed{};
  /// CTAs that share an instruction of tcgen05.mma, twice as high as the tile of each. Each copies
  /// its part of the columns of B, which the tensor cores of both read.
  int cta_group = 1;
  /// CTAs of a cluster of warpgroup kernels, which copy what they have in common once (TMA
  /// multicast).
  int cluster_ctas = 1;
  int swizzle = 8;            ///< columns of tiles in a group of the rasterisation
  base::GemmShape cta_tile;   ///< k logical
  base::GemmShape warp_tile;  ///< k logical, that of one instruction
  int stages = 0;
  int async_copy_bytes = 16;  ///< of a thread with one instruction; 0: none
  int split_k = 1;            ///< slices of K, a CTA each; a second kernel sums them
  ReductionScheme reduction_scheme = ReductionScheme::kComputeType;
  bool promotes = false;  ///< see Fp8Accumulation
  Decomposition decomposition = Decomposition::kDataParallel;
  int parts_of_tile = 0;        ///< of stream-K: into which each tile is cut; 0: as CTAs come out
  int sum_bytes_per_cycle = 0;  ///< see SegmentK; 0: as the port of the SM lets them through
  bool searched = false;        ///< see kernel_search.h
  double issue_stretch = 1;     ///< see sim/kernels/kernel_candidates.h
  int registers_per_thread = 0;
  base::Bytes shared_memory_per_cta;
  int ctas_per_sm = 0;
  std::string_view occupancy_limit;  ///< what stops one more CTA: see sim/hardware/sm/occupancy.h
  base::Bytes carve_out;             ///< shared memory of an SM that holds them

  /// Whole groups of CTAs: the last tile may lie beyond the edge.
  std::int64_t tiles_m() const { return base::ceil_div(problem.shape.m, cta_tile.m * cta_group) * cta_group; }
  std::int64_t tiles_n() const { return base::ceil_div(problem.shape.n, cta_tile.n); }
  /// k-tiles of all slices.
  std::int64_t all_k_tiles() const { return base::ceil_div(problem.shape.k, cta_tile.k); }
  /// k-tiles of one slice; the last one may have fewer.
  std::int64_t k_tiles() const { return base::ceil_div(all_k_tiles(), split_k); }
  /// Depth of the deepest slice, in mean ones.
  double deepest_slice() const { return static_cast<double>(k_tiles() * split_k) / static_cast<double>(all_k_tiles()); }
  /// Cuts K into `slices` as deep as the deepest has to be; those that find no k-tile left are not
  /// launched (CUTLASS: grid_tiled_shape.k of GemmUniversal).
  void cut_k(int slices);
  /// k-tiles of the slice of output tile `tile` in the order of rasterise().
  std::int64_t k_tiles_of(std::int64_t tile) const;
  /// Output tiles, each slice of K counted: as many CTAs where each has one.
  std::int64_t ctas() const { return problem.batch * tiles_m() * tiles_n() * split_k; }
  /// Kernels of warpgroups: a CTA fetches its next output tile while it stores the last.
  bool persistent() const { return executed.is_asynchronous(); }
  bool stream_k() const { return decomposition == Decomposition::kStreamK; }

  /// Volta's and Turing's kernels (CUTLASS's MmaPipelined): the next k-tile waits in registers.
  bool staged_in_registers() const { return async_copy_bytes == 0 && !executed.is_asynchronous(); }

  int warps_m() const { return static_cast<int>(cta_tile.m / warp_tile.m); }
  int warps_n() const { return static_cast<int>(cta_tile.n / warp_tile.n); }
  int warps() const { return warps_m() * warps_n(); }
  /// Elements of a row of A as stored, of `k` logical ones (whole instructions).
  std::int64_t compressed_k(std::int64_t k) const { return k / instruction.shape.k * instruction.compressed_k(); }
  bool tensor_memory() const { return executed.family == mma::MmaFamily::kTcgen05; }
  /// Bytes that a k-tile of an operand occupies in the shared memory of a CTA.
  std::int64_t stage_bytes(isa::Operand operand) const;
  /// What the CTAs of a cluster have in common: B of a cluster along M, A of one along N, whichever
  /// saves more; nothing where the grid has one CTA each way.
  std::optional<isa::Operand> multicast() const;
  /// CTAs that get the tile of an operand of the CTA at `where` with one read of the L2.
  int readers(isa::Operand operand, const CtaTile& where) const;
  int k_steps_per_tile() const { return static_cast<int>(cta_tile.k / executed.shape.k); }
  /// Fragments of a warp tile, each as large as D of an instruction.
  int fragments_m() const { return static_cast<int>(warp_tile.m) / instruction.shape.m; }
  int fragments_n() const { return static_cast<int>(warp_tile.n) / instruction.shape.n; }

  /// Registers of a thread that hold a fragment of A as it is stored.
  std::int64_t loaded_a_registers() const;
  /// Instructions of a warp that turn it into what is multiplied; 0 where it is that already.
  double dequantise_slots() const;

  /// Multiply-accumulates that the tensor cores execute for the whole launch, padding included.
  /// Throws InputError where 64 bits do not hold them.
  std::int64_t issued_macs() const;

  /// Rasterisation: tile of CTA `cta`. Columns of tiles form groups of `swizzle`; within a group
  /// CTAs go across its columns, then on to the next row, and behind its last row to the next group
  /// (the thread block swizzle of CUTLASS), so that CTAs that run together share operand tiles.
  CtaTile rasterise(std::int64_t cta) const;

  /// Whether, while one k-tile is multiplied, the next one and a part of another are under way:
  /// three stages, which two CTAs that take turns on an SM have together. A short K needs no more
  /// than one stage beside its k-tiles.
  bool copies_ahead() const;

  KernelResult result(std::int64_t sms) const;
};

/// Fewest and most stages of a library's kernels with asynchronous copies.
constexpr int kLeastStages = 2, kMostStages = 4;

/// The mma instruction that a kernel for `problem` is made of.
mma::MmaInstruction kernel_instruction(const GemmProblem& problem, const KernelTarget& target);

/// The one whose arithmetic D has where nobody says which kernel runs: wgmma or tcgen05.mma where the SM and its
/// numerics have it, else kernel_instruction().
mma::MmaInstruction usual_instruction(const GemmProblem& problem, const KernelTarget& target);

/// Whether no GPU has it: another pattern or shape than mma.sync of PTX for kernels.
bool is_explored(const mma::MmaInstruction& instruction);

/// Depth of the shortest k-tile of mma.sync kernels: two k-steps, one of which is multiplied while
/// the fragments of the next one are loaded.
constexpr std::int64_t shortest_depth(const mma::MmaInstruction& instruction) {
  return 2 * std::int64_t{instruction.shape.k};
}

/// A kernel with these tiles, its stages, registers, shared memory and occupancy on `target`.
/// Nothing, and `reason` filled, where it does not fit.
std::optional<GemmKernel> fitted_kernel(const GemmProblem& problem, const TileShape& tile,
                                        const KernelOverrides& overrides, const KernelTarget& target,
                                        std::string& reason);

/// Where no SM has a second CTA that takes turns with the first, a kernel with tensor memory has
/// the stages of both.
void use_all_stages(GemmKernel& kernel, const KernelTarget& target);

/// The mma.sync kernel with the CTA tile that the user asks for, which no library kernel has: of
/// the warp tiles that divide it and fit the registers, four warps or more where the tile allows
/// it, the one that reads least from shared memory. Throws InputError for a tile that is no
/// multiple of the instruction or does not fit the SM.
GemmKernel forced_kernel(const GemmProblem& problem, const KernelOverrides& overrides, const KernelTarget& target);

}  // namespace sptc::kernels
