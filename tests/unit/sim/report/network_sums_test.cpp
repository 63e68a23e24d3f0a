// SPDX-License-Identifier: Apache-2.0
#include "sim/report/network_sums.h"

#include "sim/report/report.h"
#include "sim/run/run.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sptc::report {
namespace {

TEST(Measured, EachLaunchStandsBesideTheVariantThatWasMeasured) {
  run::RunResult result = synthetic_result();
  run::OperationResult& op = result.operations.at(0);  // dense 100 us, sparse 50 us, 24 launches
  op.measured_us = 80;
  MeasuredTotals totals = measured_totals(result.operations);
  EXPECT_EQ(totals.launches, 24);
  EXPECT_DOUBLE_EQ(totals.measured_us, 24 * 80);
  EXPECT_DOUBLE_EQ(totals.simulated_us, 24 * 100);
  EXPECT_NE(text_report(result).find("+25.0"), std::string::npos);
  op.measured_sparse = true;
  totals = measured_totals(result.operations);
  EXPECT_DOUBLE_EQ(totals.simulated_us, 24 * 50);
  EXPECT_NE(text_report(result).find("-37.5"), std::string::npos);
  op.sparse.reset();
  EXPECT_EQ(measured_totals(result.operations).launches, 0);
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

TEST(Waterfall, CausesAddUpFromTheIdealToTheRealTime) {
  run::RunResult result = synthetic_result();
  run::OperationResult& op = result.operations[0];
  op.dense->timing.launch_us = 4;
  op.sparse->timing.launch_us = 5;
  op.sparse->timing.executed_share = 0.5;
  op.sparse->timing.time_us = 60;
  op.sparse->timing.clock_mhz = 1300;
  const double sparse_us = 24 * (60 + 100);
  result.totals.sparse->time_us = sparse_us;
  const Waterfall waterfall = waterfall_of(result);
  EXPECT_EQ(waterfall.dense_us, 4800);
  EXPECT_EQ(waterfall.ideal_us, 2400);
  double sum = waterfall.ideal_us;
  std::map<std::string, double> of;
  for (const GainLoss& loss : waterfall.losses) {
    sum += loss.us;
    of[loss.cause] = loss.us;
  }
  EXPECT_NEAR(sum, sparse_us, 1e-9);
  EXPECT_DOUBLE_EQ(of["layers that stay dense"], 24 * 50);
  EXPECT_DOUBLE_EQ(of["launches"], 24 * (5 - 0.5 * 4));
  EXPECT_DOUBLE_EQ(of["clock"], 24 * (55 - 70500 / 1410.0));
}

}  // namespace
}  // namespace sptc::report
