// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/readers.h"
#include "sim/workload/topology/export.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::workload::topology {
namespace {

Recording read(const std::string& text) {
  input::InputStream input(text, "x");
  return importer::read_recording(input);
}

TEST(ScaleSim, TokensAreNAndFeaturesAreM) {
  const Recording read_back = read(
      "Layer, M, N, K, Sparsity,\n"
      "ffn1, 3072, 4096, 1024, 2:4,\n"
      "scores, 384, 384, 64, 1:1,\n"
      "odd, 8, 16, 32,\n");
  const auto& ops = read_back.workload.operations;
  ASSERT_EQ(ops.size(), 3);
  EXPECT_EQ(ops[0].name, "ffn1");
  EXPECT_EQ(ops[0].shape, (base::GemmShape{4096, 3072, 1024}));
  EXPECT_TRUE(ops[0].prunable);
  EXPECT_FALSE(ops[1].prunable);
  EXPECT_TRUE(ops[2].prunable) << "nothing is said, and the rule of ASP holds";
  EXPECT_EQ(read_back.account.format, "topology of SCALE-Sim");
}

TEST(ScaleSim, RowsMayLackTheCommaAndLinesMayBeBlank) {
  EXPECT_EQ(read("Layer,M,N,K\na,1,2,3\n\n , , ,\nb,4,5,6,,\n").workload.operations.size(), 2);
}

TEST(ScaleSim, AFileWithoutItsHeaderIsRefused) {
  input::InputStream input("m,n,k\n1,2,3\n", "x");
  Recording recording;
  support::expect_input_error([&] { kScaleSim.read(input, {}, recording); },
                              {"x: its first line is no header of a SCALE-Sim topology"});
}

constexpr const char* kConv =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
    "Strides,\n";

TEST(ScaleSim, ConvolutionsKeepTheirGeometryAndRoundUp) {
  const Recording found = read(std::string(kConv) +
                               "conv1, 230, 230, 7, 7, 3, 64, 2,\n"
                               "conv2, 58, 58, 3, 3, 64, 64, 1, 2:4,\n"
                               "DP1, 114, 114, 3, 3, 32, 1, 1,\n");
  const auto& ops = found.workload.operations;
  ASSERT_EQ(ops.size(), 3);
  // ceil((230 - 7 + 2) / 2) = 113.
  EXPECT_EQ(ops[0].shape, (base::GemmShape{64, 113 * 113, 147}));
  EXPECT_EQ(ops[1].shape, (base::GemmShape{64, 56 * 56, 576}));
  EXPECT_EQ(ops[1].conv->h, 58);
  EXPECT_EQ(ops[2].shape, (base::GemmShape{1, 112 * 112, 9}));
  EXPECT_EQ(ops[2].batch, 32);
}

TEST(ScaleSim, FaultsAreNamed) {
  const std::string header = "Layer,M,N,K,\n";
  support::expect_input_error([&] { read(header + "a,0,2,3,\n"); }, {"x:2: M must be an integer from 1 to"});
  support::expect_input_error([&] { read(header + "a,1,2,\n"); }, {"x:2: 3 fields, so K is missing"});
  support::expect_input_error([&] { read(header + "a,1,2,x,\n"); },
                              {"x:2: K must be an integer from 1 to 2147483647, not 'x'"});
  support::expect_input_error([&] { read(header + "a,1,2,3,half,\n"); },
                              {"x:2: must end in a sparsity such as 2:4, not 'half'"});
  support::expect_input_error([&] { read(header + "a,9223372036854775807,2,3,\n"); },
                              {"M must be an integer from 1 to"});
  support::expect_input_error([&] { read(std::string(kConv) + "c, 2, 2, 3, 3, 1, 1, 1,\n"); },
                              {"x:2: the geometry of this convolution gives no GEMM"});
  support::expect_input_error([&] { read(header); }, {"x: no GEMM was found"});
}

constexpr const char* kWorkload = R"({"schema": "gemm-workload/0.2", "name": "w", "ops": [
  {"name": "a, \"b\"", "m": 16, "n": 8, "k": 32, "count": 2, "batch": 3},
  {"name": "c", "m": 9, "n": 5, "k": 7}]})";

TEST(ScaleSim, WrittenTopologiesAreReadBackWithTheirMacs) {
  const Workload workload = parse_workload_json(kWorkload, "w.json");
  const std::string text = scale_sim_text(workload);
  EXPECT_TRUE(text.starts_with("Layer, M, N, K, Sparsity,\na___b_, 8, 16, 32, 2:4,\n")) << text;
  EXPECT_NE(text.find("\nc, 5, 9, 7, 1:1,\n"), std::string::npos);
  std::int64_t macs = 0;
  for (const Operation& op : read(text).workload.operations) {
    macs += op.total_macs();
  }
  EXPECT_EQ(macs, 6 * 16 * 8 * 32 + 9 * 5 * 7);
}

TEST(ScaleSim, TooManyRowsAreRefused) {
  Workload workload = parse_workload_json(kWorkload, "w.json");
  workload.operations[0].count = 1 << 20;
  support::expect_input_error([&] { scale_sim_text(workload); }, {"w.json: SCALE-Sim has a row per GEMM", "1000000"});
  workload.operations[0].count = std::int64_t{1} << 30;
  workload.operations[0].batch = std::int64_t{1} << 30;
  support::expect_input_error([&] { scale_sim_text(workload); }, {"a row per GEMM"});
}

TEST(Timeloop, EachOperationIsAProblem) {
  EXPECT_EQ(timeloop_text(parse_workload_json(kWorkload, "w.json")),
            R"(# 2 x a___b_
problem:
  shape:
    name: a___b_
    dimensions: [H, M, N, K]
    data_spaces:
      - {name: A, projection: [[[H]], [[M]], [[K]]]}
      - {name: B, projection: [[[H]], [[K]], [[N]]]}
      - {name: Z, projection: [[[H]], [[M]], [[N]]], read_write: True}
  instance: {H: 3, M: 16, N: 8, K: 32, densities: {A: {distribution: fixed-structured, density: 0.5}}}
---
# 1 x c
problem:
  shape:
    name: c
    dimensions: [M, N, K]
    data_spaces:
      - {name: A, projection: [[[M]], [[K]]]}
      - {name: B, projection: [[[K]], [[N]]]}
      - {name: Z, projection: [[[M]], [[N]]], read_write: True}
  instance: {M: 9, N: 5, K: 7}
)");
}

TEST(Export, AnUnknownFormatIsNamed) {
  EXPECT_EQ(parse_export_format("timeloop"), ExportFormat::kTimeloopProblems);
  support::expect_input_error([] { parse_export_format("scale-sim"); },
                              {"--to: unknown format 'scale-sim' (nearest valid: 'scalesim'"});
}

}  // namespace
}  // namespace sptc::workload::topology
