// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_choice.h"

#include "models/mma/register_map.h"
#include "sim/kernels/kernel_candidates.h"
#include "sim/kernels/kernel_estimate.h"
#include "sim/kernels/register_allocation.h"
#include "sim/kernels/traffic_counts.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::kernels {
namespace {

using numerics::DataType;

TEST(ChooseKernel, RespectsEveryResourceOfTheSm) {
  const sm::SmSpec& sm = a100().sm;
  for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kS8}) {
    for (const bool sparse : {false, true}) {
      for (const std::int64_t size : {1, 100, 1000, 10000}) {
        const GemmKernel kernel = kernel_for(problem(size, 2 * size, 1024, sparse, type));
        EXPECT_LE(kernel.registers_per_thread, sm.max_registers_per_thread);
        EXPECT_LE(kernel.shared_memory_per_cta.count(), sm.max_shared_memory_per_cta.count());
        EXPECT_GE(kernel.ctas_per_sm, 1);
        EXPECT_LE(kernel.ctas_per_sm * kernel.warps(), sm.max_warps);
        EXPECT_LE(
            std::int64_t{kernel.ctas_per_sm} * kernel.warps() * 32 * base::round_up(kernel.registers_per_thread, 8),
            sm.registers);
        EXPECT_LE(kernel.ctas_per_sm * kernel.shared_memory_per_cta.count(), sm.shared_memory.count());
        EXPECT_EQ(kernel.cta_tile.m % kernel.warp_tile.m, 0);
        EXPECT_EQ(kernel.cta_tile.n % kernel.warp_tile.n, 0);
        EXPECT_GE(kernel.stages, 1);
        EXPECT_EQ(kernel.instruction, mma::gemm_instruction(type, sparse));
      }
    }
  }
}

TEST(ChooseKernel, TakesTheSplitOfKWithTheLeastEstimatedTime) {
  const KernelTarget target = a100().kernel_target();
  for (const bool sparse : {false, true}) {
    // With fewer output tiles than SMs, and with more of them, whose last round is not full.
    for (const base::GemmShape& shape :
         {base::GemmShape{1024, 64, 8192}, base::GemmShape{18432, 256, 28672}, base::GemmShape{8192, 512, 8192}}) {
      GemmProblem what = problem(shape.m, shape.n, shape.k, sparse);
      what.conditions.algorithm = Algorithm::kBest;
      const GemmKernel chosen = choose_kernel(what, {}, target, false);
      EXPECT_EQ(chosen.split_k > 1, !sparse) << shape.m;
      if (sparse) {
        continue;  // whose kernels the library does not cut
      }
      for (const int split : {1, 2, 3, 4, 5, 6, 8}) {
        const GemmKernel other = choose_kernel(what, {std::nullopt, std::nullopt, split}, target, false);
        EXPECT_LE(estimate(chosen, target).time_us(1), estimate(other, target).time_us(1)) << split;
      }
    }
  }
}

/// What the heuristic takes, found the long way: all kernels of the library, each with its bytes.
/// Nothing where it has none.
std::optional<GemmKernel> taken_of_all(const GemmProblem& what, const KernelTarget& target) {
  constexpr double kMostLost = 1.1;
  std::string reason;
  std::vector<GemmKernel> all;
  double least = std::numeric_limits<double>::infinity();
  for (const GemmKernel& uncut : fitting_kernels(what, {}, target, false, reason)) {
    const int most = target.library.most_split_k_for(what.sparse, what.is_integer());
    for (const int slices : slices_of_k(uncut, {}, most, false)) {
      GemmKernel& kernel = all.emplace_back(uncut);
      kernel.cut_k(slices);
      use_all_stages(kernel, target);
      least = std::min(least, closed_form_us(kernel, target));
    }
  }
  const GemmKernel* taken = nullptr;
  double lightest = std::numeric_limits<double>::infinity();
  for (const GemmKernel& kernel : all) {
    const double weight = estimate(kernel, target).without_dram().time_us(1);
    if (weight < lightest && closed_form_us(kernel, target) <= kMostLost * least) {
      taken = &kernel;
      lightest = weight;
    }
  }
  return taken == nullptr ? std::nullopt : std::optional(*taken);
}

