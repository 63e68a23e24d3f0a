// SPDX-License-Identifier: Apache-2.0
#include "models/mma/register_map.h"
#include "sim/config/architecture.h"
#include "sim/gemm/kernel_choice.h"
#include "sim/gemm/raster_pieces.h"
#include "sim/gemm/register_allocation.h"
#include "sim/gemm/traffic_counts.h"
#include "sim/gemm/warp_program.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::sim {
namespace {

using numerics::DataType;

const GpuSpec& a100() {
  static const GpuSpec spec = load_architecture("a100-sxm4-80gb").gpu;
  return spec;
}

GemmKernel kernel_for(const GemmProblem& problem, const KernelOverrides& overrides = {}) {
  return choose_kernel(problem, overrides, a100().kernel_target(), true);
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, bool sparse = false,
                    DataType type = DataType::kF16, std::int64_t batch = 1) {
  return {{m, n, k}, batch, type, sparse};
}

TEST(Rasterise, GivesEveryTileOfEveryGemmToExactlyOneCta) {
  for (const auto& [m, n] : {std::pair{1, 1}, {64, 5000}, {5000, 64}, {2048, 2048}, {1111, 3333}}) {
    const GemmKernel kernel = kernel_for(problem(m, n, 64, false, DataType::kF16, 3));
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
    for (std::int64_t cta = 0; cta < kernel.ctas(); ++cta) {
      const CtaTile tile = kernel.rasterise(cta);
      EXPECT_GE(tile.tile_m, 0);
      EXPECT_LT(tile.tile_m, kernel.tiles_m());
      EXPECT_GE(tile.tile_n, 0);
      EXPECT_LT(tile.tile_n, kernel.tiles_n());
      EXPECT_LT(tile.batch, 3);
      seen.insert({tile.batch, tile.tile_m, tile.tile_n});
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), kernel.ctas()) << m << "x" << n;
    EXPECT_EQ(kernel.ctas(), 3 * kernel.tiles_m() * kernel.tiles_n());
  }
}

TEST(ChooseKernel, RespectsEveryResourceOfTheSm) {
  const SmSpec& sm = a100().sm;
  for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kS8}) {
    for (const bool sparse : {false, true}) {
      for (const std::int64_t size : {1, 100, 1000, 10000}) {
        const GemmKernel kernel = kernel_for(problem(size, 2 * size, 1024, sparse, type));
        EXPECT_LE(kernel.registers_per_thread, sm.max_registers_per_thread);
        EXPECT_LE(kernel.shared_memory_per_cta.count(), sm.max_shared_memory_per_cta.count());
        EXPECT_GE(kernel.ctas_per_sm, 1);
        EXPECT_LE(kernel.ctas_per_sm * kernel.warps(), sm.max_warps);
        EXPECT_LE(std::int64_t{kernel.ctas_per_sm} * kernel.warps() * 32 *
                      round_up(kernel.registers_per_thread, 8),
                  sm.registers);
        EXPECT_LE(kernel.ctas_per_sm * kernel.shared_memory_per_cta.count(),
                  sm.shared_memory.count());
        EXPECT_EQ(kernel.cta_tile.m % kernel.warp_tile.m, 0);
        EXPECT_EQ(kernel.cta_tile.n % kernel.warp_tile.n, 0);
        EXPECT_GE(kernel.stages, 1);
        EXPECT_EQ(kernel.instruction, mma::gemm_instruction(type, sparse));
      }
    }
  }
}

