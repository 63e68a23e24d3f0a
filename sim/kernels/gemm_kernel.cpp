// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/gemm_kernel.h"

#include "models/base/error.h"
#include "models/mma/step_rules.h"
#include "sim/hardware/sm/occupancy.h"
#include "sim/kernels/kernel_library_spec.h"
#include "sim/kernels/kernel_overrides.h"
#include "sim/kernels/kernel_result.h"
#include "sim/kernels/kernel_target.h"
#include "sim/kernels/launch_spec.h"
#include "sim/kernels/raster_pieces.h"
#include "sim/kernels/register_allocation.h"
#include "sim/kernels/work_schedule.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::kernels {
namespace {

// Depth of a CTA tile: 64 bytes of (compressed) A per row, as most SM80 kernels have it.
constexpr int kTileBytes = 64;
// Small tiles go twice as deep, so that enough bytes are under way to hide the latency of DRAM.
constexpr std::int64_t kSmallStageBytes = 8192;
// nvjet kernels of small tiles have up to 16 (nvjet_sm90_hsh_24x64_64x16_4x1_v_bz_TNN), all that
// fit.
constexpr std::int64_t kMostWarpgroupStages = 16;
// wgmma kernels: 128 bytes per row, the widest swizzle of TMA.
constexpr int kWgmmaTileBytes = 128;
// Stages below which k-tiles of wgmma with 2:4 weights are half as deep: names of cuSPARSELt's
// kernels say 128x256x64 and 128x128x128.
constexpr int kEnoughSparseStages = 3;
// CUTLASS's kernels (sm100_gemm_tma_warpspecialized.hpp) have two accumulators in the 512 columns
// of the tensor memory, so that one tile is stored while the next one is multiplied: here two CTAs
// of an SM take turns.
constexpr int kAccumulatorsInTensorMemory = 2;
// Stages of copies through registers: one tile is multiplied while the next one takes its place
// beside it.
constexpr int kStagesThroughRegisters = 2;
// Addresses, loop counters and predicates beside the fragments (CUTLASS kernels: 20 to 30); at most
// 23, because CUTLASS has 2:4 s8 kernels with warp tiles of 64 x 64 (generator.py,
// GenerateSM80_SparseTensorOp_16864_TN), which must fit into 255 registers.
constexpr int kAddressRegisters = 22;
// CUTLASS, sm90_gemm_tma_warpspecialized_cooperative.hpp, LoadRegisterRequirement.
constexpr int kProducerRegisters = 40;
constexpr int kRegisterUnit = 8;  // of a thread, setmaxnreg
constexpr int kThreadsPerWarp = 32;
constexpr int kMaxWarpsPerCta = 32;  // 1024 threads
constexpr int kLeastWarpRows = 16;   // four m8n8k4 are one instruction of a warp

/// Bytes that one k-tile of a CTA tile occupies in shared memory.
std::int64_t stage_bytes(const GemmKernel& kernel) {
  return kernel.stage_bytes(isa::Operand::kA) + kernel.stage_bytes(isa::Operand::kB) +
         kernel.stage_bytes(isa::Operand::kMetadata);
}

sm::CtaResources resources(const GemmKernel& kernel) {
  if (!kernel.executed.is_asynchronous()) {
    return {kernel.warps() * kThreadsPerWarp, kernel.registers_per_thread, kernel.shared_memory_per_cta};
  }
  // A warpgroup of producers beside the others: a launch gives every thread as many registers,
  // which setmaxnreg moves.
  const int warps = kernel.warps() + mma::kWarpsPerWarpgroup;
  const std::int64_t registers = kernel.warps() * base::round_up(kernel.registers_per_thread, kRegisterUnit) +
                                 std::int64_t{mma::kWarpsPerWarpgroup} * kProducerRegisters;
  return {warps * kThreadsPerWarp, static_cast<int>(base::ceil_div(registers, warps)), kernel.shared_memory_per_cta};
}

/// Bytes of a k-tile that its warps read from shared memory, each its rows of A and columns of B.
std::int64_t bytes_read_by_warps(const GemmKernel& kernel) {
  return kernel.warps_n() * (kernel.stage_bytes(isa::Operand::kA) + kernel.stage_bytes(isa::Operand::kMetadata)) +
         kernel.warps_m() * kernel.stage_bytes(isa::Operand::kB);
}

void set_resources(GemmKernel& kernel, std::optional<int> stages, const KernelTarget& target) {
  const sm::SmSpec& sm = target.sm;
  kernel.async_copy_bytes = sm.async_copy_bytes;
  const RegisterAllocation registers(kernel);
  const int accumulators = (kernel.promotes ? 2 : 1) * registers.accumulator_count();
  // Registers hold nothing but the accumulators for wgmma, those that are stored for tcgen05.mma.
  kernel.registers_per_thread =
      kAddressRegisters + (kernel.executed.is_asynchronous() ? accumulators : registers.count());
  std::int64_t available = sm.max_shared_memory_per_cta.count();
  if (kernel.tensor_memory()) {
    available = std::min(
        available, sm.shared_memory.count() / kAccumulatorsInTensorMemory - sm.reserved_shared_memory_per_cta.count());
  }
  const std::int64_t fitting = available / stage_bytes(kernel);
  std::int64_t most = kernel.staged_in_registers()                       ? kStagesThroughRegisters
                      : kernel.executed.family == mma::MmaFamily::kWgmma ? kMostWarpgroupStages
                                                                         : kMostStages;
  if (!kernel.persistent()) {
    // One k-tile less than there are stages is under way at once. More stages than that takes for
    // all k-tiles would only take the place of another CTA.
    most = std::clamp<std::int64_t>(kernel.all_k_tiles() + 1, kLeastStages, most);
  }
  kernel.stages = stages.value_or(static_cast<int>(std::clamp<std::int64_t>(fitting, 1, most)));
  kernel.shared_memory_per_cta = base::Bytes(stage_bytes(kernel) * kernel.stages);
  const sm::Occupancy held = sm::occupancy(resources(kernel), sm);
  kernel.ctas_per_sm = held.ctas;
  kernel.occupancy_limit = held.limited_by;
  if (kernel.tensor_memory() && held.ctas >= kAccumulatorsInTensorMemory) {
    kernel.ctas_per_sm = kAccumulatorsInTensorMemory;
    kernel.occupancy_limit = "tensor memory";
  }
  kernel.carve_out = held.carve_out;
}

/// Why the kernel cannot run on the SM, or nothing.
std::optional<std::string> misfit(const GemmKernel& kernel, const sm::SmSpec& sm) {
  const int vector_rows = kernel.problem.vector_rows;
  if (vector_rows > 0 && vector_rows % kernel.cta_tile.m != 0) {
    return "is " + std::to_string(kernel.cta_tile.m) + " rows high, and blocks of " + std::to_string(vector_rows) +
           " rows share their columns";
  }
  if (kernel.registers_per_thread > sm.max_registers_per_thread) {
    return "needs " + std::to_string(kernel.registers_per_thread) + " registers per thread, of " +
           std::to_string(sm.max_registers_per_thread);
  }
  if (kernel.staged_in_registers() && kernel.stages > kStagesThroughRegisters) {
    return "has " + std::to_string(kernel.stages) + " stages, and without asynchronous copies there are at most " +
           std::to_string(kStagesThroughRegisters);
  }
  if (kernel.shared_memory_per_cta > sm.max_shared_memory_per_cta) {
    return "needs " + std::to_string(kernel.shared_memory_per_cta.count()) + " bytes of shared memory per CTA, of " +
           std::to_string(sm.max_shared_memory_per_cta.count());
  }
  if (kernel.ctas_per_sm < 1 && kernel.occupancy_limit != "warps") {
    return "needs more " + std::string(kernel.occupancy_limit) + " than an SM has";
  }
  if (kernel.ctas_per_sm < 1) {
    return "has " + std::to_string(kernel.warps()) + " warps, more than one SM can hold";
  }
  return std::nullopt;
}

GemmKernel kernel_with(const GemmProblem& problem, const mma::MmaInstruction& instruction, const TileShape& tile,
                       std::int64_t tile_k) {
  GemmKernel kernel;
  kernel.problem = problem;
  kernel.instruction = instruction;
  kernel.executed = instruction;
  kernel.cta_tile = {tile.cta_m, tile.cta_n, tile_k};
  kernel.warp_tile = {tile.warp_m, tile.warp_n, instruction.shape.k};
  return kernel;
}

/// Logical k of `bytes` of A as stored in `bits` of an element, in whole instructions.
std::int64_t depth_of(int bytes, int bits, const mma::MmaInstruction& instruction) {
  const std::int64_t stored = std::int64_t{bytes} * 8 / bits;
  return base::ceil_div(stored, instruction.compressed_k()) * instruction.shape.k;
}

}  // namespace