TEST(ChooseKernel, TakesTheOneThatALookAtAllOfThemFinds) {
  for (const char* const name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "b200", "t4"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    const KernelTarget target = gpu.kernel_target();
    for (const base::GemmShape& shape :
         {base::GemmShape{64, 64, 64}, {4096, 16, 4096}, {512, 512, 8192}, {1000, 3000, 700}, {4096, 4096, 4096}}) {
      for (const bool sparse : {false, gpu.sm.tensor_core.selector_inputs > 1}) {
        const GemmProblem what{shape, 1, DataType::kF16, sparse};
        const GemmKernel chosen = choose_kernel(what, {}, target, false);
        const std::optional<GemmKernel> taken = taken_of_all(what, target);
        if (!taken) {
          continue;  // the library has larger tiles alone: see forced_kernel()
        }
        EXPECT_EQ(chosen.cta_tile, taken->cta_tile) << name << ": " << shape.m << " x " << shape.n;
        EXPECT_EQ(chosen.warp_tile, taken->warp_tile);
        EXPECT_EQ(chosen.split_k, taken->split_k);
        EXPECT_EQ(chosen.stages, taken->stages);
        const KernelEstimate form = estimate(chosen, target);
        EXPECT_LE(least_us(chosen, target), form.time_us(1));
        EXPECT_LE(least_us(chosen, target), form.without_dram().time_us(1));
      }
    }
  }
}

TEST(ChooseKernel, TakesPartialSumsOfF16AsTheLibraryDoes) {
  gpu::GpuSpec gpu = a100();
  const auto stored = [&](DataType type, ReductionScheme scheme) {
    gpu.kernels.f16_reduction_scheme = scheme;
    const GemmKernel kernel =
        choose_kernel(problem(1024, 64, 8192, false, type), {{}, {}, 4}, gpu.kernel_target(), false);
    EXPECT_EQ(kernel.split_k, 4);
    return stored_bytes(kernel);
  };
  constexpr std::int64_t kElements = 4 * 1024 * 64;
  EXPECT_EQ(stored(DataType::kF16, ReductionScheme::kComputeType), 4 * kElements);
  EXPECT_EQ(stored(DataType::kF16, ReductionScheme::kOutputType), 2 * kElements);
  EXPECT_EQ(stored(DataType::kBf16, ReductionScheme::kOutputType), 4 * kElements);
}

TEST(ChooseKernel, KeepsRegistersForTheAccumulatorsThatFp8IsPromotedTo) {
  gpu::GpuSpec h100 = config::load_architecture("h100-sxm5-80gb").gpu;
  const auto chosen = [&](DataType type, Fp8Accumulation accumulation) {
    h100.kernels.fp8_accumulation = accumulation;
    return choose_kernel(problem(8192, 8192, 8192, false, type), {}, h100.kernel_target(), false);
  };
  EXPECT_FALSE(chosen(DataType::kF16, Fp8Accumulation::kPromoted).promotes);
  EXPECT_FALSE(chosen(DataType::kE4m3, Fp8Accumulation::kFast).promotes);
  const GemmKernel promoted = chosen(DataType::kE4m3, Fp8Accumulation::kPromoted);
  EXPECT_TRUE(promoted.promotes);
  EXPECT_LE(promoted.registers_per_thread, h100.sm.max_registers_per_thread);
  // Each thread has a 128th of 64 rows, twice.
  EXPECT_GT(promoted.registers_per_thread, promoted.cta_tile.n);
}

TEST(ChooseKernel, FollowsTheSmAndTheLibraryThoughCandidatesAreKept) {
  const GemmProblem what = problem(2048, 2048, 2048);
  const auto chosen = [&](const gpu::GpuSpec& gpu) { return choose_kernel(what, {}, gpu.kernel_target(), false); };
  const GemmKernel before = chosen(a100());
  gpu::GpuSpec small = a100();
  small.sm.max_shared_memory_per_cta = base::Bytes(before.shared_memory_per_cta.count() / 2);
  EXPECT_LE(chosen(small).shared_memory_per_cta.count(), before.shared_memory_per_cta.count() / 2);
  gpu::GpuSpec without = a100();
  std::erase_if(without.kernels.tiles, [&](const TileShape& tile) {
    return tile.cta_m == before.cta_tile.m && tile.cta_n == before.cta_tile.n;
  });
  const GemmKernel other = chosen(without);
  EXPECT_NE(std::pair(other.cta_tile.m, other.cta_tile.n), std::pair(before.cta_tile.m, before.cta_tile.n));
  const GemmKernel again = chosen(a100());
  EXPECT_EQ(again.cta_tile.m, before.cta_tile.m);
  EXPECT_EQ(again.cta_tile.n, before.cta_tile.n);
  EXPECT_EQ(again.shared_memory_per_cta, before.shared_memory_per_cta);
  EXPECT_EQ(chosen(a100()).problem.shape.k, 2048);
}