TEST(ChooseKernel, FollowsTheSmAndTheLibraryThoughCandidatesAreKept) {
  const GemmProblem what = problem(2048, 2048, 2048);
  const auto chosen = [&](const GpuSpec& gpu) {
    return choose_kernel(what, {}, gpu.kernel_target(), false);
  };
  const GemmKernel before = chosen(a100());
  GpuSpec small = a100();
  small.sm.max_shared_memory_per_cta = Bytes(before.shared_memory_per_cta.count() / 2);
  EXPECT_LE(chosen(small).shared_memory_per_cta.count(), before.shared_memory_per_cta.count() / 2);
  GpuSpec without = a100();
  std::erase_if(without.kernels.tiles, [&](const TileCandidate& tile) {
    return tile.cta_m == before.cta_tile.m && tile.cta_n == before.cta_tile.n;
  });
  const GemmKernel other = chosen(without);
  EXPECT_NE(std::pair(other.cta_tile.m, other.cta_tile.n),
            std::pair(before.cta_tile.m, before.cta_tile.n));
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
  for (const Expected& expected : {Expected{"v100-sxm2-16gb", DataType::kF16, {8, 8, 4}, 2},
                                   Expected{"t4", DataType::kF16, {16, 8, 8}, 2},
                                   Expected{"rtx2080ti", DataType::kS8, {8, 8, 16}, 2},
                                   Expected{"a40", DataType::kF16, {16, 8, 16}, 4}}) {
    const GpuSpec gpu = load_architecture(expected.gpu).gpu;
    const GemmKernel kernel = choose_kernel(problem(1000, 2000, 1024, false, expected.type), {},
                                            gpu.kernel_target(), false);
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
      sliced.cta_tile = GemmShape{64, 64, 64};
    }
    expect_input_error(
        [&] { choose_kernel(problem(256, 256, 512), sliced, a100().kernel_target(), true); },
        {"do not cut K: use split-k with --fidelity timing"});
  }
}

TEST(ChooseKernel, RefusesMoreSlicesOfKThanThereAreKTiles) {
  const auto choose = [](const GemmProblem& what, const KernelOverrides& overrides) {
    return choose_kernel(what, overrides, a100().kernel_target(), false);
  };
  expect_input_error(
      [&] {
        choose(problem(64, 64, 64), {{}, {}, 64});
      },
      {"split-k 64 is not in 1..1", "64 x 64 x 64, dense, has no more"});
  expect_input_error(
      [&] {
        choose(problem(1024, 1024, 1024, true), {{}, {}, 33});
      },
      {"split-k 33 is not in 1..16", "sparse, has no more"});
  // The least deep of the tiles that fit; those that are deeper are left out.
  EXPECT_EQ(choose(problem(1024, 1024, 1024), {{}, {}, 32}).cta_tile.k, 32);
  const GemmShape tile{128, 128, 64};
  expect_input_error(
      [&] {
        choose(problem(256, 256, 1000), {tile, {}, 17});
      },
      {"split-k 17 is not in 1..16"});
  EXPECT_EQ(choose(problem(256, 256, 1000), {tile, {}, 16}).split_k, 16);
}

TEST(ChooseKernel, TakesAKernelOfMmaSyncForValuesWhereTheLibraryHasNone) {
  for (const char* const name : {"h100-sxm5-80gb", "b200"}) {
    const GpuSpec gpu = load_architecture(name).gpu;
    for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
      for (const bool sparse : {false, true}) {
        const GemmProblem of = problem(300, 200, 500, sparse, type);
        const GemmKernel of_library = choose_kernel(of, {}, gpu.kernel_target(), false);
        EXPECT_TRUE(of_library.executed.is_asynchronous()) << name;
        const GemmKernel kernel = choose_kernel(of, {}, gpu.kernel_target(), true);
        EXPECT_FALSE(kernel.executed.is_asynchronous()) << name;
        EXPECT_EQ(kernel.instruction, mma::gemm_instruction(type, sparse)) << name;
      }
    }
  }
}

TEST(ChooseKernel, IsMadeOfWhatTheTileSaysWhereTheSmHasIt) {
  GpuSpec blackwell = load_architecture("b200").gpu;
  const auto executed = [&](const GpuSpec& gpu) {
    return choose_kernel(problem(300, 200, 500), {}, gpu.kernel_target(), false).executed;
  };
  blackwell.kernels.tiles = {{{128, 32, 32, 32, mma::MmaFamily::kTcgen05}, 95}};
  EXPECT_EQ(executed(blackwell).family, mma::MmaFamily::kTcgen05);
  GpuSpec without = blackwell;
  without.sm.tcgen05_interval_cycles = 0;
  EXPECT_EQ(executed(without), mma::gemm_instruction(DataType::kF16, false));
  blackwell.kernels.tiles[0].family = mma::MmaFamily::kMma;
  EXPECT_EQ(executed(blackwell), mma::gemm_instruction(DataType::kF16, false));
}

