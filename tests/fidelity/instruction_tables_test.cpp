// SPDX-License-Identifier: Apache-2.0
// Instruction tables of Blackwell boards (data/instructions_*.csv) against simulated
// microbenchmarks, and beside them a guess without a model: of rates and intervals the peak of the
// data sheet, of latencies the mean of the table.
#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"
#include "sim/config/architecture.h"
#include "sim/run/microbench/microbench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace sptc::fidelity {
namespace {

constexpr double kGoalMean = 3, kGoalWorst = 10;  // percent

struct Row {
  run::microbench::MicrobenchCase which;
  /// "latency" [cycles], "interval" of instructions that do not wait [cycles], or "throughput"
  /// [multiply-accumulates per clock and SM].
  std::string figure;
  double value = 0;
};

std::vector<Row> read_table(const std::string& board) {
  std::ifstream file(std::string(SPTC_SOURCE_DIR) + "/tests/fidelity/data/instructions_" + board + ".csv");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#") || line.starts_with("instruction,")) {
      continue;
    }
    std::istringstream text(line);
    std::string instruction, warps, ilp, figure, value;
    std::getline(text, instruction, ',');
    std::getline(text, warps, ',');
    std::getline(text, ilp, ',');
    std::getline(text, figure, ',');
    std::getline(text, value, ',');
    rows.push_back({{run::microbench::parse_bench_instruction(instruction), std::stoi(warps), std::stoi(ilp)},
                    figure,
                    std::stod(value)});
  }
  return rows;
}

double mean_latency(const std::vector<Row>& rows) {
  double sum = 0, count = 0;
  for (const Row& row : rows) {
    const bool is_latency = row.figure == "latency";
    sum += is_latency ? row.value : 0;
    count += is_latency ? 1 : 0;
  }
  return count > 0 ? sum / count : 0;
}

/// What the peak of the data sheet, or `latency`, says about `row`.
double guess_of(const gpu::GpuSpec& gpu, const Row& row, double latency) {
  const mma::MmaInstruction& instruction =
      std::get<run::microbench::MatrixInstruction>(row.which.instruction).instruction;
  const double peak =  // skipped zeros counted
      gpu.sm.macs_per_cycle(numerics::storage_bits(instruction.a_type), instruction.accumulator,
                            instruction.scales.has_value()) *
      (instruction.sparse ? 2 : 1);
  const mma::MmaShape& shape = instruction.shape;
  return row.figure == "latency" ? latency : row.figure == "interval" ? shape.m * shape.n * shape.k / peak : peak;
}

/// Absolute errors, percent.
struct Errors {
  double sum = 0, worst = 0;
  int count = 0;

  void add(double percent) {
    sum += std::abs(percent);
    worst = std::max(worst, std::abs(percent));
    ++count;
  }
  double mean() const { return sum / count; }
};

void expect_within_goal(const std::string& board, int figures) {
  const gpu::GpuSpec gpu = config::load_architecture(board).gpu;
  const std::vector<Row> rows = read_table(board);
  run::microbench::Microbench microbench(gpu);
  const double guessed_latency = mean_latency(rows);
  Errors errors, guess;
  for (const Row& row : rows) {
    const run::microbench::MicrobenchResult result = microbench.run(row.which);
    const double simulated = row.figure == "throughput" ? result.fma_per_clk_per_sm.value_or(0) : result.latency_cycles;
    const double percent = 100 * (simulated / row.value - 1);
    errors.add(percent);
    guess.add(100 * (guess_of(gpu, row, guessed_latency) / row.value - 1));
    if (std::abs(percent) > kGoalMean) {
      std::printf("%-72s %2d warps, ILP %d %9.1f published %9.1f simulated %+6.1f %%\n", result.instruction.c_str(),
                  result.warps, result.ilp, row.value, simulated, percent);
    }
  }
  ASSERT_EQ(errors.count, figures);
  std::printf("%s: %d figures, mean %.2f %%, worst %.1f %%; guess mean %.1f %%, worst %.1f %%\n", board.c_str(),
              errors.count, errors.mean(), errors.worst, guess.mean(), guess.worst);
  EXPECT_LE(errors.mean(), kGoalMean);
  EXPECT_LE(errors.worst, kGoalWorst);
  EXPECT_LT(errors.mean(), guess.mean());
}

TEST(InstructionTables, Rtx5090) {
  expect_within_goal("rtx5090", 104);
}

TEST(InstructionTables, Rtx5070Ti) {
  expect_within_goal("rtx5070ti", 38);
}

TEST(InstructionTables, B200) {
  expect_within_goal("b200", 96);
}

TEST(InstructionTables, B300) {
  expect_within_goal("b300", 14);
}

}  // namespace
}  // namespace sptc::fidelity
