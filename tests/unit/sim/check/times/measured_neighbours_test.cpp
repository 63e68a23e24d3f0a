// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/evidence.h"
#include "sim/check/times/launch_simulation.h"
#include "sim/config/architecture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace sptc::check::times {
namespace {

class MeasuredNeighbours : public testing::Test {
 protected:
  static run::OperationResult layer(base::GemmShape shape) {
    run::OperationResult op;
    op.shape = shape;
    op.pattern = "2:4";
    op.dense.emplace().timing.time_us = 2;
    op.sparse.emplace().timing.time_us = 1;
    return op;
  }

  static std::vector<Measurement> rows(const std::string& lines) {
    return parse_measurements("m,n,k,dtype,sparsity,time_us_median\n" + lines, "rows.csv");
  }

  run::MeasuredGain neighbours(const std::string& lines) const {
    return measured_neighbours(result, board, {}, rows(lines));
  }

  const config::Architecture board = config::load_architecture("a100-pcie-80gb");
  run::RunResult result;
};

TEST_F(MeasuredNeighbours, AreWithinTwiceEachExtentOfTheSameTypeAndSparsity) {
  result.operations.push_back(layer({4096, 1024, 2048}));
  const auto pair = [](const std::string& shape, const std::string& type, const std::string& pattern = "2:4") {
    return shape + "," + type + ",dense,100\n" + shape + "," + type + "," + pattern + ",70\n";
  };
  const run::MeasuredGain gain =
      neighbours(pair("8192,512,1024", "f16") + pair("8193,1024,2048", "f16") + pair("4096,511,2048", "f16") +
                 pair("4096,1024,4097", "f16") + pair("4096,1024,2048", "bf16") + pair("4096,1024,2048", "f16", "1:4") +
                 "2048,1024,2048,f16,2:4,70\n" + pair("4096,2048,4096", "f16"));
  ASSERT_EQ(gain.pairs.size(), 2u);
  EXPECT_EQ(gain.pairs[0].shape.m, 8192);
  EXPECT_EQ(gain.pairs[1].shape.k, 4096);
  EXPECT_EQ(gain.layers, 1);
  EXPECT_EQ(gain.layers_like, 1);
  EXPECT_FALSE(gain.is_known());
}

TEST_F(MeasuredNeighbours, AreSimulatedUnderTheConditionsOfTheirRows) {
  result.operations.push_back(layer({2048, 64, 2048}));
  result.operations.push_back(layer({32, 32, 32}));
  const std::vector<Measurement> evidence = evidence_of("a100-pcie-80gb");
  const run::MeasuredGain gain = measured_neighbours(result, board, {});
  EXPECT_EQ(gain.layers, 2);
  EXPECT_EQ(gain.layers_like, 1);
  ASSERT_FALSE(gain.pairs.empty());
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  run::EnergyFiles files;
  LaunchSimulation simulation(board, run::resolved(options, board, files));
  double sum = 0;
  for (const run::MeasuredPair& pair : gain.pairs) {
    double measured = 1, simulated = 1;
    for (const Measurement& row : evidence) {
      const base::GemmShape& shape = row.launch.shape;
      if (row.launch.dtype == pair.dtype && shape.m == pair.shape.m && shape.n == pair.shape.n &&
          shape.k == pair.shape.k) {
        const double sign = row.launch.pattern ? -1 : 1;
        measured *= std::pow(row.time_us, sign);
        simulated *= std::pow(simulation(row.launch).time_us, sign);
      }
    }
    EXPECT_NEAR(pair.gain_error(), std::abs(simulated / measured - 1), 1e-12);
    sum += 100 * pair.gain_error();
  }
  EXPECT_NEAR(gain.mean_error_percent(), sum / static_cast<double>(gain.pairs.size()), 1e-9);
}

TEST_F(MeasuredNeighbours, OfBoardsThatNobodyMeasuredAreNone) {
  result.operations.push_back(layer({4096, 4096, 4096}));
  for (const char* const name : {"t4", "../evidence/a100-pcie-80gb", "no-such-board"}) {
    EXPECT_TRUE(evidence_of(name).empty()) << name;
  }
  for (const char* const name : {"a100-pcie-80gb", "b200", "h100-pcie", "rtx4090"}) {
    EXPECT_GT(evidence_of(name).size(), 400u) << name;
  }
  const config::Architecture other = config::load_architecture("t4");
  EXPECT_TRUE(measured_neighbours(result, other, {}).pairs.empty());
}

}  // namespace
}  // namespace sptc::check::times