TEST(WarpProgram, MultipliesEveryFragmentOnceAStepOnEveryGeneration) {
  for (const char* name : {"v100-sxm2-16gb", "t4", "a100-sxm4-80gb"}) {
    const GpuSpec gpu = load_architecture(name).gpu;
    const GemmKernel kernel = choose_kernel(problem(512, 512, 512), {}, gpu.kernel_target(), false);
    std::int64_t macs = 0;
    int loaded = 0;
    for (const WarpInstruction& instruction : gemm_warp_program(kernel, 1).loop) {
      macs += instruction.opcode == Opcode::kMma ? kernel.instruction.macs() : 0;
      loaded += instruction.opcode == Opcode::kLoadMatrix ? instruction.d.count : 0;
      EXPECT_TRUE(instruction.d.count <= 4 || instruction.opcode == Opcode::kLoadGlobal) << name;
    }
    EXPECT_EQ(macs, kernel.warp_tile.m * kernel.warp_tile.n * kernel.cta_tile.k) << name;
    const RegisterAllocation registers(kernel.instruction, kernel.fragments_m(),
                                       kernel.fragments_n());
    EXPECT_EQ(loaded, kernel.k_steps_per_tile() * (kernel.fragments_m() * registers.a(0, 0).count +
                                                   kernel.fragments_n() * registers.b(0, 0).count))
        << name;
  }
}

TEST(WarpProgram, CopiesBehindTheFirstBarrierAndWaitsBeforeTheLastMultiplications) {
  for (const int stages : {2, 3, 4}) {
    const GemmKernel kernel =
        kernel_for(problem(512, 512, 512), {GemmShape{128, 128, 32}, stages, {}});
    int multiplied = 0, before_copies = -1, before_wait = -1;
    for (const WarpInstruction& instruction : gemm_warp_program(kernel, 16).loop) {
      multiplied += instruction.opcode == Opcode::kMma ? 1 : 0;
      if (instruction.opcode == Opcode::kCopy) {
        before_copies = multiplied;
        EXPECT_EQ(instruction.tiles_ahead, stages - 1);
      } else if (instruction.opcode == Opcode::kWaitCopies) {
        before_wait = multiplied;
        EXPECT_EQ(instruction.copy_groups, stages - 2);
      }
    }
    // Two k-steps: the copies of a k-tile have at least the first of them to arrive in.
    EXPECT_EQ(before_copies, 0);
    EXPECT_EQ(before_wait, multiplied / 2);
  }
}

TEST(IssuedMacs, CountPaddingInEveryDirectionAndHalfTheDepthWhereSparse) {
  const KernelOverrides tile{GemmShape{128, 128, 64}, 3, {}};
  const GemmKernel dense = kernel_for(problem(129, 1, 65), tile);
  EXPECT_EQ(dense.tiles_m(), 2);
  EXPECT_EQ(dense.tiles_n(), 1);
  EXPECT_EQ(dense.k_tiles(), 2);
  EXPECT_EQ(dense.issued_macs(), 2 * 128 * 128 * 128);
  const GemmKernel sparse = kernel_for(problem(129, 1, 68, true), tile);
  EXPECT_EQ(sparse.issued_macs(), 2 * 128 * 128 * 64);
  EXPECT_EQ(kernel_for(problem(128, 128, 64, false, DataType::kF16, 5), tile).issued_macs(),
            5 * 128 * 128 * 64);
}

TEST(ForcedTile, IsTakenAsGiven) {
  const GemmKernel kernel = kernel_for(problem(512, 512, 512), {GemmShape{64, 32, 32}, 2, {}});
  EXPECT_EQ(kernel.cta_tile.m, 64);
  EXPECT_EQ(kernel.cta_tile.n, 32);
  EXPECT_EQ(kernel.cta_tile.k, 32);
  EXPECT_EQ(kernel.stages, 2);
}

TEST(ForcedTile, OfALibraryKernelNamesThatKernel) {
  for (const char* const name : {"a100-sxm4-80gb", "a40", "h100-sxm5-80gb"}) {
    const GpuSpec gpu = load_architecture(name).gpu;
    for (const auto& what : {problem(28672, 16, 8192), problem(4096, 4096, 4096),
                             problem(11008, 32, 4096, true), problem(8192, 2048, 8192, true)}) {
      const GemmKernel chosen = choose_kernel(what, {}, gpu.kernel_target(), false);
      const GemmKernel named = choose_kernel(what, {chosen.cta_tile, chosen.stages, chosen.split_k},
                                             gpu.kernel_target(), false);
      EXPECT_EQ(named.warp_tile, chosen.warp_tile) << name;
      EXPECT_EQ(named.executed, chosen.executed) << name;
      EXPECT_EQ(named.ctas_per_sm, chosen.ctas_per_sm) << name;
      EXPECT_EQ(named.issue_stretch, chosen.issue_stretch) << name;
    }
  }
}

