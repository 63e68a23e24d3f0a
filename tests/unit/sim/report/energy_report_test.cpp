// SPDX-License-Identifier: Apache-2.0
#include "sim/report/energy_explanation.h"
#include "sim/report/power_trace.h"
#include "sim/run/run.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sptc::report {
namespace {

TEST(EnergyExplanation, SaysWhatTwoToFourSavesAndAdds) {
  const run::RunResult result = result_with_energy();
  const run::OperationResult& op = result.operations[0];
  EXPECT_EQ(
      energy_sentence("2:4", *op.dense->energy, *op.sparse->energy),
      "2:4 saves 35.0 % of the energy; less, in uJ: multiplying and adding 40.00 and DRAM 40.00; "
      "more: reading metadata 10.00.");
  const std::string text = explain_energy(op);
  EXPECT_NE(text.find("metadata"), std::string::npos);
  EXPECT_NE(text.find("  dense       200.0 uJ     4.0     50.0      0.0      0.0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  sparse      130.0 uJ     2.6     46.2      0.0      7.7"),
            std::string::npos)
      << text;
  EXPECT_EQ(explain_energy(synthetic_result().operations[0]), "");
}

TEST(EnergyExplanation, SaysWhereTwoToFourCosts) {
  EXPECT_EQ(
      energy_sentence("2:4", energy_of(100, false), energy_of(110, true)),
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

TEST(PowerOverTime, PutsTheLaunchesOneAfterTheOther) {
  const run::RunResult result = result_with_energy();
  const auto dense = power_over_time(result.operations, false);
  ASSERT_EQ(dense.size(), 2u);
  EXPECT_DOUBLE_EQ(dense[0].to_us, 24 * 100);
  EXPECT_DOUBLE_EQ(dense[1].from_us, 24 * 100);
  EXPECT_DOUBLE_EQ(dense[0].power_w, 4);
  // The operation that stays dense runs in the sparse network too.
  const auto sparse = power_over_time(result.operations, true);
  ASSERT_EQ(sparse.size(), 2u);
  EXPECT_DOUBLE_EQ(sparse[0].to_us, 24 * 50);
  EXPECT_DOUBLE_EQ(sparse[1].power_w, dense[1].power_w);
  EXPECT_TRUE(power_over_time(synthetic_result().operations, false).empty());
}

TEST(PowerOverTime, EndsWithTheTotalWhereAGroupHasTheClockOfTheSparseNetwork) {
  run::RunResult result = result_with_energy();
  run::OperationResult& attention = result.operations[1];
  attention.dense_among_sparse = attention.dense;
  attention.dense_among_sparse->timing.time_us = 110;
  attention.dense_among_sparse->timing.clock_mhz = 1280;
  const auto sparse = power_over_time(result.operations, true);
  EXPECT_DOUBLE_EQ(sparse.back().clock_mhz, 1280);
  EXPECT_DOUBLE_EQ(sparse.back().to_us, run::sum_up(result.operations).sparse->time_us);
  const auto dense = power_over_time(result.operations, false);
  EXPECT_DOUBLE_EQ(dense.back().to_us, run::sum_up(result.operations).dense->time_us);
}

}  // namespace
}  // namespace sptc::report
