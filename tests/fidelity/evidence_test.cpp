// SPDX-License-Identifier: Apache-2.0
// How far times and gains in closed form are from those of configs/evidence, board by board: which
// sets of measured rows a change moves, and that none gets worse.
#include "sim/check/times/validate.h"
#include "tests/support/ratchet.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::fidelity {
namespace {

void expect_board_no_worse(const std::string& board) {
  check::times::ValidationJob job;
  job.file = std::string(SPTC_SOURCE_DIR) + "/configs/evidence/" + board + ".csv";
  job.arch = board;
  job.options.fidelity = run::Fidelity::kAnalytic;
  job.defaults = check::times::parse_defaults("f16", "dense", "random", job.options);
  const check::times::Validation result = check::times::validate(job);
  for (const check::times::AccuracyOfKind& kind : result.accuracy.by) {
    support::expect_no_worse(
        board + " " + std::string(numerics::name(kind.dtype)) + " " + kind.sparsity + " time mean %",
        kind.errors.mape_percent);
  }
  ASSERT_TRUE(result.speedup.has_value());
  for (const check::times::SpeedupOfKind& kind : result.speedup->by) {
    support::expect_no_worse(board + " " + std::string(numerics::name(kind.dtype)) + " " +
                                 std::string(kernels::name(kind.algorithm)) + " " + kind.l2 + " gain mean %",
                             kind.figures.mean_error_percent);
  }
  for (const check::times::KernelAccuracy& kind : result.kernels) {
    support::expect_no_worse(board + " " + std::string(numerics::name(kind.dtype)) + " " + kind.sparsity + " " +
                                 std::string(kernels::name(kind.algorithm)) + " time with the kernel that ran mean %",
                             kind.recorded.mape_percent);
  }
}

TEST(Evidence, A100Pcie) {
  expect_board_no_worse("a100-pcie-80gb");
}

TEST(Evidence, H100Pcie) {
  expect_board_no_worse("h100-pcie");
}

TEST(Evidence, H100Sxm) {
  expect_board_no_worse("h100-sxm5-80gb");
}

TEST(Evidence, B200) {
  expect_board_no_worse("b200");
}

TEST(Evidence, Rtx4090) {
  expect_board_no_worse("rtx4090");
}

}  // namespace
}  // namespace sptc::fidelity
