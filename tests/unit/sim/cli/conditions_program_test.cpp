// SPDX-License-Identifier: Apache-2.0
//
// The conditions of a launch as a user asks for them.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace {

class ConditionsOfALaunch : public sptc::cli::JsonProgram {
 protected:
  nlohmann::json dense(const std::string& options) const {
    return json_of(
        "gemm 1024 1024 1024 --clock boost --check none --quiet --variants dense "
        "--format json " +
        options)["operations"][0]["dense"];
  }
};

TEST_F(ConditionsOfALaunch, AWarmL2HasTheOperandsAndWeightsThatTakeTurnsHaveTheirDramRead) {
  constexpr std::int64_t kOperand = 2 * 1024 * 1024;
  for (const std::string fidelity : {"analytic", "timing"}) {
    const auto dram_read = [&](const std::string& l2) {
      const nlohmann::json launch = dense("--fidelity " + fidelity + " --l2 " + l2);
      return launch["bytes"]["hbm_read"].get<std::int64_t>();
    };
    EXPECT_EQ(dram_read("cold"), 2 * kOperand) << fidelity;
    EXPECT_EQ(dram_read("warm"), 0) << fidelity;
    EXPECT_EQ(dram_read("rotate:1"), 0) << fidelity;
    // All of A, which is an operand of 2 MB among 1024, and little of B.
    EXPECT_GE(dram_read("rotate:1024"), kOperand) << fidelity;
    EXPECT_LT(dram_read("rotate:1024"), 2 * kOperand) << fidelity;
  }
  EXPECT_LT(dense("--l2 warm")["cycles"], dense("--l2 cold")["cycles"]);
}

TEST_F(ConditionsOfALaunch, AGraphLaunchesSoonerThanAStreamAndAnEagerHostLater) {
  const nlohmann::json graph = dense("--launch graph");
  const nlohmann::json stream = dense("--launch stream");
  const nlohmann::json eager = dense("--launch eager");
  EXPECT_EQ(stream, dense(""));
  EXPECT_EQ(graph["cycles"], stream["cycles"]);
  EXPECT_EQ(eager["cycles"], stream["cycles"]);
  const auto longer_us = [&](const nlohmann::json& launch, const char* key) {
    return launch[key].get<double>() - graph[key].get<double>();
  };
  const double stream_us = 1.1;  // of the A100
  for (const char* key : {"time_us", "launch_us"}) {
    EXPECT_NEAR(longer_us(stream, key), stream_us, 1e-9);
    EXPECT_NEAR(longer_us(eager, key), 2 * stream_us, 1e-9);
  }
}

}  // namespace
