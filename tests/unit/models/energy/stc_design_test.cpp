// SPDX-License-Identifier: Apache-2.0
#include "models/energy/stc_design.h"

#include "tests/support/expect_input_error.h"

namespace sptc::energy {
namespace {

/// 4 x 4 multipliers, 1 pJ per multiply-accumulate, nothing else.
StcDesign small_design() {
  StcDesign design;
  design.spatial_m = 4;
  design.spatial_k = 4;
  design.n_tile = 8;
  design.shared_memory_words = 1024;
  design.shared_memory_words_per_cycle = 1e6;
  design.dram_words_per_cycle = 1e6;
  design.multiply_accumulate_pj = 1;
  return design;
}

constexpr sparsity::Pattern kDense{1, 1};

TEST(StcDesign, ExecutesTheMacsOfTheKeptWeightsOnly) {
  const base::GemmShape shape{8, 16, 32};
  EXPECT_EQ(evaluate(small_design(), shape, kDense).cycles, 8 * 16 * 32 / 16);
  EXPECT_EQ(evaluate(small_design(), shape, {2, 4}).cycles, 8 * 16 * 32 / 32);
  EXPECT_EQ(evaluate(small_design(), shape, {1, 4}).cycles, 8 * 16 * 32 / 64);
}

TEST(StcDesign, IsBoundByTheSlowestLevel) {
  StcDesign design = small_design();
  design.shared_memory_words_per_cycle = 1;
  const StcResult result = evaluate(design, {8, 16, 32}, {2, 4});
  EXPECT_EQ(result.cycles, result.shared_memory_cycles);
  EXPECT_LT(result.utilization, 1);
  EXPECT_GT(result.shared_memory_cycles, result.compute_cycles);
}

TEST(StcDesign, PadsWhatDoesNotFillTheTiles) {
  const StcResult result = evaluate(small_design(), {5, 9, 5}, {2, 4});
  EXPECT_EQ(result.padded, (base::GemmShape{8, 16, 8}));
}

TEST(StcDesign, WeightsComeOncePerPanelWhereTheyDoNotStay) {
  StcDesign design = small_design();
  const base::GemmShape shape{8, 16, 32};
  const auto dram = [&] { return evaluate(design, shape, kDense).accesses.dram; };
  EXPECT_EQ(dram(), 8 * 32 + 32 * 16 + 8 * 16);
  design.shared_memory_words = 8 * 32 + 32 * 8 - 1;
  EXPECT_EQ(dram(), 2 * 8 * 32 + 32 * 16 + 8 * 16);
}

/// 4 rows of 8 multipliers, 2:4: two panels of 8 columns, and 128 kept weights, which stay.
StcResult of_eight_wide(StcDesign design) {
  design.spatial_k = 8;
  return evaluate(design, {8, 16, 32}, {2, 4});
}

TEST(StcDesign, WordsOfEachLevelByHand) {
  StcDesign design = small_design();
  design.shared_memory_words_per_cycle = 16;
  design.dram_words_per_cycle = 4;
  const StcResult result = of_eight_wide(design);
  EXPECT_EQ(result.macs, 8 * 16 * 32 / 2);
  const StcAccesses& accesses = result.accesses;
  EXPECT_EQ(accesses.weight_registers, 2048 + 2 * 128);
  EXPECT_EQ(accesses.registers, 2 * 2048 / 8);
  // Weights for each panel, elements of B for each of 4 rows; both written once.
  EXPECT_EQ(accesses.shared_memory, 2 * 128 + 4096 / 4 + 128 + 32 * 16);
  EXPECT_EQ(accesses.dram, 128 + 32 * 16 + 8 * 16);
  EXPECT_EQ(accesses.shared_memory_metadata_reads, 2 * 128);
  EXPECT_EQ(accesses.dram_metadata, 128);
  EXPECT_EQ(result.compute_cycles, 2048 / 32);
  EXPECT_EQ(result.shared_memory_cycles, (2 * 128 + 4096 / 4 + 2 * 128 * 2 / 8) / 16);
  EXPECT_EQ(result.dram_cycles, 768 / 4);
  EXPECT_DOUBLE_EQ(result.utilization, 64.0 / 192);
}

TEST(StcDesign, EveryLevelAddsItsRowsTimesTheirEnergy) {
  const struct {
    double StcDesign::*level;
    double rows;
  } levels[] = {{&StcDesign::weight_register_pj, 2304 * (1 + 2.0 / 8)},
                {&StcDesign::register_read_pj, 2048 / 8},
                {&StcDesign::register_write_pj, 2048 / 8},
                {&StcDesign::shared_memory_read_pj, 1280 / 64},
                {&StcDesign::shared_memory_write_pj, 640 / 64},
                {&StcDesign::metadata_read_pj, 256 / 32},  // indices of 2 bits
                {&StcDesign::metadata_write_pj, 128 / 32},
                {&StcDesign::dram_pj, 768 / 8},
                {&StcDesign::dram_metadata_pj, 128 / 32}};
  for (const auto& [level, rows] : levels) {
    StcDesign design = small_design();
    design.*level = 3;
    EXPECT_DOUBLE_EQ(of_eight_wide(design).energy.total_pj(), 2048 + 3 * rows) << rows;
  }
}

TEST(StcDesign, HostileShapesAndPatternsAreRefused) {
  const StcDesign design = small_design();
  support::expect_input_error([&] { evaluate(design, {0, 1, 1}, kDense); }, {"from 1", "not 0"});
  support::expect_input_error([&] { evaluate(design, {1, 1, 1 << 21}, kDense); }, {"2097152"});
  support::expect_input_error([&] { evaluate(design, {1, 1, 1}, {3, 2}); }, {"3:2"});
  support::expect_input_error([&] { evaluate(design, {1, 1, 1}, {0, 4}); }, {"0:4"});
  support::expect_input_error([&] { evaluate(design, {1, 1, 1}, {1, 128}); }, {"1:128"});
}

}  // namespace
}  // namespace sptc::energy