TEST(ForcedTile, OfAPairIsThatOfTheDenseAndOfTheSparseKernel) {
  struct Case {
    const char* gpu;
    GemmShape tile;
    std::int64_t dense_k, sparse_k;
    mma::MmaFamily family;
  };
  // Both kernels of a pair stage as many bytes of A. mma.sync takes another depth as well.
  for (const Case& c : {Case{"a100-sxm4-80gb", {128, 128, 32}, 32, 64, mma::MmaFamily::kMma},
                        Case{"a100-sxm4-80gb", {128, 128, 64}, 64, 64, mma::MmaFamily::kMma},
                        Case{"h100-sxm5-80gb", {128, 256, 64}, 64, 128, mma::MmaFamily::kWgmma},
                        Case{"h100-sxm5-80gb", {128, 256, 128}, 64, 128, mma::MmaFamily::kWgmma},
                        Case{"h100-sxm5-80gb", {128, 256, 32}, 32, 64, mma::MmaFamily::kMma},
                        Case{"b200", {128, 256, 64}, 64, 128, mma::MmaFamily::kTcgen05},
                        Case{"b200", {128, 128, 128}, 64, 128, mma::MmaFamily::kTcgen05}}) {
    const GpuSpec gpu = load_architecture(c.gpu).gpu;
    KernelOverrides overrides{c.tile, {}, {}};
    overrides.tile_of_pair = true;
    for (const bool sparse : {false, true}) {
      const GemmKernel kernel =
          choose_kernel(problem(4096, 1024, 8192, sparse), overrides, gpu.kernel_target(), false);
      EXPECT_EQ(kernel.cta_tile, (GemmShape{c.tile.m, c.tile.n, sparse ? c.sparse_k : c.dense_k}))
          << c.gpu;
      EXPECT_EQ(kernel.executed.family, c.family) << c.gpu;
      // What was chosen is found again by its own tile.
      EXPECT_EQ(choose_kernel(kernel.problem, {kernel.cta_tile, kernel.stages, 1},
                              gpu.kernel_target(), false)
                    .executed,
                kernel.executed);
    }
  }
}

TEST(ForcedTile, ThatNoKernelCanHaveIsRefusedWithTheReason) {
  const auto forced = [](GemmShape tile, std::optional<int> stages = std::nullopt) {
    return input_error_of([&] { kernel_for(problem(512, 512, 512), {tile, stages, {}}); });
  };
  EXPECT_NE(forced({100, 128, 64}).find("100x128x64"), std::string::npos);
  EXPECT_FALSE(forced({128, 100, 64}).empty());
  EXPECT_FALSE(forced({128, 128, 17}).empty());
  EXPECT_FALSE(forced({0, 128, 64}).empty());
  EXPECT_FALSE(forced({128, -8, 64}).empty());
  EXPECT_NE(forced({256, 256, 512}, 4).find("shared memory"), std::string::npos);
  EXPECT_FALSE(forced({128, 128, 64}, 0).empty());
  EXPECT_FALSE(forced({128, 128, 64}, 17).empty());
}

TEST(RegisterAllocation, NeverGivesOneRegisterTwoMeanings) {
  for (const bool sparse : {false, true}) {
    for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
      const RegisterAllocation registers(mma::gemm_instruction(type, sparse), 4, 4);
      std::map<int, std::string> owner;
      const auto claim = [&](const RegisterRange& range, const std::string& name) {
        for (int r = range.base; r < range.base + range.count; ++r) {
          EXPECT_EQ(owner.emplace(r, name).first->second, name) << r;
          EXPECT_LT(r, registers.count());
        }
      };
      for (int row = 0; row < 4; ++row) {
        for (int col = 0; col < 4; ++col) {
          claim(registers.accumulator(row, col),
                "d" + std::to_string(row) + "," + std::to_string(col));
        }
        for (int buffer = 0; buffer < 2; ++buffer) {
          const std::string suffix = std::to_string(buffer) + "," + std::to_string(row);
          claim(registers.a(buffer, row), "a" + suffix);
          claim(registers.b(buffer, row), "b" + suffix);
          if (sparse) {
            claim(registers.metadata(buffer, row),
                  "e" + std::to_string(buffer) + "," +
                      std::to_string(row / registers.rows_per_metadata_register()));
          }
        }
      }
      EXPECT_EQ(static_cast<int>(owner.size()), registers.count());
    }
  }
}

