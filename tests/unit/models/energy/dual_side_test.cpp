// SPDX-License-Identifier: Apache-2.0
#include "models/energy/stc_design.h"
#include "tests/support/expect_input_error.h"

#include <utility>

namespace sptc::energy {
namespace {

/// 2 x 2 arrays of 16 x 16 on 2048 sums, memories that never limit, no energies.
StcDesign compute_bound() {
  StcDesign design;
  design.shared_memory_words = 1 << 20;
  design.shared_memory_words_per_cycle = 1e6;
  design.dram_words_per_cycle = 1e6;
  design.dual_side = DualSide{16, 16, 2, 2, 2048, 128, 0, 0, 0};
  return design;
}

constexpr base::GemmShape kShape{512, 256, 1024};
constexpr std::int64_t kDenseCycles = 512 * 256 * 1024 / 1024;

TEST(DualSide, WithoutZerosCostsTheDenseTimeAndTheOverhead) {
  StcDesign design = compute_bound();
  const StcResult plain = evaluate_dual_side(design, kShape, {1, 1});
  EXPECT_EQ(plain.cycles, kDenseCycles);
  EXPECT_EQ(plain.macs, kShape.macs());
  EXPECT_EQ(plain.utilization, 1);
  design.dual_side->overhead_cycles = 3;
  // Each of the four arrays has an outer product for each k and each tile of 2048 sums.
  const std::int64_t outer_products = 1024 * (512 * 256 / 2048) / 4;
  EXPECT_EQ(evaluate_dual_side(design, kShape, {1, 1}).cycles, kDenseCycles + 3 * outer_products);
}

TEST(DualSide, FewerElementsAreNeverSlowerAndNeverBetterThanTheirShare) {
  for (const double overhead : {0.0, 2.5}) {
    StcDesign design = compute_bound();
    design.dual_side->overhead_cycles = overhead;
    for (const double other : {0.1, 0.44, 1.0}) {
      std::int64_t before_a = 0, before_b = 0;
      for (int step = 1; step <= 40; ++step) {
        const double density = step / 40.0;
        const StcResult of_a = evaluate_dual_side(design, kShape, {density, other});
        const StcResult of_b = evaluate_dual_side(design, kShape, {other, density});
        EXPECT_GE(of_a.cycles, before_a) << density << " x " << other;
        EXPECT_GE(of_b.cycles, before_b) << other << " x " << density;
        EXPECT_GE(static_cast<double>(of_a.cycles), kDenseCycles * density * other);
        EXPECT_LE(of_a.utilization, 1);
        before_a = of_a.cycles;
        before_b = of_b.cycles;
      }
    }
  }
}

TEST(DualSide, IsBoundByTheSlowestLevel) {
  StcDesign design = compute_bound();
  design.shared_memory_words_per_cycle = 8;
  const StcResult shared = evaluate_dual_side(design, kShape, {0.25, 0.25});
  EXPECT_EQ(shared.cycles, shared.shared_memory_cycles);
  design.dram_words_per_cycle = 0.5;
  const StcResult dram = evaluate_dual_side(design, kShape, {0.25, 0.25});
  EXPECT_EQ(dram.cycles, dram.dram_cycles);
  EXPECT_LT(dram.utilization, shared.utilization);
}

TEST(DualSide, ATileIsAsHighOrAsWideAsZerosMakeItCheap) {
  // Few elements of A fill an array only if a tile is high; few of B if it is wide.
  const StcDesign design = compute_bound();
  const auto read = [&](double a, double b) {
    return evaluate_dual_side(design, {512, 512, 64}, {a, b}).accesses.shared_memory_metadata_reads;
  };
  EXPECT_EQ(read(0.25, 1), read(1, 0.25)) << "the one is the other, transposed";
  EXPECT_EQ(evaluate_dual_side(design, {512, 512, 64}, {0.2, 1}).cycles,
            evaluate_dual_side(design, {512, 512, 64}, {1, 0.2}).cycles);
}

TEST(DualSide, EveryLevelAddsItsRowsTimesTheirEnergy) {
  // Tiles of 32 x 64, half of B zero: two passes over A, and `of_b` over 64 columns of B.
  const sparsity::Densities densities{1, 0.5};
  const double of_b = sparsity::mean_groups(64, 16, 0.5);
  constexpr double kAll = 512.0 * 256 * 1024, kA = 512 * 1024, kB = 1024 * 256, kD = 512 * 256;
  constexpr double kMacs = kAll / 2;
  constexpr double kReadA = kAll / 128, kReadB = kAll / 64;  // of two arrays each way
  const double into_a = kAll / 64 * (1 + of_b), into_b = kAll / 32 * (1 + 2);
  const std::pair<double StcDesign::*, double> levels[] = {
      {&StcDesign::multiply_accumulate_pj, kMacs},
      {&StcDesign::register_read_pj, kMacs - kMacs / 1024},  // the first of k finds no sum
      {&StcDesign::register_write_pj, kMacs},
      {&StcDesign::shared_memory_read_pj, (kReadA + kReadB / 2) / 64},
      {&StcDesign::shared_memory_write_pj, (kA + kB / 2) / 64},
      {&StcDesign::metadata_read_pj, (kReadA + kReadB) / 64},
      {&StcDesign::metadata_write_pj, (kA + kB) / 64},
      {&StcDesign::dram_pj, (kA + kB / 2 + kD) / 8},
      {&StcDesign::dram_metadata_pj, (kA + kB) / 64}};
  EXPECT_EQ(evaluate_dual_side(compute_bound(), kShape, densities).energy.total_pj(), 0);
  for (const auto& [level, rows] : levels) {
    StcDesign design = compute_bound();
    design.*level = 2;
    EXPECT_DOUBLE_EQ(evaluate_dual_side(design, kShape, densities).energy.total_pj(), 2 * rows);
  }
  const std::pair<double DualSide::*, double> registers[] = {
      {&DualSide::operand_register_pj, (into_a + into_b / 2) / 2},
      {&DualSide::bitmap_register_pj, (into_a + into_b) / 4}};
  for (const auto& [level, rows] : registers) {
    StcDesign design = compute_bound();
    (*design.dual_side).*level = 2;
    EXPECT_DOUBLE_EQ(evaluate_dual_side(design, kShape, densities).energy.total_pj(), 2 * rows);
  }
}

TEST(DualSide, ATileTakesNoMoreOperandsThanItsRegistersHold) {
  // 32 x 64 and 64 x 32 have 96 rows and columns. 128 x 16, which has 144, would cost less: few
  // elements of A fill an array only if a tile is high.
  StcDesign design = compute_bound();
  const auto cycles = [&](std::int64_t registers) {
    design.dual_side->operand_registers = registers;
    return evaluate_dual_side(design, {2048, 16384, 64}, {0.05, 1}).cycles;
  };
  EXPECT_EQ(cycles(96), cycles(143));
  EXPECT_LT(cycles(144), cycles(143));
  EXPECT_THROW(cycles(95), base::InternalError);
}

TEST(DualSide, EveryProductIsAddedInTheRegisterFile) {
  const StcResult result = evaluate_dual_side(compute_bound(), kShape, {0.5, 0.5});
  EXPECT_EQ(result.macs, kShape.macs() / 4);
  EXPECT_EQ(result.accesses.registers, 2 * result.macs - result.macs / 1024);
  EXPECT_EQ(result.accesses.dram, 512 * 1024 / 2 + 1024 * 256 / 2 + 512 * 256);
  EXPECT_EQ(result.accesses.dram_metadata, 512 * 1024 + 1024 * 256);
}

TEST(DualSide, OperandsComeAgainWhereNoneStays) {
  StcDesign design = compute_bound();
  const auto dram = [&](std::int64_t room) {
    design.shared_memory_words = room;
    return evaluate_dual_side(design, kShape, {1, 1}).accesses.dram;
  };
  // Tiles of 32 x 64 for each of 2 x 2 arrays: eight panels of A, two of B. Rows are the outer loop
  // where B and a panel of A fit; else A, which comes twice, is less than B eight times.
  constexpr std::int64_t kA = 512 * 1024, kB = 1024 * 256, kD = 512 * 256;
  EXPECT_EQ(dram(kB + kA / 8), kA + kB + kD);
  EXPECT_EQ(dram(kB + kA / 8 - 1), 2 * kA + kB + kD);
}

TEST(DualSide, DensitiesAreForDesignsThatSkip) {
  StcDesign rows;
  rows.spatial_m = rows.spatial_k = rows.n_tile = 4;
  rows.shared_memory_words_per_cycle = rows.dram_words_per_cycle = 1;
  const sparsity::Pattern pattern{2, 4};
  support::expect_input_error([&] { evaluate(rows, {8, 8, 8}, pattern, {}, 0.5); }, {"dual_side"});
  EXPECT_EQ(evaluate(compute_bound(), kShape, pattern, {}, {}).macs, kShape.macs() / 2);
  EXPECT_EQ(evaluate(compute_bound(), kShape, pattern, 1, 0.25).macs, kShape.macs() / 4);
  for (const double wrong : {0.0, -1.0, 1.5}) {
    support::expect_input_error([&] { evaluate(compute_bound(), kShape, pattern, wrong, {}); },
                                {"density"});
  }
}

}  // namespace
}  // namespace sptc::energy