TEST(ChooseKernel, BuildsOnTheInstructionThatTheGenerationHas) {
  struct Expected {
    const char* gpu;
    DataType type;
    mma::MmaShape shape;
    int stages;  ///< at most
  };
  for (const Expected& expected :
       {Expected{"v100-sxm2-16gb", DataType::kF16, {8, 8, 4}, 2}, Expected{"t4", DataType::kF16, {16, 8, 8}, 2},
        Expected{"rtx2080ti", DataType::kS8, {8, 8, 16}, 2}, Expected{"a40", DataType::kF16, {16, 8, 16}, 4}}) {
    const gpu::GpuSpec gpu = config::load_architecture(expected.gpu).gpu;
    const GemmKernel kernel =
        choose_kernel(problem(1000, 2000, 1024, false, expected.type), {}, gpu.kernel_target(), false);
    EXPECT_EQ(kernel.instruction.shape, expected.shape) << expected.gpu;
    EXPECT_LE(kernel.stages, expected.stages) << expected.gpu;
    EXPECT_LE(kernel.registers_per_thread, gpu.sm.max_registers_per_thread) << expected.gpu;
    // A tile is as deep on every generation: 64 bytes of A, small tiles 128.
    const std::int64_t bytes = kernel.cta_tile.k * numerics::storage_bits(expected.type) / 8;
    EXPECT_TRUE(bytes == 64 || bytes == 128) << expected.gpu << ": " << bytes;
    EXPECT_EQ(kernel.issued_macs() % kernel.instruction.macs(), 0);
  }
}

TEST(ChooseKernel, RefusesToCarryTheValuesOfSlicesOfK) {
  KernelOverrides sliced;
  sliced.split_k = 2;
  for (const bool forced : {false, true}) {
    if (forced) {
      sliced.cta_tile = base::GemmShape{64, 64, 64};
    }
    support::expect_input_error([&] { choose_kernel(problem(256, 256, 512), sliced, a100().kernel_target(), true); },
                                {"computes no kernels that cut K: use split-k with --fidelity timing or analytic"});
  }
}

TEST(ChooseKernel, RefusesMoreSlicesOfKThanThereAreKTiles) {
  const auto choose = [](const GemmProblem& what, const KernelOverrides& overrides) {
    return choose_kernel(what, overrides, a100().kernel_target(), false);
  };
  support::expect_input_error(
      [&] {
        choose(problem(64, 64, 64), {{}, {}, 64});
      },
      {"split-k 64 is not in 1..1", "64 x 64 x 64, dense, has no more"});
  support::expect_input_error(
      [&] {
        choose(problem(1024, 1024, 1024, true), {{}, {}, 33});
      },
      {"split-k 33 is not in 1..16", "sparse, has no more"});
  // The least deep of the tiles that fit; those that are deeper are left out.
  EXPECT_EQ(choose(problem(1024, 1024, 1024), {{}, {}, 32}).cta_tile.k, 32);
  const base::GemmShape tile{128, 128, 64};
  support::expect_input_error([&] { choose(problem(256, 256, 1000), {tile, {}, 17}); }, {"split-k 17 is not in 1..16"});
  EXPECT_EQ(choose(problem(256, 256, 1000), {tile, {}, 16}).split_k, 16);
}

TEST(ChooseKernel, TakesAKernelOfMmaSyncForValuesWhereTheLibraryHasNone) {
  for (const char* const name : {"h100-sxm5-80gb", "b200"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
      for (const bool sparse : {false, true}) {
        const GemmProblem of = problem(300, 200, 500, sparse, type);
        const GemmKernel of_library = choose_kernel(of, {}, gpu.kernel_target(), false);
        const bool is_old = !sparse && type == DataType::kS8;
        EXPECT_NE(of_library.executed.is_asynchronous(), is_old) << name;
        const GemmKernel kernel = choose_kernel(of, {}, gpu.kernel_target(), true);
        EXPECT_FALSE(kernel.executed.is_asynchronous()) << name;
        EXPECT_EQ(kernel.instruction, mma::gemm_instruction(type, sparse)) << name;
      }
    }
  }
}

