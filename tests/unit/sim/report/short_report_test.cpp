// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"
#include "sim/report/report.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

namespace sptc::report {
namespace {

TEST(ShortReport, LooksLikeThis) {
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
1 assumed numbers entered (--verbose).
)";
  EXPECT_EQ(short_report(synthetic_result(), false), expected);
}

TEST(ShortReport, FitsIn100ColumnsAndListsTheLayersThatTakeLongest) {
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
  const std::string text = short_report(result, false);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
  }
  EXPECT_NE(text.find("and 30 that take less (--verbose)"), std::string::npos);
  EXPECT_EQ(text.find("small 10 "), std::string::npos);
  EXPECT_NE(text.find("small 39 "), std::string::npos);
}

TEST(ShortReport, NamesTheLayersThatGainLeastAndMost) {
  run::RunResult result = synthetic_result();
  for (const auto& [name, sparse_us] : {std::pair{"slow", 125.0}, std::pair{"middle", 80.0}}) {
    run::OperationResult& op = result.operations.emplace_back(result.operations[0]);
    op.name = name;
    op.sparse->timing.time_us = sparse_us;
  }
  const std::string text = short_report(result, false);
  EXPECT_NE(text.find("Least: slow 0.80x (bound by tensor). Most: ffn.intermediate 2.00x"),
            std::string::npos)
      << text;
}

TEST(ShortReport, SharesOfTheEnergyAddUpToTheTotal) {
  const run::RunResult result = with_energy();
  const run::EnergyResult& energy = *result.totals.dense->energy;
  double sum = 0;
  for (const EnergyShare& share : energy_shares(energy)) {
    sum += share.uj;
  }
  EXPECT_DOUBLE_EQ(sum, energy.total_uj);
  EXPECT_NE(short_report(result, false).find("\ntotal, "), std::string::npos);
}

TEST(ShortReport, ColoursGainsAndLossesWhereAsked) {
  run::RunResult result = synthetic_result();
  EXPECT_NE(short_report(result, true).find("\033[32m  2.00x\033[0m"), std::string::npos);
  result.operations[0].sparse->timing.time_us = 200;
  EXPECT_NE(short_report(result, true).find("\033[31m  0.50x\033[0m"), std::string::npos);
  EXPECT_EQ(short_report(result, false).find('\033'), std::string::npos);
}

TEST(ShortReport, SaysHowFarTheBoardIsFromEvidence) {
  using Where = run::EvidenceDistance::Where;
  run::RunResult result = synthetic_result();
  EXPECT_EQ(short_report(result, false).find("Evidence: "), std::string::npos);
  run::EvidenceDistance& evidence = result.evidence.emplace();
  evidence.chip = "GH100";
  evidence.generation = "hopper";
  const auto has = [&](const std::string& line) {
    for (const std::string& text : {short_report(result, false), text_report(result)}) {
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

TEST(ShortReport, SaysHowFarTheGainWasOffOnMeasuredShapes) {
  run::RunResult result = synthetic_result();
  run::MeasuredGain& gain = result.measured_gain.emplace();
  gain.layers = gain.layers_like = 1;
  EXPECT_NE(short_report(result, false).find("There are no measured shapes like these.\n"),
            std::string::npos);
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
  std::string one_line = short_report(result, false);
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  EXPECT_NE(one_line.find(
                fmt::format("1 measured shape like these is too few for a mean error: {} x "
                            "{} x {} in {} ran at 2.00x the speed of dense (h100, L2 "
                            "warm), where {} claims 2.00x.",
                            op.shape.m, op.shape.n, op.shape.k, numerics::name(op.dtype), op.name)),
            std::string::npos)
      << one_line;
  gain.pairs.assign(9, pair);
  one_line = short_report(result, false);
  EXPECT_NE(one_line.find("9 measured shapes like these are too few for a mean"),
            std::string::npos);
  gain.pairs.push_back(pair);
  EXPECT_NE(short_report(result, false)
                .find("On 10 measured shapes like these the gain was off by 20 % on average.\n"),
            std::string::npos);
  gain.layers = 3;
  EXPECT_NE(short_report(result, false).find("like 1 of these 3 layers the gain"),
            std::string::npos);
}

}  // namespace
}  // namespace sptc::report