mma::MmaInstruction kernel_instruction(const GemmProblem& problem, const KernelTarget& target) {
  const mma::MmaDesign design = target.sm.tensor_core.mma_design();
  const sparsity::Pattern hardware = sparsity::hardware_pattern(problem.dtype);
  const sparsity::Pattern pattern = problem.pattern.value_or(hardware);
  mma::MmaInstruction instruction = design == mma::MmaDesign() && pattern == hardware
                                        ? mma::gemm_instruction(target.instruction_set, problem.dtype, problem.sparse)
                                        : mma::gemm_instruction(problem.dtype, problem.sparse, design, pattern);
  if (problem.storage.block_scaled()) {
    instruction.scales = mma::gemm_scales(problem.dtype, problem.storage.scale_block);
  }
  return instruction;
}

bool is_explored(const mma::MmaInstruction& instruction) {
  constexpr std::array<std::string_view, 3> kShapes{"ampere", "turing", "volta"};
  return !instruction.is_asynchronous() &&
         std::none_of(kShapes.begin(), kShapes.end(), [&](std::string_view architecture) {
           return instruction == mma::gemm_instruction(architecture, instruction.a_type, instruction.sparse);
         });
}

std::int64_t GemmKernel::stage_bytes(isa::Operand operand) const {
  if (operand == isa::Operand::kMetadata) {
    const std::int64_t instructions = cta_tile.k / instruction.shape.k;
    return cta_tile.m * instructions * instruction.metadata_bits_per_row() / 8;
  }
  const bool is_b = operand == isa::Operand::kB;
  const std::int64_t rows = is_b ? cta_tile.n / cta_group : cta_tile.m;
  const std::int64_t elements = rows * (is_b ? cta_tile.k : compressed_k(cta_tile.k));
  const std::int64_t scales = problem.storage.scale_bits(!is_b, rows * cta_tile.k);
  return (elements * problem.bits_of(operand) + scales) / 8;
}