// --- the instruction stream
// ------------------------------------------------------------------------------------------

/// Walks the program as the hardware would, with the coordinates of a fragment in place of its
/// bits.
struct StreamCheck {
  explicit StreamCheck(const GemmKernel& which) : kernel(which) {}

  void walk(const WarpProgram& program) {
    for (WarpCursor cursor(program); !cursor.done(); cursor.advance()) {
      const WarpInstruction& instruction = cursor.instruction();
      const std::int64_t step =
          cursor.iteration() * kernel.k_steps_per_tile() + instruction.where.k_step;
      if (instruction.opcode == Opcode::kLoadMatrix) {
        load(instruction, step);
      } else if (instruction.opcode == Opcode::kMma) {
        execute(instruction);
      } else if (instruction.opcode == Opcode::kBarrier) {
        ++barriers;
        visible = stored;
      } else if (instruction.opcode == Opcode::kCopy || instruction.opcode == Opcode::kLoadGlobal) {
        EXPECT_EQ(instruction.opcode == Opcode::kLoadGlobal, kernel.staged_in_registers());
        // One k-tile after the other, none twice.
        EXPECT_EQ(cursor.iteration() + instruction.tiles_ahead, copies[instruction.operand]++);
        if (kernel.staged_in_registers()) {
          // The one before has left the registers.
          EXPECT_EQ(stored[instruction.operand] + 1, copies[instruction.operand]);
          staged[instruction.operand] = instruction.d;
        }
      } else if (instruction.opcode == Opcode::kStoreShared) {
        EXPECT_EQ(instruction.a.base, staged.at(instruction.operand).base);
        EXPECT_EQ(instruction.a.count, staged.at(instruction.operand).count);
        EXPECT_EQ(++stored[instruction.operand], copies[instruction.operand]);
      } else if (instruction.opcode == Opcode::kStoreGlobal) {
        ++rows_stored[instruction.where.row];
      } else if (instruction.opcode == Opcode::kStoreAccumulator) {
        ++stores[{instruction.where.row, instruction.where.col}];
      }
    }
  }

  void load(const WarpInstruction& instruction, std::int64_t step) {
    EXPECT_LE(instruction.d.count, 4);
    EXPECT_LT(step, kernel.k_tiles() * kernel.k_steps_per_tile());
    if (kernel.staged_in_registers()) {
      EXPECT_GT(visible[instruction.operand], step / kernel.k_steps_per_tile());
    }
    const int first =
        instruction.operand == Operand::kB ? instruction.where.col : instruction.where.row;
    const int per_fragment = instruction.operand == Operand::kB
                                 ? mma::RegisterMap(kernel.instruction).b_registers()
                                 : instruction.d.count;
    for (int r = 0; r < instruction.d.count; ++r) {
      contents[instruction.d.base + r] = {instruction.operand, first + r / per_fragment, step};
    }
  }

  void execute(const WarpInstruction& instruction) {
    const auto& [a_operand, row, step] = contents.at(instruction.a.base);
    const auto& [b_operand, col, b_step] = contents.at(instruction.b.base);
    EXPECT_EQ(a_operand, Operand::kA);
    EXPECT_EQ(b_operand, Operand::kB);
    EXPECT_EQ(step, b_step);
    EXPECT_EQ(row, instruction.where.row);
    EXPECT_EQ(col, instruction.where.col);
    EXPECT_EQ(instruction.c.base, instruction.d.base);
    if (kernel.instruction.sparse) {
      const RegisterAllocation registers(kernel.instruction, 1, 1);
      const auto& [e_operand, e_row, e_step] = contents.at(instruction.metadata.base);
      EXPECT_EQ(e_operand, Operand::kMetadata);
      EXPECT_EQ(e_step, step);
      EXPECT_EQ(e_row + instruction.selector, row);
      EXPECT_LT(instruction.selector, registers.rows_per_metadata_register());
    }
    // Accumulation goes in increasing k.
    EXPECT_EQ((executed[{row, col}]), step) << row << "," << col;
    executed[{row, col}] = step + 1;
  }

