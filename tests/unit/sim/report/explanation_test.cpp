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
  EXPECT_NE(sentence.find("31 % of the cycles, at 748 MHz by the power limit; twice the L2 rate"),
            std::string::npos)
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

}  // namespace
}  // namespace sptc::report
