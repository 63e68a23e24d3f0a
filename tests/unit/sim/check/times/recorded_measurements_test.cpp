// SPDX-License-Identifier: Apache-2.0
#include "models/mma/instruction.h"
#include "sim/check/times/measurements.h"
#include "sim/kernels/launch_conditions.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::check::times {
namespace {

using numerics::DataType;

workload::Operation launch(const std::string& name, std::int64_t count, double time_us) {
  workload::Operation op;
  op.name = name;
  op.shape = {64, 8, 32};
  op.count = count;
  op.dtype = DataType::kBf16;
  op.recorded.time_us = time_us;
  return op;
}
workload::Operation batched(std::int64_t count) {
  workload::Operation op = launch("batched", count, 5);
  op.batch = 2;
  return op;
}
workload::Operation convolution() {
  workload::Operation op = launch("convolution", 1, 5);
  op.conv.emplace();
  return op;
}
workload::Operation block_scaled() {
  workload::Operation op = launch("block-scaled", 1, 5);
  op.storage.scale_block = 32;
  return op;
}

std::vector<Measurement> measurements(const std::vector<workload::Operation>& operations,
                                      std::vector<std::string>& notes) {
  workload::Workload workload;
  workload.operations = operations;
  MeasurementDefaults defaults;
  defaults.launch.d_dtype = DataType::kF32;
  defaults.launch.clock_mhz = 1410;
  return recorded_measurements(workload, "f.json", defaults, notes);
}

TEST(RecordedMeasurements, ALaunchSaysWhatItIsAndTheDefaultsSayTheRest) {
  workload::Operation sparse = launch("sparse", 3, 7.5);
  sparse.recorded.sparse = true;
  sparse.recorded.d_dtype = "f16";
  workload::Operation halves = launch("halves", 1, 2);
  halves.dtype = DataType::kTf32;
  halves.recorded.sparse = true;
  halves.recorded.d_dtype = "no type";
  std::vector<std::string> notes;
  const auto rows = measurements({launch("untimed", 1, 0), launch("dense", 1, 5), sparse, halves}, notes);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].launch.shape, (base::GemmShape{64, 8, 32}));
  EXPECT_EQ(rows[0].launch.dtype, DataType::kBf16);
  EXPECT_EQ(rows[0].launch.sparsity(), "dense");
  EXPECT_EQ(rows[0].launch.d_dtype, DataType::kF32);
  EXPECT_EQ(rows[0].launch.clock_mhz, 1410);
  EXPECT_EQ(rows[0].time_us, 5);
  EXPECT_EQ(rows[0].source, "dense");
  EXPECT_EQ(rows[0].line, 2);
  EXPECT_EQ(rows[1].launch.sparsity(), "2:4");
  EXPECT_EQ(rows[1].launch.d_dtype, DataType::kF16);
  EXPECT_EQ(rows[1].time_us, 7.5);
  EXPECT_EQ(rows[1].line, 3);
  EXPECT_EQ(rows[2].launch.dtype, DataType::kTf32);
  EXPECT_EQ(rows[2].launch.sparsity(), "1:2");
  EXPECT_EQ(rows[2].launch.d_dtype, DataType::kF32);
}

TEST(RecordedMeasurements, LaunchesThatAreLeftOutAreCounted) {
  const auto notes_on = [](const std::vector<workload::Operation>& left_out) {
    std::vector<workload::Operation> operations = left_out;
    operations.push_back(launch("taken", 1, 5));
    std::vector<std::string> notes;
    EXPECT_EQ(measurements(operations, notes).size(), 1U);
    return notes;
  };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes_on({}), Notes{});
  EXPECT_EQ(notes_on({launch("a", 1, 0)}), Notes{"1 launch has no measured time"});
  EXPECT_EQ(notes_on({launch("a", 3, 0), batched(4), convolution(), block_scaled()}),
            (Notes{"3 launches have no measured time",
                   "6 launches of several batches, of convolutions or of block-scaled operands "
                   "are not compared"}));
  EXPECT_EQ(notes_on({convolution()}),
            Notes{"1 launch of several batches, of convolutions or of block-scaled operands is "
                  "not compared"});
}

TEST(RecordedMeasurements, ARecordingWithoutTimesIsRefused) {
  std::vector<std::string> notes;
  EXPECT_EQ(support::input_error_of([&] {
              measurements({launch("untimed", 1, 0), batched(1)}, notes);
            }),
            "f.json: no launch of one batch has a measured time");
}

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
  const auto split =
      recorded_kernel({.tile = "64x16x128", .notes = "v_bz_splitK_TNT", .grid = "16x4x1"}, {1024, 16, 8192});
  EXPECT_FALSE(split->transposed);
  EXPECT_EQ(split->split_k, 4);
  const auto segment = recorded_kernel({.tile = "64x256x64", .notes = "segment_k"}, {64, 256, 64});
  EXPECT_EQ(segment->decomposition, kernels::Decomposition::kStreamK);
}

TEST(RecordedKernel, CutsTilesOfMmaSyncIntoWarps) {
  const auto kernel = recorded_kernel({.tile = "128x64x128", .notes = "sm80 mma.sync", .block = "128x1x1"}, {});
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

}  // namespace
}  // namespace sptc::check::times