TEST(ChooseKernel, DenseIntegersTakeTheKernelsThatTheLibraryHasForThem) {
  gpu::GpuSpec gpu = config::load_architecture("h100-sxm5-80gb").gpu;
  gpu.kernels.integer_tiles = {{64, 64, 32, 32}};
  gpu.kernels.integer_most_split_k = 1;
  const auto chosen = [&](DataType type, bool sparse) {
    return choose_kernel(problem(64, 64, 65536, sparse, type), {}, gpu.kernel_target(), false);
  };
  EXPECT_FALSE(chosen(DataType::kS8, false).executed.is_asynchronous());
  EXPECT_EQ(chosen(DataType::kS8, false).split_k, 1);
  EXPECT_TRUE(chosen(DataType::kS8, true).executed.is_asynchronous());
  EXPECT_TRUE(chosen(DataType::kE4m3, false).executed.is_asynchronous());
  EXPECT_GT(chosen(DataType::kE4m3, false).split_k, 1);
}

TEST(ChooseKernel, RefusesATileThatReachesOverBlocksOfRowsWithColumnsOfTheirOwn) {
  GemmProblem of = problem(512, 512, 512, true);
  of.vector_rows = 64;
  const auto choose = [&](const base::GemmShape& tile) {
    return choose_kernel(of, {tile, {}, {}}, a100().kernel_target(), false);
  };
  EXPECT_EQ(choose({64, 128, 64}).cta_tile.m, 64);
  support::expect_input_error(
      [&] {
        choose({128, 128, 64});
      },
      {"tile 128x128x64", "is 128 rows high, and blocks of 64 rows"});
}

TEST(ChooseKernel, IsMadeOfWhatTheTileSaysWhereTheSmHasIt) {
  gpu::GpuSpec blackwell = config::load_architecture("b200").gpu;
  const auto executed = [&](const gpu::GpuSpec& gpu) {
    return choose_kernel(problem(300, 200, 500), {}, gpu.kernel_target(), false).executed;
  };
  blackwell.kernels.tiles = {{128, 32, 32, 32, mma::MmaFamily::kTcgen05}};
  EXPECT_EQ(executed(blackwell).family, mma::MmaFamily::kTcgen05);
  gpu::GpuSpec without = blackwell;
  without.sm.tcgen05_interval_cycles = 0;
  EXPECT_EQ(executed(without), mma::gemm_instruction(DataType::kF16, false));
  blackwell.kernels.tiles[0].family = mma::MmaFamily::kMma;
  EXPECT_EQ(executed(blackwell), mma::gemm_instruction(DataType::kF16, false));
}

TEST(ChooseKernel, CountsTheRegistersInWhichATileWaits) {
  gpu::GpuSpec gpu = a100();
  const KernelOverrides tile{base::GemmShape{128, 128, 32}, 2, {}};
  const GemmKernel copied = choose_kernel(problem(512, 512, 512), tile, gpu.kernel_target(), false);
  gpu.sm.async_copy_bytes = 0;
  const GemmKernel staged = choose_kernel(problem(512, 512, 512), tile, gpu.kernel_target(), false);
  ASSERT_EQ(copied.warps(), 4);
  // A and B, 8 KiB each, in the registers of 128 threads.
  EXPECT_EQ(staged.registers_per_thread, copied.registers_per_thread + 2 * 16);
  const RegisterAllocation registers(staged);
  EXPECT_EQ(registers.staged(isa::Operand::kA).base + 16, registers.staged(isa::Operand::kB).base);
  EXPECT_EQ(registers.staged(isa::Operand::kB).base + 16, registers.count());
  EXPECT_EQ(registers.staged(isa::Operand::kA).base, RegisterAllocation(copied).count());
}

TEST(ChooseKernel, HasAtMostTwoStagesWhereTilesPassTheRegisters) {
  const gpu::GpuSpec t4 = config::load_architecture("t4").gpu;
  support::expect_input_error(
      [&] {
        choose_kernel(problem(512, 512, 512), {{}, 3, {}}, t4.kernel_target(), false);
      },
      {"without asynchronous copies there are at most 2"});
}

