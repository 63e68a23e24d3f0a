// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include "models/base/error.h"
#include "sim/report/explanation.h"
#include "sim/report/version.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

namespace sptc::report {
namespace {

TEST(TextReport, LooksLikeThis) {
  const std::string expected =
      R"(2:4 gains: 1.33x the speed of dense (synthetic on test-gpu; SystemC, all 108 SMs).
Bound by: tensor (dense), tensor (2:4).

layer                    m x n x k               launches type      dense       2:4   gain  bound by
ffn.intermediate         4096 x 3072 x 768             24 f16      100 us   50.0 us  2.00x  tensor
attention scores, "sof.. 384 x 384 x 64            128x24 f16      100 us         -         tensor
all GEMMs                                              48         4.80 ms   3.60 ms  1.33x

accuracy on 899 samples, layers computed by the simulated tensor cores:
  dense    simulated  94.66 %   float64  94.66 %   classified differently: 0
  sparse   simulated  94.22 %   float64  94.33 %   classified differently: 1

Values: 6144 elements compared, 2 mismatches: FAIL (--verbose says where).
note: a note
This rests on 1 assumed numbers; --verbose lists them.
)";
  EXPECT_EQ(text_report(synthetic_result()), expected);
}

TEST(TextReport, LooksLikeThisWithAllFigures) {
  const std::string expected =
      R"(2:4 gains: 1.33x the speed of dense (synthetic on test-gpu; SystemC, all 108 SMs).
Bound by: tensor (dense), tensor (2:4).
sptcsim )" +
      std::string(program_version()) + R"(, options: fidelity datapath, check eigen, seed 42

layer                    m x n x k               launches type      dense       2:4   gain  bound by
ffn.intermediate         4096 x 3072 x 768             24 f16      100 us   50.0 us  2.00x  tensor
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
attention scores, "sof.. 384 x 384 x 64            128x24 f16      100 us         -         tensor
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
all GEMMs                                              48         4.80 ms   3.60 ms  1.33x
    dense: time_us 4800, tflops 190.5, mismatches 0
    2:4: time_us 3600, tflops 254, mismatches 2
    all GEMMs: speedup 1.33333

accuracy on 899 samples, layers computed by the simulated tensor cores:
  dense    simulated  94.66 %   float64  94.66 %   classified differently: 0
  sparse   simulated  94.22 %   float64  94.33 %   classified differently: 1

Values: 6144 elements compared, 2 mismatches: FAIL.
note: a note
assumed, not measured or cited: /sm/barrier_latency_cycles = 4 cycles
)";
  EXPECT_EQ(text_report(synthetic_result(), {.verbose = true}), expected);
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
  std::istringstream lines(text_report(result, {.verbose = true}));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST(TextReport, EscapesNamesAndSaysWhatWasNotCheckedOrDecided) {
  run::RunResult result = synthetic_result();
  run::OperationResult& op = result.operations[0];
  op.name = "red\033[31m";
  op.dense->check->undecided = 5;
  EXPECT_EQ(text_report(result, {.verbose = true}).find('\033'), std::string::npos);
  EXPECT_NE(text_report(result).find("5 undecided"), std::string::npos);
  op.dense->check.reset();
  op.sparse->check.reset();
  EXPECT_NE(text_report(result).find("Values were not checked"), std::string::npos);
}

TEST(TextReport, ShowsWhereTheEnergyGoesDenseBesideSparse) {
  const std::string text = text_report(with_energy(), {.verbose = true});
  EXPECT_NE(text.find("    dense energy_uj: multiply 1500, hbm 500, total 2000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    2:4 energy_uj: multiply 750, hbm 250, total 1000\n"), std::string::npos);
  EXPECT_NE(text.find("performance_per_watt_ratio 2\n"), std::string::npos);
  EXPECT_EQ(text.find("idle_sms"), std::string::npos);
  EXPECT_EQ(text_report(synthetic_result(), {.verbose = true}).find("energy"), std::string::npos);
}

TEST(TextReport, FitsIn100ColumnsAndListsTheLayersThatTakeLongest) {
  run::RunResult result = synthetic_result();
  result.workload = std::string(300, 'w');
  run::OperationResult& wide = result.operations[0];
  wide.name = std::string(300, 'n');
  wide.batch = 128;
  wide.count = 999;
  wide.dense->timing.time_us = 987'654'321;
  wide.sparse->timing.time_us = 12'345'678;
  for (int i = 0; i < 40; ++i) {
    result.operations.push_back(result.operations[1]);
    result.operations.back().name = "small " + std::to_string(i);
    result.operations.back().dense->timing.time_us = 1 + i;
  }
  const std::string text = text_report(result);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
  }
  EXPECT_NE(text.find("and 30 that take less (--verbose)"), std::string::npos);
  EXPECT_EQ(text.find("small 10 "), std::string::npos);
  EXPECT_NE(text.find("small 39 "), std::string::npos);
}

