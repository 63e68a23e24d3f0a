// SPDX-License-Identifier: Apache-2.0
// Whole inferences that were measured by others (data/README.md), in closed form.
// scripts/network_accuracy.py compares the same rows with the SystemC model.
#include "models/numerics/data_type.h"
#include "sim/config/architecture.h"
#include "sim/run/asked_work.h"
#include "sim/run/option_table.h"
#include "sim/run/peaks.h"
#include "sim/run/simulate.h"
#include "sim/workload/importer/recording_reader.h"
#include "sim/workload/workload.h"
#include "tests/support/ratchet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::fidelity {
namespace {

const std::string kSource = SPTC_SOURCE_DIR;

using Cells = std::vector<std::string>;

/// The rows of a file of data/ behind its comments and its header.
std::vector<Cells> cells_of(const std::string& name) {
  std::ifstream file(kSource + "/tests/fidelity/data/" + name);
  std::vector<Cells> rows;
  bool header = true;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) {
      continue;
    }
    Cells cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) {
      cells.push_back(cell);
    }
    if (!header) {
      rows.push_back(std::move(cells));
    }
    header = false;
  }
  return rows;
}

struct Row {
  std::string release, gpu, model, precision, sparsity;
  std::int64_t seq = 0, batch = 0;
  double measured_ms = 0, simulated_ms = 0;

  double error() const { return simulated_ms / measured_ms - 1; }
};

std::vector<Row> read_rows() {
  std::vector<Row> rows;
  for (const Cells& cells : cells_of("network_tensorrt_bert.csv")) {
    rows.push_back({cells.at(0), cells.at(2), cells.at(3), cells.at(6), cells.at(7), std::stoll(cells.at(4)),
                    std::stoll(cells.at(5)), std::stod(cells.at(8)), 0});
  }
  return rows;
}

double simulated_ms(const Row& row, const config::Architecture& gpu) {
  const bool megatron = row.model.starts_with("megatron");
  const workload::Workload workload =
      workload::read_workload(kSource + "/traces/bert_large.json",
                              {{"batch", row.batch}, {"seq", row.seq}, {"norm_outputs", megatron ? 2 : 1}});
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  options.check = run::CheckMode::kNone;
  options.what_ifs = false;
  options.engine = "tensorrt";
  options.dtype = row.precision == "int8" ? numerics::DataType::kS8 : numerics::DataType::kF16;
  options.parts.all = true;  // TensorRT and FasterTransformer have attention in INT8, too
  const run::InferenceResult result = *run::simulate(workload, gpu, options).inference;
  return (row.sparsity == "dense" ? result.dense : result.mix)->latency_us * 1e-3;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> simulated = [] {
    std::map<std::string, config::Architecture> gpus;
    std::vector<Row> result = read_rows();
    for (Row& row : result) {
      auto gpu = gpus.find(row.gpu);
      if (gpu == gpus.end()) {
        gpu = gpus.emplace(row.gpu, config::load_architecture(row.gpu)).first;
      }
      row.simulated_ms = simulated_ms(row, gpu->second);
    }
    return result;
  }();
  return simulated;
}

double mean_error(const std::string& gpu) {
  double sum = 0;
  int count = 0;
  for (const Row& row : rows()) {
    if (gpu.empty() || row.gpu == gpu) {
      sum += std::abs(row.error());
      ++count;
    }
  }
  std::printf("%s: %d rows, mean error %.1f %%\n", gpu.empty() ? "all" : gpu.c_str(), count, 100 * sum / count);
  return sum / count;
}

TEST(NetworkLatency, TensorRtBertIsWithinBoundsOnEachGpu) {
  ASSERT_EQ(rows().size(), 36U);
  support::expect_no_worse("A100 40GB TensorRT BERT-Large mean %", 100 * mean_error("A100 40GB"));
  support::expect_no_worse("L40S TensorRT BERT-Large mean %", 100 * mean_error("L40S"));
  support::expect_no_worse("TensorRT BERT-Large mean %", 100 * mean_error(""));
}

