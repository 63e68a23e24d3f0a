// SPDX-License-Identifier: Apache-2.0
// Attention beside the published speeds of FlashAttention (data/README.md), in closed form, as `run
// --engine compiled` has it: at the clock that the power limit allows. No number was fitted to
// these rows, but all were in sight when the terms of the form were chosen: none is held out.
#include "sim/config/architecture.h"
#include "sim/run/simulate.h"
#include "sim/workload/workload.h"
#include "tests/support/ratchet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sptc::fidelity {
namespace {

constexpr std::int64_t kTokens = 16384, kFeatures = 2048;

struct Row {
  std::string gpu, kernel, type;
  std::int64_t depth = 0, seq = 0;
  bool causal = false;
  double published = 0, simulated = 0, at_peak = 0;  ///< TFLOP/s

  double error() const { return simulated / published - 1; }
  std::string group() const { return gpu + " " + type; }
};

std::vector<Row> read_rows() {
  std::ifstream file(SPTC_SOURCE_DIR "/tests/fidelity/data/attention_published.csv");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#") || line.starts_with("gpu,")) {
      continue;
    }
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) {
      cells.push_back(cell);
    }
    Row row;
    row.gpu = cells.at(0);
    row.kernel = cells.at(1);
    row.type = cells.at(2);
    row.depth = std::stoll(cells.at(3));
    row.causal = cells.at(4) == "1";
    row.seq = std::stoll(cells.at(5));
    row.published = std::stod(cells.at(6));
    rows.push_back(row);
  }
  return rows;
}

/// Both products of a row and the softmax between them.
workload::Workload workload_of(const Row& row, numerics::DataType type) {
  const std::int64_t batch = kTokens / row.seq;
  workload::Workload workload;
  workload.name = "attention";
  workload.inputs = batch;
  workload::Operation op;
  op.weight = false;
  op.dtype = type;
  op.batch = batch * kFeatures / row.depth;
  op.name = "scores";
  op.shape = {row.seq, row.seq, row.depth};
  workload.operations.push_back(op);
  op.name = "context";
  op.shape = {row.depth, row.seq, row.seq};
  workload.operations.push_back(op);
  workload::VectorOperation softmax;
  softmax.name = "softmax";
  softmax.kind = workload::VectorKind::kSoftmax;
  softmax.rows = softmax.input_rows = op.batch * row.seq;
  softmax.columns = row.seq;
  softmax.causal = row.causal;
  softmax.after = 1;
  workload.vectors.push_back(softmax);
  return workload;
}

void simulate(const config::Architecture& board, Row& row) {
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  options.check = run::CheckMode::kNone;
  options.what_ifs = false;
  options.engine = "compiled";
  const auto type = row.type == "e4m3" ? numerics::DataType::kE4m3 : numerics::DataType::kF16;
  const run::RunResult result = run::simulate(workload_of(row, type), board, options);
  const double flop = 4.0 * static_cast<double>(row.seq) * static_cast<double>(kTokens) *
                      static_cast<double>(kFeatures) / (row.causal ? 2 : 1);
  row.simulated = flop / result.inference->dense->latency_us * 1e-6;
  const gpu::GpuSpec& gpu = board.gpu;
  const double macs = gpu.sm.macs_per_cycle(numerics::storage_bits(type), numerics::accumulator_type(type));
  row.at_peak = 2e-6 * macs * gpu.sms * gpu.boost_clock_mhz;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> simulated = [] {
    std::map<std::string, config::Architecture> boards;
    std::vector<Row> result = read_rows();
    for (Row& row : result) {
      auto board = boards.find(row.gpu);
      if (board == boards.end()) {
        board = boards.emplace(row.gpu, config::load_architecture(row.gpu)).first;
      }
      simulate(board->second, row);
      std::printf("%s %s head %3d %s seq %5d: %4.0f published, %4.0f simulated, %+.1f %%\n", row.kernel.c_str(),
                  row.type.c_str(), static_cast<int>(row.depth), row.causal ? "causal" : "full  ",
                  static_cast<int>(row.seq), row.published, row.simulated, 100 * row.error());
    }
    return result;
  }();
  return simulated;
}

struct Errors {
  int rows = 0;
  double mean = 0, bias = 0, worst = 0, of_peak = 0;  ///< [%]; of the roofline at the peak
};

/// Of the rows of `group` with at least `seq` tokens.
Errors errors_of(const std::string& group, std::int64_t seq) {
  Errors errors;
  for (const Row& row : rows()) {
    if (row.group() == group && row.seq >= seq) {
      ++errors.rows;
      errors.mean += 100 * std::abs(row.error());
      errors.bias += 100 * row.error();
      errors.of_peak += 100 * std::abs(row.at_peak / row.published - 1);
      errors.worst = std::max(errors.worst, 100 * std::abs(row.error()));
    }
  }
  errors.mean /= errors.rows;
  errors.bias /= errors.rows;
  errors.of_peak /= errors.rows;
  std::printf("%s from %d: %d rows, mean %.1f %%, bias %+.1f %%, worst %.1f %%; at peak %.1f %%\n", group.c_str(),
              static_cast<int>(seq), errors.rows, errors.mean, errors.bias, errors.worst, errors.of_peak);
  return errors;
}

// Asked of it: published times within 15 %.
TEST(PublishedAttention, FlashAttention3IsWithinBoundsOnTheH100) {
  const Errors f16 = errors_of("h100-sxm5-80gb f16", 1);
  EXPECT_EQ(f16.rows, 36);
  EXPECT_LT(f16.mean, 15);
  EXPECT_LT(f16.mean, f16.of_peak / 2);
  support::expect_no_worse("H100 FlashAttention-3 f16 mean %", f16.mean);
  const Errors fp8 = errors_of("h100-sxm5-80gb e4m3", 1);
  EXPECT_EQ(fp8.rows, 24);
  EXPECT_LT(fp8.mean, fp8.of_peak / 2);
  support::expect_no_worse("H100 FlashAttention-3 e4m3 mean %", fp8.mean);
  support::expect_no_worse("H100 FlashAttention-3 e4m3 from 8192 mean %", errors_of("h100-sxm5-80gb e4m3", 8192).mean);
}

/// What a mask saves, which no clock has a part in.
TEST(PublishedAttention, CausalMasksGainWhatIsPublished) {
  double error = 0;
  int pairs = 0;
  for (const Row& masked : rows()) {
    const auto whole = std::find_if(rows().begin(), rows().end(), [&](const Row& row) {
      return !row.causal && row.group() == masked.group() && row.depth == masked.depth && row.seq == masked.seq;
    });
    if (masked.causal && masked.type == "f16" && whole != rows().end()) {
      error += std::abs(masked.simulated / whole->simulated / (masked.published / whole->published) - 1);
      ++pairs;
    }
  }
  std::printf("%d pairs, causal over full, mean error %.1f %%\n", pairs, 100 * error / pairs);
  EXPECT_EQ(pairs, 18);
  support::expect_no_worse("FlashAttention causal over full mean %", 100 * error / pairs);
}

}  // namespace
}  // namespace sptc::fidelity
