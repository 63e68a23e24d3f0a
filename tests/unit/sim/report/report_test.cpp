// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include "models/base/error.h"
#include "sim/report/version.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace sptc::report {
namespace {

TEST(TextReport, LooksLikeThis) {
  const std::string expected = "sptcsim " + std::string(program_version()) +
                               R"(: synthetic on test-gpu (SystemC, all 108 SMs)
options: fidelity datapath, check eigen, seed 42
TFLOP/s are effective: skipped zeros count. util = useful executed MACs, of the peak in these cycles.

operation, m x n x k         batch*cnt type variant       cycles      time us  TFLOP/s util % pad % speed-up check
ffn.intermediate                  1x24 f16  dense         141000      100.000    193.3   61.9   3.1          ok
  4096 x 3072 x 768                         2:4            70500       50.000    386.5   61.9   3.1    2.00x FAIL
    operation: name ffn.intermediate, m 4096, n 3072, k 768, batch 1, count 24, dtype f16, prunable true, speedup 2
    dense kernel: tile 128x128x32, warp_tile 64x64x32, instruction mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32,
      stages 3, split_k 1, decomposition data-parallel, persistent false, cluster_ctas 1, output_tiles 0, ctas 192,
      ctas_per_sm 2, occupancy_limit , shared_memory_carve_out_bytes 0, waves 1
    dense: cycles 141000, time_us 100, launch_us 0, clock_mhz 1410, tflops 193.274, utilization 0.6193, padding 0.03125,
      bound_by tensor
    dense bytes: hbm 0, hbm_read 0, hbm_written 0, l2 0, l2_hit_ratio 1, smem 0
    dense busy_cycles: tensor 0, operand_fetch 0, smem 0, sm_port 0, l2 0, hbm 0, reduction 0
    dense simulated: extrapolated true, cycles 1234
    dense check: mode eigen, elements 3072, worst_error 1.5e-05, bound 0.00025, worst_ratio 0.125, mismatches 0,
      undecided 0
    2:4 kernel: tile 128x128x32, warp_tile 64x64x32, instruction mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32,
      stages 3, split_k 1, decomposition data-parallel, persistent false, cluster_ctas 1, output_tiles 0, ctas 192,
      ctas_per_sm 2, occupancy_limit , shared_memory_carve_out_bytes 0, waves 1
    2:4: cycles 70500, time_us 50, launch_us 0, clock_mhz 1410, tflops 386.547, utilization 0.6193, padding 0.03125,
      bound_by tensor
    2:4 bytes: hbm 0, hbm_read 0, hbm_written 0, l2 0, l2_hit_ratio 1, smem 0
    2:4 busy_cycles: tensor 0, operand_fetch 0, smem 0, sm_port 0, l2 0, hbm 0, reduction 0
    2:4 simulated: extrapolated true, cycles 1234
    2:4 check: mode eigen, elements 3072, worst_error 0.5, bound 0.00025, worst_ratio 2000, mismatches 2, undecided 0
    2:4 check.first_violation: batch 0, row 3, col 17, got 0x3f800000, expected 0x3f000000
attention scores, "softmax..    128x24 f16  dense         141000      100.000    193.3   61.9   3.1          -
  384 x 384 x 64                            2:4                -            -        -      -     -
    operation: name attention scores, "softmax" input of every head, m 384, n 384, k 64, batch 128, count 24, dtype f16,
      prunable false
    dense kernel: tile 128x128x32, warp_tile 64x64x32, instruction mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32,
      stages 3, split_k 1, decomposition data-parallel, persistent false, cluster_ctas 1, output_tiles 0, ctas 192,
      ctas_per_sm 2, occupancy_limit , shared_memory_carve_out_bytes 0, waves 1
    dense: cycles 141000, time_us 100, launch_us 0, clock_mhz 1410, tflops 193.274, utilization 0.6193, padding 0.03125,
      bound_by tensor
    dense bytes: hbm 0, hbm_read 0, hbm_written 0, l2 0, l2_hit_ratio 1, smem 0
    dense busy_cycles: tensor 0, operand_fetch 0, smem 0, sm_port 0, l2 0, hbm 0, reduction 0
    dense simulated: extrapolated true, cycles 1234
total, GEMMs only                           dense                    4800.000    190.5
                                            sparse                   3600.000    254.0                 1.33x FAIL
Operations without a sparse variant enter the sparse total with their dense time.
time = cycles / clock + launches
  dense   4800.000 us of cycles at 1410 MHz + 0.000 of launches
  sparse  3600.000 us of cycles at 1410 MHz + 0.000 of launches

accuracy on 899 samples, layers computed by the simulated tensor cores:
  dense    simulated  94.66 %   float64  94.66 %   classified differently: 0
  sparse   simulated  94.22 %   float64  94.33 %   classified differently: 1

check eigen (Eigen in double precision, proved error bound): 6144 elements compared, 2 mismatches
  worst error 0.5, bound there 0.00025 (ffn.intermediate, sparse); largest error/bound 2e+03
  first violation: ffn.intermediate, sparse, batch 0, D[3, 17]: got 0x3f800000, expected about 0x3f000000
note: a note
assumed, not measured or cited: /sm/barrier_latency_cycles = 4 cycles
)";
  EXPECT_EQ(text_report(synthetic_result()), expected);
}