TEST(NetworkLatency, GainsOfSparsityStayWithinTheirStatedError) {
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::pair<double, double>> dense;
  for (const Row& row : rows()) {
    if (row.sparsity == "dense" && row.precision == "int8") {
      dense[{row.release, row.gpu, row.batch}] = {row.measured_ms, row.simulated_ms};
    }
  }
  double error = 0;
  int pairs = 0;
  for (const Row& row : rows()) {
    if (row.sparsity != "dense") {
      const auto [measured, simulated] = dense.at({row.release, row.gpu, row.batch});
      error += std::abs(simulated / row.simulated_ms / (measured / row.measured_ms) - 1);
      ++pairs;
    }
  }
  std::printf("%d gains, mean error %.3f\n", pairs, error / pairs);
  EXPECT_EQ(pairs, 12);
  support::expect_no_worse("TensorRT BERT-Large gain mean %", 100 * error / pairs);
}

/// The board of "A100 40GB", which its rows do not say: the one whose power they need.
TEST(NetworkLatency, TheA100IsTheOneOf400Watts) {
  const config::Architecture pcie = config::load_architecture("a100-pcie-40gb");
  double error = 0;
  double error_pcie = 0;
  int count = 0;
  for (const Row& row : rows()) {
    if (row.gpu == "A100 40GB" && row.precision == "fp16" && row.batch >= 16) {
      error += std::abs(row.error());
      error_pcie += std::abs(simulated_ms(row, pcie) / row.measured_ms - 1);
      ++count;
    }
  }
  std::printf("fp16, batch 16 and 64: %.1f %% at 400 W, %.1f %% at 250 W\n", 100 * error / count,
              100 * error_pcie / count);
  EXPECT_LT(2 * error, error_pcie);
}

/// BERT-Base under other engines; no document says which A100 it was.
TEST(NetworkLatency, OtherEnginesAreWithinBounds) {
  const config::Architecture a100 = config::load_architecture("a100-sxm4-40gb");
  std::map<std::string, std::vector<double>> errors;
  for (const Cells& row : cells_of("network_published_bert.csv")) {
    const std::string& engine = row.at(0);
    run::SimulationOptions options;
    options.fidelity = run::Fidelity::kAnalytic;
    options.check = run::CheckMode::kNone;
    options.what_ifs = false;
    options.engine = engine;
    options.dtype = row.at(5) == "int8" ? numerics::DataType::kS8 : numerics::DataType::kF16;
    options.parts.all = true;
    const workload::Workload bert = workload::read_workload(
        kSource + "/traces/bert_base.json", {{"batch", std::stoll(row.at(4))}, {"seq", std::stoll(row.at(3))}});
    const run::InferenceResult result = *run::simulate(bert, a100, options).inference;
    // FasterTransformer times its kernels in FP16 and takes all of them 2:4 in INT8.
    const auto& sparse = engine == "fastertransformer" ? result.mix : result.sparse;
    const double us = (row.at(6) == "dense" ? result.dense : sparse)->latency_us;
    errors[engine].push_back(std::abs(us * 1e-3 / std::stod(row.at(7)) - 1));
  }
  std::size_t rows = 0;
  for (const auto& [engine, all] : errors) {
    const double mean = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
    std::printf("%s: %zu rows, mean error %.1f %%\n", engine.c_str(), all.size(), 100 * mean);
    support::expect_no_worse(engine + " BERT-Base mean %", 100 * mean);
    rows += all.size();
  }
  EXPECT_EQ(errors.size(), 6U);
  EXPECT_EQ(rows, 52U);
}

/// Passes of language models that others publish; each cell of llm_published.csv as its header
/// says.
class LanguageModelRow {
 public:
  explicit LanguageModelRow(const Cells& cells)
      : model_(cells.at(2)),
        seq_(std::stoll(cells.at(3))),
        batch_(std::stoll(cells.at(5))),
        context_(number(cells.at(4), seq_)),
        measured_ms_(std::stod(cells.at(10))),
        prefills_(cells.size() > 11 ? number(cells.at(11), 1) : 1),
        steps_(cells.size() > 12 ? number(cells.at(12), 0) : 0),
        board_(config::load_architecture(cells.at(1))) {
    options_.fidelity = run::Fidelity::kAnalytic;
    options_.check = run::CheckMode::kNone;
    options_.variants = run::Variants::kDense;
    options_.what_ifs = false;
    options_.engine = cells.at(0);
    options_.tensor_parallel = static_cast<int>(number(cells.at(8), 1));
    options_.link_gb_per_s = static_cast<double>(number(cells.at(9), 0));
    run::set_option(options_, "dtype", cells.at(6));
    name_ = cells.at(0) + " " + cells.at(1) + " " + cells.at(6);
  }

