// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/warp_program.h"

#include "models/mma/register_map.h"
#include "sim/kernels/register_allocation.h"
#include "sim/kernels/traffic_counts.h"
#include "tests/support/fragment_bytes.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::kernels {
namespace {

using numerics::DataType;

TEST(WarpProgram, MultipliesEveryFragmentOnceAStepOnEveryGeneration) {
  for (const char* name : {"v100-sxm2-16gb", "t4", "a100-sxm4-80gb"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    const GemmKernel kernel = choose_kernel(problem(512, 512, 512), {}, gpu.kernel_target(), false);
    std::int64_t macs = 0;
    int loaded = 0;
    for (const isa::WarpInstruction& instruction : gemm_warp_program(kernel, 1).loop) {
      macs += instruction.opcode == isa::Opcode::kMma ? kernel.instruction.macs() : 0;
      loaded += instruction.opcode == isa::Opcode::kLoadMatrix ? instruction.d.count : 0;
      EXPECT_TRUE(instruction.d.count <= 4 || instruction.opcode == isa::Opcode::kLoadGlobal) << name;
    }
    EXPECT_EQ(macs, kernel.warp_tile.m * kernel.warp_tile.n * kernel.cta_tile.k) << name;
    const RegisterAllocation registers(kernel.instruction, kernel.fragments_m(), kernel.fragments_n());
    EXPECT_EQ(loaded, kernel.k_steps_per_tile() * (kernel.fragments_m() * registers.a(0, 0).count +
                                                   kernel.fragments_n() * registers.b(0, 0).count))
        << name;
  }
}

TEST(WarpProgram, OfPromotedFp8AddsEveryAccumulatorBehindACompleteKTile) {
  gpu::GpuSpec h100 = config::load_architecture("h100-sxm5-80gb").gpu;
  const auto waits = [&](Fp8Accumulation accumulation) {
    h100.kernels.fp8_accumulation = accumulation;
    const GemmKernel kernel =
        choose_kernel(problem(4096, 4096, 4096, false, DataType::kE4m3), {}, h100.kernel_target(), false);
    std::vector<isa::WarpInstruction> result;
    for (const isa::WarpInstruction& instruction : gemm_warp_program(kernel, 8).loop) {
      if (instruction.opcode == isa::Opcode::kWgmmaWait) {
        result.push_back(instruction);
      }
    }
    EXPECT_EQ(result.back().issue_slots, accumulation == Fp8Accumulation::kPromoted ? kernel.cta_tile.n / 2 : 1);
    return result;
  };
  const auto fast = waits(Fp8Accumulation::kFast);
  ASSERT_EQ(fast.size(), 1U);
  EXPECT_EQ(fast[0].pending_groups, 1);
  const auto promoted = waits(Fp8Accumulation::kPromoted);
  ASSERT_EQ(promoted.size(), 2U);
  EXPECT_EQ(promoted[0].pending_groups, 0);
}

TEST(WarpProgram, CopiesBehindTheFirstBarrierAndWaitsBeforeTheLastMultiplications) {
  for (const int stages : {2, 3, 4}) {
    const GemmKernel kernel = kernel_for(problem(512, 512, 512), {base::GemmShape{128, 128, 32}, stages, {}});
    int multiplied = 0, before_copies = -1, before_wait = -1;
    for (const isa::WarpInstruction& instruction : gemm_warp_program(kernel, 16).loop) {
      multiplied += instruction.opcode == isa::Opcode::kMma ? 1 : 0;
      if (instruction.opcode == isa::Opcode::kCopy) {
        before_copies = multiplied;
        EXPECT_EQ(instruction.tiles_ahead, stages - 1);
      } else if (instruction.opcode == isa::Opcode::kWaitCopies) {
        before_wait = multiplied;
        EXPECT_EQ(instruction.copy_groups, stages - 2);
      }
    }
    // Two k-steps: the copies of a k-tile have at least the first of them to arrive in.
    EXPECT_EQ(before_copies, 0);
    EXPECT_EQ(before_wait, multiplied / 2);
  }
}

/// Walks the program as the hardware would, with the coordinates of a fragment in place of its
/// bits.
struct StreamCheck {
  explicit StreamCheck(const GemmKernel& which) : kernel(which) {}

  void walk(const isa::WarpProgram& program) {
    for (isa::WarpCursor cursor(program); !cursor.done(); cursor.advance()) {
      const isa::WarpInstruction& instruction = cursor.instruction();
      const std::int64_t step = cursor.iteration() * kernel.k_steps_per_tile() + instruction.where.k_step;
      if (instruction.operand == isa::Operand::kPartialSum) {
        // Rows of D on their way through shared memory.
        EXPECT_FALSE(cursor.in_main_loop());
        registers_of_d += instruction.a.count;
      } else if (instruction.opcode == isa::Opcode::kLoadMatrix) {
        load(instruction, step);
      } else if (instruction.opcode == isa::Opcode::kMma) {
        execute(instruction);
      } else if (instruction.opcode == isa::Opcode::kBarrier) {
        // Not those of the epilogue, between which rows of D pass shared memory.
        barriers += stores.empty() ? 1 : 0;
        visible = stored;
      } else if (instruction.opcode == isa::Opcode::kCopy || instruction.opcode == isa::Opcode::kLoadGlobal) {
        EXPECT_EQ(instruction.opcode == isa::Opcode::kLoadGlobal, kernel.staged_in_registers());
        // One k-tile after the other, none twice.
        EXPECT_EQ(cursor.iteration() + instruction.tiles_ahead, copies[instruction.operand]++);
        if (kernel.staged_in_registers()) {
          // The one before has left the registers.
          EXPECT_EQ(stored[instruction.operand] + 1, copies[instruction.operand]);
          staged[instruction.operand] = instruction.d;
        }
      } else if (instruction.opcode == isa::Opcode::kStoreShared) {
        EXPECT_EQ(instruction.a.base, staged.at(instruction.operand).base);
        EXPECT_EQ(instruction.a.count, staged.at(instruction.operand).count);
        EXPECT_EQ(++stored[instruction.operand], copies[instruction.operand]);
      } else if (instruction.opcode == isa::Opcode::kStoreGlobal) {
        ++rows_stored[instruction.where.row];
      } else if (instruction.opcode == isa::Opcode::kStoreAccumulator) {
        ++stores[{instruction.where.row, instruction.where.col}];
      }
    }
  }

  void load(const isa::WarpInstruction& instruction, std::int64_t step) {
    const int deeper =
        kernel.instruction.shape.k / mma::gemm_instruction(kernel.problem.dtype, kernel.instruction.sparse).shape.k;
    EXPECT_LE(instruction.d.count, 4 * std::max(1, deeper));
    EXPECT_LT(step, kernel.k_tiles() * kernel.k_steps_per_tile());
    if (kernel.staged_in_registers()) {
      EXPECT_GT(visible[instruction.operand], step / kernel.k_steps_per_tile());
    }
    const int first = instruction.operand == isa::Operand::kB ? instruction.where.col : instruction.where.row;
    const int per_fragment = instruction.operand == isa::Operand::kB
                                 ? mma::RegisterMap(kernel.instruction).b_registers()
                                 : instruction.d.count;
    for (int r = 0; r < instruction.d.count; ++r) {
      contents[instruction.d.base + r] = {instruction.operand, first + r / per_fragment, step};
    }
  }

  void execute(const isa::WarpInstruction& instruction) {
    const auto& [a_operand, row, step] = contents.at(instruction.a.base);
    const auto& [b_operand, col, b_step] = contents.at(instruction.b.base);
    EXPECT_EQ(a_operand, isa::Operand::kA);
    EXPECT_EQ(b_operand, isa::Operand::kB);
    EXPECT_EQ(step, b_step);
    EXPECT_EQ(row, instruction.where.row);
    EXPECT_EQ(col, instruction.where.col);
    EXPECT_EQ(instruction.c.base, instruction.d.base);
    if (kernel.instruction.sparse) {
      const RegisterAllocation registers(kernel.instruction, 1, 1);
      const auto& [e_operand, e_row, e_step] = contents.at(instruction.metadata.base);
      EXPECT_EQ(e_operand, isa::Operand::kMetadata);
      EXPECT_EQ(e_step, step);
      EXPECT_EQ(e_row + instruction.selector, row);
      EXPECT_LT(instruction.selector, registers.rows_per_metadata_register());
    }
    // Accumulation goes in increasing k.
    EXPECT_EQ((executed[{row, col}]), step) << row << "," << col;
    executed[{row, col}] = step + 1;
  }

  const GemmKernel& kernel;
  std::map<int, std::tuple<isa::Operand, int, std::int64_t>> contents;
  std::map<std::pair<int, int>, std::int64_t> executed;
  std::map<std::pair<int, int>, int> stores;
  std::map<isa::Operand, std::int64_t> copies;
  std::map<isa::Operand, isa::RegisterRange> staged;
  std::map<isa::Operand, std::int64_t> stored,
      visible;  ///< k-tiles in shared memory, behind a barrier
  std::map<int, int> rows_stored;
  std::int64_t registers_of_d = 0;  ///< that pass shared memory, of accumulators
  int barriers = 0;
};

void expect_complete(const GemmKernel& kernel) {
  StreamCheck check(kernel);
  check.walk(gemm_warp_program(kernel, kernel.k_tiles()));
  const auto fragments =
      static_cast<std::size_t>(kernel.fragments_m()) * static_cast<std::size_t>(kernel.fragments_n());
  EXPECT_EQ(check.executed.size(), fragments);
  EXPECT_EQ(check.stores.size(), fragments);
  for (const auto& [where, steps] : check.executed) {
    EXPECT_EQ(steps, kernel.k_tiles() * kernel.k_steps_per_tile());
    EXPECT_EQ(check.stores[where], 1);
  }
  const bool single = kernel.stages == 1;  // a second barrier before the stage is written again
  EXPECT_EQ(check.barriers, kernel.k_tiles() * (single ? 2 : 1) + 1);  // and behind the prologue
  // All accumulators, in 32 bits.
  EXPECT_EQ(check.registers_of_d, kernel.warp_tile.m * kernel.warp_tile.n / 32);
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

TEST(WarpProgram, LoadsFragmentsBeforeTheyAreMultipliedHoweverDeepTheInstructionIs) {
  for (const int bytes : {32, 64, 128}) {
    gpu::GpuSpec gpu = a100();
    gpu.sm.tensor_core.mma_k_bytes = bytes;
    const GemmKernel kernel = choose_kernel(problem(300, 300, 1024), {}, gpu.kernel_target(), false);
    EXPECT_EQ(kernel.instruction.shape.k, bytes / 2);
    EXPECT_GE(kernel.k_steps_per_tile(), 2) << bytes;
    expect_complete(kernel);
  }
}

TEST(WarpProgram, OfAWarpTileOfOneFragmentRowUsesSelectorZero) {
  for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
    const int k = 2 * mma::gemm_instruction(type, true).shape.k;
    const GemmKernel kernel =
        kernel_for(problem(300, 300, 512, true, type), {base::GemmShape{16, 64, k}, std::nullopt, {}});
    EXPECT_EQ(kernel.fragments_m(), 1);
    expect_complete(kernel);
  }
}

TEST(WarpProgram, PassesEveryKTileThroughRegistersWhereThereIsNoAsynchronousCopy) {
  for (const bool sparse : {false, true}) {
    for (const int stages : {1, 2}) {
      for (const std::int64_t k : {4, 128, 1000}) {
        gpu::GpuSpec gpu = a100();
        gpu.sm.async_copy_bytes = 0;
        const GemmKernel kernel =
            choose_kernel(problem(300, 300, k, sparse), {{}, stages, {}}, gpu.kernel_target(), true);
        EXPECT_TRUE(kernel.staged_in_registers());
        expect_complete(kernel);
      }
    }
  }
}

TEST(FragmentBytes, InClosedFormAreThoseOfTheProgram) {
  for (const bool sparse : {false, true}) {
    for (const DataType type : {DataType::kF16, DataType::kTf32, DataType::kS8}) {
      for (const base::GemmShape& shape : {base::GemmShape{4096, 4096, 4096}, base::GemmShape{100, 72, 320}}) {
        GemmProblem what{shape, 3, type, sparse};
        for (const int wide : {0, 1}) {
          if (wide == 1 && sparse) {
            what.pattern = sparsity::Pattern{2, 8, 1};
          }
          sm::SmSpec sm = a100().sm;
          sm.tensor_core.selector_inputs = 8;
          const GemmKernel kernel = choose_kernel(
              what, {}, {sm, a100().memory, a100().kernels, a100().launch, 108, 1410, "ampere", "ampere"}, false);
          EXPECT_EQ(fragment_bytes(kernel),
                    support::fragment_bytes(kernel, gemm_warp_program(kernel, kernel.k_tiles())));
        }
      }
    }
  }
}

}  // namespace
}  // namespace sptc::kernels