std::int64_t GemmKernel::loaded_a_registers() const {
  const int bits = numerics::storage_bits(problem.dtype);
  return base::ceil_div(std::int64_t{mma::operand_registers(instruction).a} * problem.storage.a_bits(bits), bits);
}

double GemmKernel::dequantise_slots() const {
  const double elements = instruction.shape.m * instruction.compressed_k();
  return elements / mma::kWarpLanes * problem.storage.dequantise_operations(problem.dtype);
}

std::optional<isa::Operand> GemmKernel::multicast() const {
  if (cluster_ctas == 1) {  // asked for every copy
    return std::nullopt;
  }
  const bool along_m = tiles_m() > 1 && cta_group == 1, along_n = tiles_n() > 1;
  if (!along_m && !along_n) {
    return std::nullopt;
  }
  const bool larger_b = stage_bytes(isa::Operand::kB) >= stage_bytes(isa::Operand::kA);
  return along_m && (larger_b || !along_n) ? isa::Operand::kB : isa::Operand::kA;
}

int GemmKernel::readers(isa::Operand operand, const CtaTile& where) const {
  const std::optional<isa::Operand> common = multicast();
  const bool shared = common && (operand == isa::Operand::kB) == (*common == isa::Operand::kB);
  if (!shared || operand == isa::Operand::kPartialSum) {
    return 1;
  }
  const bool is_b = operand == isa::Operand::kB;
  const std::int64_t index = is_b ? where.tile_m : where.tile_n;
  const std::int64_t tiles = is_b ? tiles_m() : tiles_n();
  return static_cast<int>(std::min<std::int64_t>(cluster_ctas, tiles - index / cluster_ctas * cluster_ctas));
}

void GemmKernel::cut_k(int slices) {
  split_k = slices;
  split_k = static_cast<int>(base::ceil_div(all_k_tiles(), k_tiles()));
}

std::int64_t GemmKernel::k_tiles_of(std::int64_t tile) const {
  const std::int64_t slice = tile / (tiles_m() * tiles_n()) % split_k;
  return std::min(k_tiles(), all_k_tiles() - slice * k_tiles());
}

std::int64_t GemmKernel::issued_macs() const {
  const std::int64_t depth = compressed_k(base::round_up(problem.shape.k, cta_tile.k));
  std::optional<std::int64_t> macs = problem.batch;
  for (const std::int64_t factor : {tiles_m(), tiles_n(), cta_tile.m, cta_tile.n, depth}) {
    macs = macs ? base::checked_multiply(*macs, factor) : std::nullopt;
  }
  if (!macs) {
    throw base::InputError(std::to_string(problem.shape.m) + " x " + std::to_string(problem.shape.n) + " x " +
                           std::to_string(problem.shape.k) + ", batch " + std::to_string(problem.batch) +
                           ": the multiply-accumulates of whole tiles do not fit 64 bits");
  }
  return *macs;
}