  const GemmKernel& kernel;
  std::map<int, std::tuple<Operand, int, std::int64_t>> contents;
  std::map<std::pair<int, int>, std::int64_t> executed;
  std::map<std::pair<int, int>, int> stores;
  std::map<Operand, std::int64_t> copies;
  std::map<Operand, RegisterRange> staged;
  std::map<Operand, std::int64_t> stored, visible;  ///< k-tiles in shared memory, behind a barrier
  std::map<int, int> rows_stored;
  int barriers = 0;
};

void expect_complete(const GemmKernel& kernel) {
  StreamCheck check(kernel);
  check.walk(gemm_warp_program(kernel, kernel.k_tiles()));
  const auto fragments = static_cast<std::size_t>(kernel.fragments_m()) *
                         static_cast<std::size_t>(kernel.fragments_n());
  EXPECT_EQ(check.executed.size(), fragments);
  EXPECT_EQ(check.stores.size(), fragments);
  for (const auto& [where, steps] : check.executed) {
    EXPECT_EQ(steps, kernel.k_tiles() * kernel.k_steps_per_tile());
    EXPECT_EQ(check.stores[where], 1);
  }
  const bool single = kernel.stages == 1;  // a second barrier before the stage is written again
  EXPECT_EQ(check.barriers, kernel.k_tiles() * (single ? 2 : 1) + 1);  // and behind the prologue
  EXPECT_EQ(check.copies.size(), kernel.instruction.sparse ? 3U : 2U);
  for (const auto& [operand, tiles] : check.copies) {
    EXPECT_EQ(tiles, kernel.k_tiles());
  }
  EXPECT_EQ(check.rows_stored.size(), static_cast<std::size_t>(kernel.fragments_m()));
}

TEST(WarpProgram, ExecutesEveryFragmentOfEveryKStepOnceAndInOrder) {
  for (const bool sparse : {false, true}) {
    for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
      for (const std::int64_t k : {4, 128, 1000}) {
        expect_complete(kernel_for(problem(300, 300, k, sparse, type)));
      }
    }
  }
}

TEST(WarpProgram, OfAWarpTileOfOneFragmentRowUsesSelectorZero) {
  for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
    const int k = 2 * mma::gemm_instruction(type, true).shape.k;
    const GemmKernel kernel =
        kernel_for(problem(300, 300, 512, true, type), {GemmShape{16, 64, k}, std::nullopt, {}});
    EXPECT_EQ(kernel.fragments_m(), 1);
    expect_complete(kernel);
  }
}

TEST(WarpProgram, PassesEveryKTileThroughRegistersWhereThereIsNoAsynchronousCopy) {
  for (const bool sparse : {false, true}) {
    for (const int stages : {1, 2}) {
      for (const std::int64_t k : {4, 128, 1000}) {
        GpuSpec gpu = a100();
        gpu.sm.async_copy_bytes = 0;
        const GemmKernel kernel = choose_kernel(problem(300, 300, k, sparse), {{}, stages, {}},
                                                gpu.kernel_target(), true);
        EXPECT_TRUE(kernel.staged_in_registers());
        expect_complete(kernel);
      }
    }
  }
}

/// Opcodes in the programs of a kernel of `gpu` for a square f16 GEMM.
std::set<Opcode> opcodes_of(const GpuSpec& gpu) {
  const GemmKernel kernel =
      choose_kernel(problem(1024, 1024, 1024), {}, gpu.kernel_target(), false);
  std::set<Opcode> opcodes;
  const WarpProgram program = gemm_warp_program(kernel, kernel.k_tiles());
  for (const auto* code : {&program.prologue, &program.loop, &program.epilogue}) {
    for (const WarpInstruction& instruction : *code) {
      opcodes.insert(instruction.opcode);
    }
  }
  return opcodes;
}

TEST(WarpProgram, CopiesAsynchronouslyOrThroughRegistersAsTheArchitectureFileSaysNeverBoth) {
  for (const char* name : {"v100-sxm2-16gb", "t4", "rtx2080ti", "a100-sxm4-80gb", "a40"}) {
    GpuSpec gpu = load_architecture(name).gpu;
    const bool is_ampere = std::string(name).starts_with("a");
    for (const bool async : {is_ampere, !is_ampere}) {
      gpu.sm.async_copy_bytes = async ? 16 : 0;
      const std::set<Opcode> opcodes = opcodes_of(gpu);
      for (const Opcode opcode : {Opcode::kCopy, Opcode::kCommitCopies, Opcode::kWaitCopies}) {
        EXPECT_EQ(opcodes.contains(opcode), async) << name;
      }
      EXPECT_EQ(opcodes.contains(Opcode::kLoadGlobal), !async) << name;
      EXPECT_EQ(opcodes.contains(Opcode::kStoreShared), !async) << name;
    }
    EXPECT_EQ(load_architecture(name).gpu.sm.async_copy_bytes, is_ampere ? 16 : 0) << name;
  }
}

