// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"

#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace sptc::report {
namespace {

run::OperationResult explained() {
  run::OperationResult op = synthetic_result().operations[0];
  gpu::StallShares& dense = op.dense->explanation.stalls.emplace();
  dense[sm::StallReason::kMma] = 0.89;
  dense[sm::StallReason::kBarrier] = 0.11;
  gpu::StallShares& sparse = op.sparse->explanation.stalls.emplace();
  sparse[sm::StallReason::kMma] = 0.61;
  sparse[sm::StallReason::kL2] = 0.31;
  sparse[sm::StallReason::kNoCta] = 0.08;
  op.sparse->explanation.what_if->speedup[3] = 1.21;
  return op;
}

TEST(Explanation, LooksLikeThis) {
  const std::string expected = R"(ffn.intermediate (4096 x 3072 x 768)
  dense        192 CTAs of 128x128; at most 2 on an SM: 1 wave
  2:4          192 CTAs of 128x128; at most 2 on an SM: 1 wave
  % of cycles      mma   fetch mma lat    smem mem lat SM port      L2    DRAM barrier   issue    ends  no CTA
  dense           89.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0    11.0     0.0     0.0     0.0
  2:4             61.0     0.0     0.0     0.0     0.0     0.0    31.0     0.0     0.0     0.0     0.0     8.0
  twice: gain   tensor    smem SM port      L2    DRAM latency  launch    grid     SMs   clock
  dense           1.50    1.00    1.00    1.00    1.00    1.00    1.00    1.00    1.00    1.00
  2:4             1.00    1.00    1.00    1.21    1.00    1.00    1.00    1.00    1.00    1.00
  2:4 gains 2.00x. dense: tensor cores 89 % at work, waits at barriers 11 % of the cycles; twice the tensor rate would
  gain 1.50x. 2:4: tensor cores 61 % at work, waits for the L2 31 % of the cycles; twice the L2 rate would gain 1.21x.
)";
  EXPECT_EQ(explain(explained()), expected);
}

TEST(Explanation, SaysOfAClosedFormWhatWouldMakeItFaster) {
  run::OperationResult op = explained();
  op.dense.reset();
  op.sparse->explanation.stalls.reset();
  EXPECT_EQ(explanation_sentence(op), "2:4: twice the L2 rate would gain 1.21x.");
  EXPECT_EQ(explain(op).find("% of cycles"), std::string::npos);
}

TEST(Explanation, SaysWhenThePowerLimitHoldsTheClock) {
  run::OperationResult op = explained();
  op.sparse->energy.emplace().limited = true;
  op.sparse->timing.clock_mhz = 748;
  const std::string sentence = explanation_sentence(op);
  EXPECT_NE(sentence.find("31 % of the cycles, at 748 MHz by the power limit; twice the L2 rate"), std::string::npos)
      << sentence;
  EXPECT_EQ(sentence.find("power limit"), sentence.rfind("power limit")) << "of 2:4 alone";
}

TEST(Explanation, FitsIn120Columns) {
  run::OperationResult op = explained();
  op.name = std::string(300, 'n');
  op.pattern = "4096:2:64";
  op.shape = {2147483647, 2147483647, 2147483647};
  std::istringstream lines(explain(op));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120U) << line;
  }
}

TEST(EnergyExplanation, SaysWhatTwoToFourSavesAndAdds) {
  const run::RunResult result = result_with_energy();
  const run::OperationResult& op = result.operations[0];
  EXPECT_EQ(energy_sentence("2:4", *op.dense->energy, *op.sparse->energy),
            "2:4 saves 35.0 % of the energy; less, in uJ: multiplying and adding 40.00 and DRAM 40.00; "
            "more: reading metadata 10.00.");
  const std::string text = explain_energy(op);
  EXPECT_NE(text.find("metadata"), std::string::npos);
  EXPECT_NE(text.find("  dense       200.0 uJ     4.0     50.0      0.0      0.0"), std::string::npos) << text;
  EXPECT_NE(text.find("  sparse      130.0 uJ     2.6     46.2      0.0      7.7"), std::string::npos) << text;
  EXPECT_EQ(explain_energy(synthetic_result().operations[0]), "");
}

TEST(EnergyExplanation, SaysWhereTwoToFourCosts) {
  EXPECT_EQ(energy_sentence("2:4", energy_of(100, false), energy_of(110, true)),
            "2:4 costs 15.0 % of the energy; more: reading metadata 10.00, multiplying and adding 10.00 "
            "and DRAM 10.00.");
}

TEST(EnergyExplanation, CountsEveryPartOnce) {
  // Each part alone is all of the energy, in one column.
  const run::EnergyResult base = energy_of(0, false);
  for (std::size_t i = 0; i < base.parts_uj.size(); ++i) {
    run::OperationResult op = synthetic_result().operations[1];
    op.dense->energy = base;
    op.dense->energy->parts_uj[i].second = 8;
    op.dense->energy->total_uj = 8;
    const std::string text = explain_energy(op);
    EXPECT_EQ(text.find("100.0"), text.rfind("100.0")) << base.parts_uj[i].first;
    EXPECT_NE(text.find("100.0"), std::string::npos) << base.parts_uj[i].first;
  }
}

}  // namespace
}  // namespace sptc::report
