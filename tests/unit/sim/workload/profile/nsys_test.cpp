// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/nsys_file.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::workload::profile {
namespace {

Recording read(std::string bytes) {
  input::InputStream input(std::move(bytes), "x");
  return importer::read_recording(input);
}

TEST(Nsys, RangesSayShapesAndKernelsTypesAndTimes) {
  const Recording recording = read(support::nsys_file(true));
  const Operation& taken = recording.workload.operations.at(0);
  EXPECT_EQ(taken.name, "aten::addmm");
  EXPECT_EQ(taken.shape, (base::GemmShape{512, 141, 2048}));
  EXPECT_EQ(taken.dtype, numerics::DataType::kBf16);
  EXPECT_DOUBLE_EQ(taken.recorded.time_us, 5);
  EXPECT_EQ(recording.account.arch, "h100-sxm5-80gb");
  EXPECT_DOUBLE_EQ(recording.account.kernels_us, 12);
  ASSERT_EQ(recording.workload.not_taken.size(), 1);
  EXPECT_DOUBLE_EQ(recording.workload.not_taken[0].time_us, 7);
  EXPECT_EQ(recording.workload.not_taken[0].dtype, "f16");
}

TEST(Nsys, WithoutRangesThereAreNoShapes) {
  support::expect_input_error([] { read(support::nsys_file(false)); }, {"nsys records no shapes", "emit_nvtx"});
}

TEST(Nsys, OtherSqliteFilesAreRefused) {
  support::expect_input_error([] { read(support::sqlite_file("CREATE TABLE t(a INT);")); },
                              {"x: this SQLite file has no kernels of Nsight Systems"});
  support::expect_input_error([] { read(support::nsys_file(true).substr(0, 5000)); },
                              {"x: this SQLite file cannot be read"});
}

TEST(Nsys, AnIdThatNamesTwoStringsMultipliesNoKernels) {
  const Recording recording =
      read(support::sqlite_file("CREATE TABLE StringIds(id INT, value TEXT);"
                                "INSERT INTO StringIds VALUES(1, "
                                "'ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn'),"
                                "(1, 'other'), (2, 'aten::mm, sizes = [[16, 32], [32, 8]]'), (2, 'other');"
                                "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, demangledName INT, "
                                "correlationId INT);"
                                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(900000, 905000, 1, 70);"
                                "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, "
                                "correlationId INT);"
                                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(200500, 200600, 8, 70);"
                                "CREATE TABLE NVTX_EVENTS(start INT, end INT, text TEXT, globalTid INT, textId INT);"
                                "INSERT INTO NVTX_EVENTS VALUES(200000, 201000, NULL, 8, 2);"));
  ASSERT_EQ(recording.workload.operations.size(), 1);
  EXPECT_EQ(recording.workload.operations[0].count, 1);
  EXPECT_EQ(recording.workload.operations[0].recorded.time_us, 5);
  EXPECT_EQ(recording.account.kernels_us, 5);
}

TEST(Nsys, AViewInPlaceOfATableIsNotRead) {
  support::expect_input_error(
      [] {
        read(
            support::sqlite_file("CREATE TABLE StringIds(id INT, value TEXT);"
                                 "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE r(start) AS "
                                 "(SELECT 1 UNION ALL SELECT start + 1 FROM r) SELECT start, 1 AS "
                                 "demangledName FROM r;"));
      },
      {"has no kernels of Nsight Systems"});
}

}  // namespace
}  // namespace sptc::workload::profile