// One more than there are k-tiles has them all under way; the next one would cost another CTA its
// place. In any order: kernels are remembered.
TEST(ChooseKernel, HasNoMoreStagesThanItsKTilesFill) {
  for (const bool sparse : {false, true}) {
    for (const std::int64_t k : {4096, 32, 128, 4096, 200, 64, 1024, 32}) {
      const GemmKernel kernel = kernel_for(problem(11008, 333, k, sparse));
      EXPECT_LE(kernel.stages, kernel.all_k_tiles() + 1) << k;
      EXPECT_GE(kernel.stages, 2) << k;
    }
    EXPECT_EQ(kernel_for(problem(11008, 333, 4096, sparse)).stages, 4);
  }
}

// SMs with one CTA of two stages each wait for their k-tiles together; with more rounds they are
// drawn apart.
TEST(ChooseKernel, TakesTwoStagesOnlyWhereMoreRoundsFollow) {
  const gpu::GpuSpec a40 = config::load_architecture("a40").gpu;
  GemmProblem what = problem(4096, 256, 8192, true);
  what.conditions.algorithm = Algorithm::kBest;
  KernelOverrides wide;
  wide.cta_tile = base::GemmShape{256, 128, 64};
  EXPECT_EQ(choose_kernel(what, wide, a40.kernel_target(), false).stages, 2);
  EXPECT_EQ(choose_kernel(what, {}, a40.kernel_target(), false).stages, 3);
  const gpu::GpuSpec l40s = config::load_architecture("l40s").gpu;
  const GemmKernel many = choose_kernel(problem(8192, 8192, 8192, true), {}, l40s.kernel_target(), false);
  EXPECT_EQ(many.stages, 2);
  EXPECT_GT(many.ctas(), 142);
  KernelOverrides two;
  two.stages = 2;
  EXPECT_EQ(choose_kernel(what, two, a40.kernel_target(), false).stages, 2);
  gpu::GpuSpec small = a40;  // where none can, the fastest one runs
  small.sm.max_shared_memory_per_cta = base::Bytes(13 * 1024);
  EXPECT_LT(choose_kernel(what, {}, small.kernel_target(), false).stages, 3);
}

// Two CTAs of an SM take turns with tensor memory, each with half of the shared memory.
TEST(ChooseKernel, GivesALoneCtaOfTensorMemoryTheStagesOfTwo) {
  const gpu::GpuSpec b200 = config::load_architecture("b200").gpu;
  KernelOverrides tile;
  tile.cta_tile = base::GemmShape{128, 256, 64};
  tile.cta_group = 1;
  const auto of = [&](std::int64_t columns) {
    return choose_kernel(problem(128 * 37, columns, 4096), tile, b200.kernel_target(), false);
  };
  const GemmKernel alone = of(4 * 256), turns = of(4 * 256 + 1);  // 148 SMs
  ASSERT_EQ(alone.ctas(), 148);
  EXPECT_EQ(alone.ctas_per_sm, 1);
  EXPECT_EQ(alone.stages, 4);
  EXPECT_EQ(turns.ctas_per_sm, 2);
  EXPECT_EQ(turns.stages, 2);
}

TEST(ChooseKernel, FindsTheFastestTileAndStagesThatFitAnSmWithLessSharedMemory) {
  for (const char* const name : {"b200", "h100-sxm5-80gb"}) {
    gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    for (const int bytes : {92160, 75000, 69632, 51200}) {
      gpu.sm.max_shared_memory_per_cta = base::Bytes(bytes);
      const KernelTarget target = gpu.kernel_target();
      for (const bool sparse : {false, true}) {
        GemmProblem what = problem(4096, 4096, 4096, sparse);
        what.conditions.algorithm = Algorithm::kBest;
        const double chosen = estimate(choose_kernel(what, {}, target, false), target).time_us(1);
        for (const TileShape& tile : gpu.kernels.tiles_for(sparse, false, Algorithm::kHeuristic)) {
          if (!tile.is_for(what.dtype)) {
            continue;
          }
          for (const int stages : {1, 2, 3, 4}) {
            KernelOverrides named;
            named.stages = stages;
            std::string reason;
            const auto kernel = fitted_kernel(what, tile, named, target, reason);
            EXPECT_LE(chosen, kernel ? estimate(*kernel, target).time_us(1) : chosen)
                << name << ", " << bytes << " bytes: " << tile.cta_m << "x" << tile.cta_n << ", " << stages
                << " stages";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sptc::kernels