  /// "llama-3-8b prefill".
  std::string group() const { return model_ + (seq_ > 1 ? " prefill" : " decode"); }

  /// Errors of the simulation and of the roofline.
  std::pair<double, double> errors() const {
    double simulated = 0, roofline = 0;
    const auto add = [&](std::int64_t passes, const workload::NamedDims& dims) {
      if (passes > 0) {
        const workload::Workload pass = workload_with(dims);
        const auto count = static_cast<double>(passes);
        const run::InferenceResult result = *run::simulate(pass, board_, options_).inference;
        simulated += count * result.dense->latency_us * 1e-3;
        roofline += count * roofline_ms(pass);
      }
    };
    add(prefills_, {{"batch", batch_}, {"seq", seq_}, {"context", context_}});
    add(steps_, {{"batch", batch_ * prefills_}, {"seq", 1}, {"context", seq_ + steps_ / 2}});
    std::printf("%s, %lld x %lld tokens: published %.2f ms, simulated %.2f, roofline %.2f\n", name_.c_str(),
                static_cast<long long>(batch_), static_cast<long long>(seq_), measured_ms_, simulated, roofline);
    return {std::abs(simulated / measured_ms_ - 1), std::abs(roofline / measured_ms_ - 1)};
  }

 private:
  static std::int64_t number(const std::string& cell, std::int64_t none) {
    return cell.empty() ? none : std::stoll(cell);
  }

  workload::Workload workload_with(const workload::NamedDims& dims) const {
    const std::string file =
        model_ == "llama-3-8b" ? "/traces/llama3_8b.json" : "/tests/fidelity/data/deepseek_r1_config.json";
    return workload::importer::read_recording(kSource + file, {dims}).workload;
  }

  /// Each GEMM of the part of one GPU at the peaks of the data sheet: of its products or, where
  /// that takes longer, of DRAM, which it reads its operands from and writes its result to.
  double roofline_ms(const workload::Workload& pass) const {
    run::SimulationOptions gemms = options_;
    gemms.engine.clear();
    double us = 0;
    for (const workload::Operation& op : run::asked_work(pass, gemms).operations) {
      const double tflops = run::peak_tflops(board_.gpu, {op.dtype, op.storage.operand_block()});
      const double bits = numerics::storage_bits(op.dtype);
      const auto m = static_cast<double>(op.shape.m), n = static_cast<double>(op.shape.n),
                 k = static_cast<double>(op.shape.k);
      const double bytes =
          (m * k * op.storage.a_bits(numerics::storage_bits(op.dtype)) + k * n * bits + 16 * m * n) / 8;
      us += static_cast<double>(op.count * op.batch) *
            std::max(2 * m * n * k / (tflops * 1e6), bytes / (board_.gpu.memory.dram_gb_per_s * 1e3));
    }
    return us * 1e-3;
  }

  std::string name_, model_;
  std::int64_t seq_, batch_, context_;
  double measured_ms_;
  std::int64_t prefills_, steps_;
  config::Architecture board_;
  run::SimulationOptions options_;
};

TEST(NetworkLatency, PublishedPassesOfLanguageModelsAreWithinBounds) {
  struct Errors {
    std::vector<double> simulated, roofline;
  };
  std::map<std::string, Errors> groups;
  std::size_t rows = 0;
  for (const Cells& cells : cells_of("llm_published.csv")) {
    const LanguageModelRow row(cells);
    const auto [simulated, roofline] = row.errors();
    groups[row.group()].simulated.push_back(100 * simulated);
    groups[row.group()].roofline.push_back(100 * roofline);
    ++rows;
  }
  for (const auto& [name, errors] : groups) {
    const auto mean = [](const std::vector<double>& all) {
      return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
    };
    const double worst = std::ranges::max(errors.simulated);
    std::printf("%s: %zu rows, mean error %.1f %%, worst %.1f; roofline mean %.1f, worst %.1f\n", name.c_str(),
                errors.simulated.size(), mean(errors.simulated), worst, mean(errors.roofline),
                std::ranges::max(errors.roofline));
    support::expect_no_worse(name + " mean %", mean(errors.simulated));
    support::expect_no_worse(name + " worst %", worst);
  }
  EXPECT_EQ(rows, 15U);
  EXPECT_EQ(groups.size(), 4U);
}

}  // namespace
}  // namespace sptc::fidelity
