// SPDX-License-Identifier: Apache-2.0
// Steps of training that were measured by others (data/README.md), in closed form.
#include "sim/workload/training.h"

#include "sim/config/architecture.h"
#include "sim/run/simulate.h"
#include "sim/workload/workload.h"
#include "tests/support/ratchet.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace sptc::fidelity {
namespace {

using workload::Training;

/// Columns of the file, in the order of Training.
constexpr std::array kWays{Training::kDense, Training::kW24, Training::kAct24};

struct Row {
  std::int64_t tokens = 0, in = 0, hidden = 0, out = 0;
  std::array<double, kWays.size()> measured_us{};

  /// Of the dense products: each weight forward and in both gradients.
  double flops() const {
    return 6.0 * static_cast<double>(tokens) * static_cast<double>(hidden) * static_cast<double>(in + out);
  }
  /// Whether each weight, packed with its metadata, fits the 40 MB of an A100's L2.
  bool weights_fit_l2() const { return 1.125 * static_cast<double>(hidden) * static_cast<double>(in) < 40e6; }
};

std::vector<Row> read_rows() {
  std::ifstream file(std::string(SPTC_SOURCE_DIR) + "/tests/fidelity/data/training_mlp.csv");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("A100,")) {
      continue;
    }
    std::istringstream cells(line.substr(line.find(',') + 1));
    Row row;
    char comma = 0;
    cells >> row.tokens >> comma >> row.in >> comma >> row.hidden >> comma >> row.out;
    for (double& us : row.measured_us) {
      cells >> comma >> us;
    }
    rows.push_back(row);
  }
  return rows;
}

workload::Operation weight(const char* name, std::int64_t m, std::int64_t n, std::int64_t k) {
  workload::Operation op;
  op.name = name;
  op.shape = {m, n, k};
  op.prunable = true;
  return op;
}

double simulated_us(const Row& row, Training way, const config::Architecture& gpu) {
  workload::Workload mlp;
  mlp.name = "mlp";
  mlp.operations = {weight("fc1", row.hidden, row.tokens, row.in), weight("fc2", row.out, row.tokens, row.hidden)};
  workload::VectorOperation gelu;
  gelu.name = "gelu";
  gelu.kind = workload::VectorKind::kGelu;
  gelu.rows = gelu.input_rows = row.tokens;
  gelu.columns = row.hidden;
  gelu.after = 1;
  mlp.vectors = {gelu};
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  options.check = run::CheckMode::kNone;
  options.what_ifs = false;
  options.engine = "xformers";
  options.training = way;
  if (way == Training::kW24) {
    options.library = "pytorch-sm80";  // cuSPARSELt without a search: as cusparselt-default
  }
  const run::InferenceResult result = *run::simulate(mlp, gpu, options).inference;
  return (way == Training::kDense ? result.dense : result.sparse)->latency_us;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

/// The goal is 15 % of each time. Steps with 2:4 activations miss it: their error may not grow.
/// With 2:4 weights that the L2 does not hold measured kernels take twice what is simulated
/// (configs/ACCURACY.md): those rows are printed, not held.
TEST(Training, StepsOfAnMlpAreAsNearAsTheyWere) {
  const config::Architecture a100 = config::load_architecture("a100-sxm4-80gb");
  const std::vector<Row> rows = read_rows();
  ASSERT_EQ(rows.size(), 6U);
  constexpr std::array kNames{"dense", "w24", "act24"};
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    std::vector<double> held, others, rates;
    for (const Row& row : rows) {
      rates.push_back(std::log(row.flops() / row.measured_us.at(way)));
    }
    std::vector<double> baseline;  // one rate for all dense products, the best for this column
    for (const Row& row : rows) {
      const double measured = row.measured_us.at(way);
      const double error = simulated_us(row, kWays.at(way), a100) / measured - 1;
      std::printf("%s %lld x %lld x %lld: %+.1f %%\n", kNames.at(way), static_cast<long long>(row.tokens),
                  static_cast<long long>(row.in), static_cast<long long>(row.hidden), 100 * error);
      const bool known_gap = kWays.at(way) == Training::kW24 && !row.weights_fit_l2();
      (known_gap ? others : held).push_back(std::abs(error));
      baseline.push_back(std::abs(row.flops() / std::exp(mean(rates)) / measured - 1));
    }
    std::printf("%s: mean error %.1f %%, at one rate %.1f %%\n", kNames.at(way), 100 * mean(held),
                100 * mean(baseline));
    support::expect_no_worse(std::string("A100 MLP step ") + kNames.at(way) + " mean %", 100 * mean(held));
    if (!others.empty()) {
      std::printf("%s, weights beyond the L2: mean error %.1f %%\n", kNames.at(way), 100 * mean(others));
    }
  }
}

}  // namespace
}  // namespace sptc::fidelity