TEST(TextReport, FitsIn120Columns) {
  run::RunResult result = synthetic_result();
  result.workload = std::string(300, 'w');
  result.options.emplace_back("data", std::string(300, 'd'));
  run::OperationResult& op = result.operations[0];
  op.name = std::string(300, 'n');
  op.shape = {2147483647, 2147483647, 2147483647};
  op.batch = 12345;
  op.pattern = "4096:2:64";
  op.count = 999;
  op.dense->timing.cycles = 999'999'999'999;
  op.dense->timing.time_us = 12'345'678'901.5;
  op.dense->timing.tflops = 12345.6;
  op.dense->kernel.cta_tile = {1024, 1024, 1024};
  op.dense->kernel.stages = 16;
  op.dense->kernel.split_k = 64;
  op.dense->kernel.instruction.family = mma::MmaFamily::kTcgen05;
  op.dense->kernel.instruction.shape = {128, 256, 1024};
  op.dense->kernel.instruction.sparse = true;
  op.sparse = op.dense;
  for (int i = 0; i < 50; ++i) {
    result.assumed.push_back("/a/parameter/with/a/name/" + std::to_string(i) + " = 1 cycles");
  }
  std::istringstream lines(text_report(result));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST(TextReport, AddsCyclesAndLaunchesUpToTheTime) {
  run::RunResult result = synthetic_result();
  result.operations.resize(1);
  run::OperationResult& op = result.operations[0];
  op.count = 2;
  op.dense->timing.time_us = 82;
  op.dense->timing.launch_us = 1.3;
  op.dense->timing.clock_mhz = 1410;
  op.sparse->timing.launch_us = 1.25;
  op.sparse->timing.clock_mhz = 1300;
  const std::string text = text_report(result);
  EXPECT_NE(text.find("\n  dense   161.400 us of cycles at 1410 MHz + 2.600 of launches\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n  sparse  97.500 us of cycles at 1300 MHz + 2.500 of launches\n"),
            std::string::npos)
      << text;
}

TEST(TextReport, EscapesNamesAndSaysWhatWasNotCheckedOrDecided) {
  run::RunResult result = synthetic_result();
  run::OperationResult& op = result.operations[0];
  op.name = "red\033[31m";
  op.dense->check->undecided = 5;
  EXPECT_EQ(text_report(result).find('\033'), std::string::npos);
  EXPECT_NE(text_report(result).find("5 elements are undecided"), std::string::npos);
  op.dense->check.reset();
  op.sparse->check.reset();
  EXPECT_NE(text_report(result).find("values were not checked"), std::string::npos);
}

TEST(TextReport, EnergiesAddUpToTheirTotal) {
  for (const double scale : {1e-4, 1e-2, 1.0, 1e6}) {
    run::RunResult result = synthetic_result();
    run::EnergyResult dense = energy_of(100 * scale, false);
    run::EnergyResult sparse = energy_of(60 * scale, true);
    for (auto& [part, uj] : sparse.parts_uj) {
      uj = part == "metadata_read" ? 0.05 * scale : part == "round" ? 0.03 * scale : uj;
    }
    dense.total_uj = 200 * scale;
    sparse.total_uj = 120.08 * scale;
    result.totals.dense->energy = dense;
    result.totals.sparse->energy = sparse;
    std::istringstream text(text_report(result));
    std::string row;
    while (row.find("energy, GEMMs only") == std::string::npos) {
      ASSERT_TRUE(std::getline(text, row));
    }
    std::getline(text, row);
    double sum = 0;
    double of_dense = 0;
    double of_sparse = 0;
    std::string name;
    while (text >> name >> of_dense >> of_sparse && name != "total") {
      sum += of_sparse;
    }
    EXPECT_EQ(name, "total");
    EXPECT_NEAR(of_sparse, sparse.total_uj, 5e-5 * sparse.total_uj) << scale;
    EXPECT_NEAR(sum, of_sparse, 1e-4 * sparse.total_uj) << scale;
  }
}

TEST(TextReport, ShowsWhereTheEnergyGoesDenseBesideSparse) {
  const std::string text = text_report(with_energy());
  EXPECT_NE(text.find("  multiply                     1500.0          750.0\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  pJ per flop                  0.8000         0.8000\n"), std::string::npos);
  EXPECT_NE(text.find("performance per watt, sparse / dense: 2.00x"), std::string::npos);
  EXPECT_EQ(text.find("idle_sms"), std::string::npos);
  EXPECT_EQ(text_report(synthetic_result()).find("energy"), std::string::npos);
}

TEST(ReportFormat, IsRefusedWithTheNearestName) {
  EXPECT_EQ(parse_report_format("json"), ReportFormat::kJson);
  try {
    parse_report_format("jsn");
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("nearest valid: 'json'"), std::string::npos);
  }
}

}  // namespace
}  // namespace sptc::report
