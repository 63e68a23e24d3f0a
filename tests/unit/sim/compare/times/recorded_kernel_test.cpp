// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/times/recorded_kernel.h"

#include "sim/compare/times/kernel_accuracy.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::compare::times {
namespace {

TEST(RecordedKernel, ReadsNamesOfNvjet) {
  const auto kernel = recorded_kernel({.tile = "112x128x64",
                                       .cluster = "2x1",
                                       .stages = "7",
                                       .notes = "v_bz_TNN",
                                       .grid = "2x64x1",
                                       .block = "384x1x1"},
                                      {1024, 1024, 1024});
  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(*kernel->cta_tile, (base::GemmShape{112, 128, 64}));
  EXPECT_TRUE(kernel->transposed);
  EXPECT_EQ(kernel->cluster_ctas, 2);
  EXPECT_EQ(kernel->stages, 7);
  EXPECT_EQ(kernel->family, mma::MmaFamily::kWgmma);
}

TEST(RecordedKernel, ReadsSplitAndSegmentK) {
  const auto split = recorded_kernel(
      {.tile = "64x16x128", .notes = "v_bz_splitK_TNT", .grid = "16x4x1"}, {1024, 16, 8192});
  EXPECT_FALSE(split->transposed);
  EXPECT_EQ(split->split_k, 4);
  const auto segment = recorded_kernel({.tile = "64x256x64", .notes = "segment_k"}, {64, 256, 64});
  EXPECT_EQ(segment->decomposition, kernels::Decomposition::kStreamK);
}

TEST(RecordedKernel, CutsTilesOfMmaSyncIntoWarps) {
  const auto kernel =
      recorded_kernel({.tile = "128x64x128", .notes = "sm80 mma.sync", .block = "128x1x1"}, {});
  EXPECT_EQ(kernel->family, mma::MmaFamily::kMma);
  EXPECT_EQ(kernel->warp_tile.m * kernel->warp_tile.n * 4, 128 * 64);
}

TEST(RecordedKernel, ARowWithoutATileNamesNone) {
  EXPECT_FALSE(recorded_kernel({}, {64, 64, 64}).has_value());
}

TEST(RecordedKernel, RefusesWhatIsNoNumber) {
  for (const char* const tile : {"x", "128x", "-1x2x3", "9999999999x1x1", "128x64x64x2"}) {
    support::expect_input_error(
        [&] {
          recorded_kernel({.tile = tile}, {64, 64, 64});
        },
        {"tile must be like 128x64x1", tile});
  }
}

TEST(KernelAccuracy, HasTheErrorOfTheModelAndThatOfModelAndChoice) {
  std::vector<Comparison> rows(3);
  for (Comparison& row : rows) {
    row.measured.time_us = 10;
    row.simulated.time_us = 12;
    row.simulated.cta_tile = {128, 128, 64};
    row.recorded = row.simulated;
    row.recorded->time_us = 9;
  }
  rows[1].recorded->cta_tile.n = 256;
  rows[2].recorded->cluster_ctas = 2;
  const std::vector<KernelAccuracy> kinds = measure_kernels(rows);
  ASSERT_EQ(kinds.size(), 1U);
  EXPECT_NEAR(kinds[0].chosen.mape_percent, 20, 1e-9);
  EXPECT_NEAR(kinds[0].recorded.bias_percent, -10, 1e-9);
  EXPECT_NEAR(kinds[0].same_tile_percent, 200.0 / 3, 1e-9);
  EXPECT_NEAR(kinds[0].same_kernel_percent, 100.0 / 3, 1e-9);
}

}  // namespace
}  // namespace sptc::compare::times