TEST(ChooseKernel, CountsTheRegistersInWhichATileWaits) {
  GpuSpec gpu = a100();
  const KernelOverrides tile{GemmShape{128, 128, 32}, 2, {}};
  const GemmKernel copied = choose_kernel(problem(512, 512, 512), tile, gpu.kernel_target(), false);
  gpu.sm.async_copy_bytes = 0;
  const GemmKernel staged = choose_kernel(problem(512, 512, 512), tile, gpu.kernel_target(), false);
  ASSERT_EQ(copied.warps(), 4);
  // A and B, 8 KiB each, in the registers of 128 threads.
  EXPECT_EQ(staged.registers_per_thread, copied.registers_per_thread + 2 * 16);
  const RegisterAllocation registers(staged);
  EXPECT_EQ(registers.staged(Operand::kA).base + 16, registers.staged(Operand::kB).base);
  EXPECT_EQ(registers.staged(Operand::kB).base + 16, registers.count());
  EXPECT_EQ(registers.staged(Operand::kA).base, RegisterAllocation(copied).count());
}

TEST(ChooseKernel, HasAtMostTwoStagesWhereTilesPassTheRegisters) {
  const GpuSpec t4 = load_architecture("t4").gpu;
  expect_input_error(
      [&] {
        choose_kernel(problem(512, 512, 512), {{}, 3, {}}, t4.kernel_target(), false);
      },
      {"without asynchronous copies there are at most 2"});
}

TEST(FragmentBytes, InClosedFormAreThoseOfTheProgram) {
  for (const bool sparse : {false, true}) {
    for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
      for (const GemmShape& shape : {GemmShape{4096, 4096, 4096}, GemmShape{100, 72, 320}}) {
        GemmProblem what{shape, 3, type, sparse};
        for (const int wide : {0, 1}) {
          if (wide == 1 && sparse) {
            what.pattern = sparsity::Pattern{2, 8, 1};
          }
          SmSpec sm = a100().sm;
          sm.tensor_core.selector_inputs = 8;
          const GemmKernel kernel = choose_kernel(
              what, {}, {sm, a100().memory, a100().kernels, 108, 1410, "ampere", "ampere"}, false);
          EXPECT_EQ(fragment_bytes(kernel),
                    fragment_bytes(kernel, gemm_warp_program(kernel, kernel.k_tiles())));
        }
      }
    }
  }
}

TEST(RasterPieces, HoldTheCtasThatTheRasterisationPutsThere) {
  GemmKernel kernel = kernel_for(problem(1000, 3000, 512), {GemmShape{128, 128, 64}, {}, {}});
  kernel.problem.batch = 2;
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, kernel.ctas()},
                                   {3, 8},
                                   {60, 64},
                                   {61, 75},
                                   {100, 260},
                                   {191, 193}}) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> rows, columns, seen_rows,
        seen_columns;
    for (std::int64_t cta = begin; cta < end; ++cta) {
      const CtaTile tile = kernel.rasterise(cta);
      const std::int64_t slice = tile.batch * kernel.split_k + tile.slice;
      ++rows[{slice, tile.tile_m}];
      ++columns[{slice, tile.tile_n}];
    }
    std::int64_t count = 0;
    for_each_piece(kernel, begin, end, [&](const RasterPiece& piece) {
      count += piece.count;
      for (std::int64_t row = piece.first_row(); row <= piece.last_row(); ++row) {
        seen_rows[{piece.slice, row}] += piece.ctas_in_row(row);
      }
      for (std::int64_t column = 0; column < piece.width; ++column) {
        EXPECT_EQ(piece.has_column(column), piece.ctas_in_column(column) > 0);
        if (piece.has_column(column)) {
          seen_columns[{piece.slice, piece.first_n + column}] += piece.ctas_in_column(column);
        }
      }
    });
    EXPECT_EQ(count, end - begin);
    EXPECT_EQ(seen_rows, rows) << begin;
    EXPECT_EQ(seen_columns, columns) << begin;
  }
}

}  // namespace
}  // namespace sptc::sim