CtaTile GemmKernel::rasterise(std::int64_t cta) const {
  const RasterPiece at = first_piece(*this, cta, cta + 1);
  return {at.slice / split_k, at.first / at.width, at.first_n + at.first % at.width, at.slice % split_k};
}

KernelResult GemmKernel::result(std::int64_t sms) const {
  const std::int64_t launched = WorkSchedule::ctas_launched(*this, ctas(), k_tiles(), sms);
  return {problem.as_asked(cta_tile),
          problem.as_asked(warp_tile),
          executed,
          mma::operand_registers(instruction).metadata,
          stages,
          split_k,
          stream_k(),
          persistent(),
          std::max(cluster_ctas, cta_group),
          cta_group,
          swizzle,
          searched,
          ctas() / split_k,
          launched,
          ctas_per_sm,
          occupancy_limit,
          carve_out,
          base::ceil_div(launched, sms * ctas_per_sm),
          promotes ? all_k_tiles() : 0,
          problem.transposed};
}

namespace {

/// What the tile is made of, wgmma.m64nNk.. or tcgen05.mma.m128nNk.., with the operands of
/// `instruction`; that one itself where it is of mma.sync or the SM has no other.
mma::MmaInstruction executed_with(const TileShape& tile, const mma::MmaInstruction& instruction, const sm::SmSpec& sm) {
  mma::MmaInstruction result = instruction;
  if (tile.family != mma::MmaFamily::kMma && sm.has(tile.family)) {
    result.family = tile.family;
    result.shape.m = asynchronous_rows(tile.family);
    result.shape.n = tile.cta_n;
  }
  return result;
}

}  // namespace

mma::MmaInstruction usual_instruction(const GemmProblem& problem, const KernelTarget& target) {
  const mma::MmaInstruction instruction = kernel_instruction(problem, target);
  for (const mma::MmaFamily family : {mma::MmaFamily::kWgmma, mma::MmaFamily::kTcgen05}) {
    const mma::MmaInstruction executed = executed_with({.cta_n = 64, .family = family}, instruction, target.sm);
    if (executed.is_asynchronous() && mma::find_step_rules(target.numerics, executed)) {
      return executed;
    }
  }
  return instruction;
}

namespace {

TileShape turned(TileShape tile) {
  std::swap(tile.cta_m, tile.cta_n);
  std::swap(tile.warp_m, tile.warp_n);
  return tile;
}

bool divides(const mma::MmaInstruction& instruction, const TileShape& tile) {
  return tile.warp_m % instruction.shape.m == 0 && tile.warp_n % instruction.shape.n == 0;
}

}  // namespace

std::optional<GemmKernel> fitted_kernel(const GemmProblem& asked, const TileShape& shape,
                                        const KernelOverrides& overrides, const KernelTarget& target,
                                        std::string& reason) {
  if (shape.transposed && (asked.sparse || !asked.storage.plain())) {
    reason = "is transposed, which those of sparse or quantised weights are not";
    return std::nullopt;
  }
  const TileShape tile = shape.transposed ? turned(shape) : shape;
  const GemmProblem problem = shape.transposed ? asked.turned() : asked;
  const mma::MmaInstruction instruction = kernel_instruction(problem, target);
  const mma::MmaInstruction executed = executed_with(tile, instruction, target.sm);
  const bool asynchronous = executed.is_asynchronous();
  const int bits = problem.bits_of(isa::Operand::kA);
  const std::int64_t depth = asynchronous
                                 ? depth_of(kWgmmaTileBytes, bits, instruction)
                                 : std::max(depth_of(kTileBytes, bits, instruction), shortest_depth(instruction));
  GemmKernel kernel = kernel_with(problem, instruction, tile, depth);
  if (!asynchronous && !divides(instruction, tile)) {
    reason = "has warp tiles that no " + instruction.ptx_name() + " divides";
    return std::nullopt;
  }
  if (!asynchronous && stage_bytes(kernel) <= kSmallStageBytes) {
    kernel = kernel_with(problem, instruction, tile, 2 * depth);
  }
  if (tile.cta_k % instruction.shape.k != 0) {
    reason = "is no whole number of " + instruction.ptx_name() + " deep";
    return std::nullopt;
  }
  // B is not compressed: with 256 columns too few k-tiles of 128 stored bytes of A would fit.
  if (tile.cta_k > 0) {
    kernel = kernel_with(problem, instruction, tile, tile.cta_k);
  } else if (executed.family == mma::MmaFamily::kWgmma && problem.sparse &&
             target.sm.max_shared_memory_per_cta.count() / stage_bytes(kernel) < kEnoughSparseStages) {
    kernel = kernel_with(problem, instruction, tile, depth / 2);
  }
  if (asynchronous) {
    kernel.executed = executed;
    kernel.cta_group = tile.cta_group;
    kernel.cluster_ctas = tile.cluster_ctas > 0 ? tile.cluster_ctas : target.launch.cluster_ctas;
    kernel.promotes = executed.family == mma::MmaFamily::kWgmma && !problem.sparse && numerics::is_fp8(problem.dtype) &&
                      target.library.accumulation_for(problem.conditions) == Fp8Accumulation::kPromoted;
  }
  kernel.swizzle = target.library.swizzle_for(problem.sparse);
  if (problem.dtype == numerics::DataType::kF16) {
    kernel.reduction_scheme = target.library.f16_reduction_scheme;
  }
  set_resources(kernel, overrides.stages, target);
  if (const auto why = misfit(kernel, target.sm)) {
    reason = *why;
    return std::nullopt;
  }
  return kernel;
}