TEST(TextReport, NamesTheLayersThatGainLeastAndMost) {
  run::RunResult result = synthetic_result();
  for (const auto& [name, sparse_us] : {std::pair{"slow", 125.0}, std::pair{"middle", 80.0}}) {
    run::OperationResult& op = result.operations.emplace_back(result.operations[0]);
    op.name = name;
    op.sparse->timing.time_us = sparse_us;
  }
  const std::string text = text_report(result);
  EXPECT_NE(text.find("Least: slow 0.80x (bound by tensor). Most: ffn.intermediate 2.00x"), std::string::npos) << text;
}

TEST(TextReport, SharesOfTheEnergyAddUpToTheTotal) {
  const run::RunResult result = with_energy();
  const run::EnergyResult& energy = *result.totals.dense->energy;
  double sum = 0;
  for (const EnergyShare& share : energy_shares(energy)) {
    sum += share.uj;
  }
  EXPECT_DOUBLE_EQ(sum, energy.total_uj);
  EXPECT_NE(text_report(result).find("\ntotal, "), std::string::npos);
}

TEST(TextReport, ColoursGainsAndLossesWhereAsked) {
  run::RunResult result = synthetic_result();
  EXPECT_NE(text_report(result, {.color = true}).find("\033[32m  2.00x\033[0m"), std::string::npos);
  result.operations[0].sparse->timing.time_us = 200;
  EXPECT_NE(text_report(result, {.color = true}).find("\033[31m  0.50x\033[0m"), std::string::npos);
  EXPECT_EQ(text_report(result).find('\033'), std::string::npos);
}

TEST(TextReport, SaysHowFarTheBoardIsFromEvidence) {
  using Where = run::EvidenceDistance::Where;
  run::RunResult result = synthetic_result();
  EXPECT_EQ(text_report(result).find("Evidence: "), std::string::npos);
  run::EvidenceDistance& evidence = result.evidence.emplace();
  evidence.chip = "GH100";
  evidence.generation = "hopper";
  const auto has = [&](const std::string& line) {
    for (const std::string& text : {text_report(result), text_report(result, {.verbose = true})}) {
      EXPECT_NE(text.find("Evidence: " + line + "\n"), std::string::npos) << text;
    }
  };
  has("f16 measured on none of its generation, hopper; mean error of gains: not known.");
  evidence.where = Where::kGeneration;
  evidence.boards = {"h200-sxm"};
  has("f16 measured on its generation, hopper (h200-sxm); mean error of gains: not known.");
  evidence.where = Where::kChip;
  evidence.boards = {"h100-pcie", "h100-sxm5-80gb", "h200-sxm"};
  evidence.mean_error_percent = 12.4;
  has("f16 measured on its chip, GH100 (h100-pcie and 2 more); mean error of gains: 12 %.");
  evidence.where = Where::kBoard;
  has("f16 measured on this board; mean error of gains: 12 %.");
  result.totals.speedup.reset();
  has("f16 measured on this board; mean error of gains, where there are any: 12 %.");
  evidence.own_design = true;
  has("measured on none, for it is a design of one's own.");
}

TEST(TextReport, SaysHowFarTheGainWasOffOnMeasuredShapes) {
  run::RunResult result = synthetic_result();
  run::MeasuredGain& gain = result.measured_gain.emplace();
  gain.layers = gain.layers_like = 1;
  EXPECT_NE(text_report(result).find("There are no measured shapes like these.\n"), std::string::npos);
  run::MeasuredPair pair;
  pair.dense = {100, 120, {}};
  pair.sparse = {50, 50, {}};
  gain.pairs.assign(9, pair);
  const run::OperationResult& op = result.operations[0];
  pair.shape = op.shape;
  pair.dtype = op.dtype;
  pair.pattern = op.pattern;
  pair.conditions = "h100, L2 warm";
  gain.pairs = {pair};
  std::string one_line = text_report(result);
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  EXPECT_NE(one_line.find(fmt::format("1 measured shape like these is too few for a mean error: {} x "
                                      "{} x {} in {} ran at 2.00x the speed of dense (h100, L2 "
                                      "warm), where {} claims 2.00x.",
                                      op.shape.m, op.shape.n, op.shape.k, numerics::name(op.dtype), op.name)),
            std::string::npos)
      << one_line;
  gain.pairs.assign(9, pair);
  one_line = text_report(result);
  EXPECT_NE(one_line.find("9 measured shapes like these are too few for a mean"), std::string::npos);
  gain.pairs.push_back(pair);
  EXPECT_NE(text_report(result).find("On 10 measured shapes like these the gain was off by 20 % on average.\n"),
            std::string::npos);
  gain.layers = 3;
  EXPECT_NE(text_report(result).find("like 1 of these 3 layers the gain"), std::string::npos);
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
