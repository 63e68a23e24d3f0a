// SPDX-License-Identifier: Apache-2.0
#include "sim/report/measured.h"

#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::report {
namespace {

TEST(Measured, NothingIsSaidWhereNothingWasMeasured) {
  EXPECT_EQ(measured_text(synthetic_result().operations), "");
}

TEST(Measured, EachLaunchStandsBesideTheVariantThatWasMeasured) {
  std::vector<run::OperationResult> operations = synthetic_result().operations;
  run::OperationResult& op = operations.at(0);  // dense 100 us, sparse 50 us, 24 launches
  op.measured_us = 80;
  MeasuredTotals totals = measured_totals(operations);
  EXPECT_EQ(totals.launches, 24);
  EXPECT_DOUBLE_EQ(totals.measured_us, 24 * 80);
  EXPECT_DOUBLE_EQ(totals.simulated_us, 24 * 100);
  EXPECT_NE(measured_text(operations).find("+25.0"), std::string::npos);
  op.measured_sparse = true;
  totals = measured_totals(operations);
  EXPECT_DOUBLE_EQ(totals.simulated_us, 24 * 50);
  EXPECT_NE(measured_text(operations).find("-37.5"), std::string::npos);
  op.sparse.reset();
  EXPECT_EQ(measured_totals(operations).launches, 0);
}

}  // namespace
}  // namespace sptc::report