bool GemmKernel::copies_ahead() const {
  constexpr std::int64_t kEnoughStages = 3;
  const int taking_turns = tensor_memory() ? ctas_per_sm : 1;
  return stages * taking_turns >= std::min(kEnoughStages, all_k_tiles() + 1);
}

void use_all_stages(GemmKernel& kernel, const KernelTarget& target) {
  if (!kernel.tensor_memory() || kernel.ctas_per_sm == 1 || kernel.ctas() > target.sms) {
    return;
  }
  const sm::SmSpec& sm = target.sm;
  const std::int64_t fitting = sm.max_shared_memory_per_cta.count() / stage_bytes(kernel);
  set_resources(kernel, static_cast<int>(std::min<std::int64_t>(fitting, kMostStages)), target);
}

GemmKernel forced_kernel(const GemmProblem& problem, const KernelOverrides& overrides, const KernelTarget& target) {
  const base::GemmShape& tile = *overrides.cta_tile;
  const mma::MmaInstruction instruction = kernel_instruction(problem, target);
  const std::string name = std::to_string(tile.m) + "x" + std::to_string(tile.n) + "x" + std::to_string(tile.k);
  const std::int64_t depth = shortest_depth(instruction);
  const int rows = std::max(instruction.shape.m, kLeastWarpRows);
  if (tile.m <= 0 || tile.m % rows != 0 || tile.n <= 0 || tile.n % instruction.shape.n != 0 || tile.k <= 0 ||
      tile.k % depth != 0 || std::max({tile.m, tile.n, tile.k}) > kMaxTileExtent) {
    throw base::InputError("tile " + name + " does not fit " + instruction.ptx_name() + ": m must be a multiple of " +
                           std::to_string(rows) + ", n of " + std::to_string(instruction.shape.n) + ", k of " +
                           std::to_string(depth) + ", each at most " + std::to_string(kMaxTileExtent));
  }
  std::optional<GemmKernel> best;
  std::string reason = "cannot be split into at most 32 warps";
  for (const int warp_m : {64, 32, kLeastWarpRows}) {
    for (const int warp_n : {64, 32, 16, 8}) {
      if (tile.m % warp_m != 0 || tile.n % warp_n != 0 || !divides(instruction, {0, 0, warp_m, warp_n}) ||
          (tile.m / warp_m) * (tile.n / warp_n) > kMaxWarpsPerCta) {
        continue;
      }
      GemmKernel kernel = kernel_with(problem, instruction,
                                      {static_cast<int>(tile.m), static_cast<int>(tile.n), warp_m, warp_n}, tile.k);
      set_resources(kernel, overrides.stages, target);
      if (const auto why = misfit(kernel, target.sm)) {
        reason = *why;
        continue;
      }
      const auto preference = [](const GemmKernel& k) {
        const std::int64_t enough_warps = k.warps() >= 4 ? 1 : 0;
        return std::pair(enough_warps, -bytes_read_by_warps(k));
      };
      if (!best || preference(kernel) > preference(*best)) {
        best = kernel;
      }
    }
  }
  if (!best) {
    throw base::InputError("tile " + name + " with " + instruction.ptx_name() + " " + reason);
  }
  return *best;
}

}  // namespace sptc::kernels
