// SPDX-License-Identifier: Apache-2.0
// The report of an inference, word for word.
#include "sim/report/inference_report.h"

#include "sim/io/text_file.h"
#include "sim/report/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

namespace sptc::golden {
namespace {

const std::string kDirectory = std::string(SPTC_SOURCE_DIR) + "/tests/golden/network/";

run::InferenceTotals totals(double us, double mhz, double gemm_us, double energy_uj) {
  run::InferenceTotals result;
  result.latency_us = us;
  result.clock_mhz = mhz;
  result.energy_uj = energy_uj;
  result.power_w = energy_uj / us;
  result.group_us[static_cast<std::size_t>(workload::WorkGroup::kGemm)] = gemm_us;
  result.group_us[static_cast<std::size_t>(workload::WorkGroup::kAttention)] = us - gemm_us;
  return result;
}

/// An inference with a weight that gains, one that loses, one that has no 2:4 kernel, and
/// attention.
run::RunResult result() {
  run::InferenceResult inference;
  inference.engine = "tensorrt";
  inference.batch = 16;
  run::InferenceKernel gains;
  gains.name = "ffn.intermediate";
  gains.fused = {"ffn.bias", "ffn.gelu"};
  gains.count = 24;
  gains.dense = run::KernelFigures{131.53, 40000.0};
  gains.sparse = run::KernelFigures{102.63, 25000.0};
  gains.takes_sparse = true;
  gains.reason = "2:4 is 1.28 times as fast";
  run::InferenceKernel loses = gains;
  loses.name = "pooler";
  loses.fused.clear();
  loses.count = 1;
  loses.dense = run::KernelFigures{4.5, 100.0};
  loses.sparse = run::KernelFigures{5.25, 90.0};
  loses.takes_sparse = false;
  loses.reason = "2:4 takes 1.17 times as long";
  run::InferenceKernel none = loses;
  none.name = "qa_outputs";
  none.sparse.reset();
  none.reason = "no kernel: the extents of the weight do not allow 2:4";
  run::InferenceKernel attention;
  attention.name = "attention";
  attention.fused = {"attn.scores", "attn.softmax", "attn.context"};
  attention.group = workload::WorkGroup::kAttention;
  attention.count = 24;
  attention.dense = run::KernelFigures{21.5, 3000.0};
  inference.kernels = {gains, attention, loses, none};
  inference.dense = totals(3700, 1410, 3184, 1.3e6);
  inference.sparse = totals(3005, 1410, 2489, 0.9e6);
  inference.mix = totals(3004.25, 1410, 2488.25, 0.9e6);
  inference.not_modelled = {{"copies of inputs and results from and to the host", 0.0042},
                            {"all operations beside GEMMs: the workload does not list them", {}}};
  run::RunResult run;
  run.operations.emplace_back();
  run.operations[0].pattern = "2:4";
  run.operations[0].sparse.emplace();
  run.inference = inference;
  return run;
}

void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("SPTC_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kDirectory + name) << text;
  }
  EXPECT_EQ(text, io::read_text_file(kDirectory + name, 1 << 20));
}

TEST(InferenceReport, IsWhatTheReportBeginsWith) {
  const std::string text = report::text_report(result());
  const std::string verdict = text.substr(0, text.find("\n\n"));
  for (const char* part : {"1.23x the speed of dense in one inference", "1.44x per watt."}) {
    EXPECT_NE(verdict.find(part), std::string::npos) << part << " in " << text;
  }
  EXPECT_NE(text.find(report::inference_text(result(), false)), std::string::npos) << text;
}

TEST(InferenceReport, TellsWhatEachWeightTakesWhereItIsAskedFor) {
  run::RunResult asked = result();
  asked.inference->tells_choices = true;
  const std::string text = report::inference_text(asked, false);
  for (const char* line : {"  ffn.intermediate             2:4    2:4 is 1.28 times as fast\n",
                           "  pooler                       dense  2:4 takes 1.17 times as long\n",
                           "  qa_outputs                   dense  no kernel: the extents"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << " in " << text;
  }
}

TEST(InferenceReport, SaysWhichOfDenseSparseAndMixDoNotFit) {
  run::RunResult large = result();
  large.dense_memory = {87 * run::kGib, 0, 0, 0, 0, 80 * run::kGib};
  large.sparse_memory = {44 * run::kGib, 5 * run::kGib, 0, 0, 0, 80 * run::kGib};
  large.mix_memory = large.dense_memory;
  const std::string text = report::inference_text(large, false);
  EXPECT_NE(text.find("  does not fit 80 GiB, dense: 87.0 = weights 87.0\n"
                      "  memory of 80 GiB, 2:4: 49.0 = weights 44.0 + metadata 5.0\n"
                      "  does not fit 80 GiB, fastest mix: 87.0 = weights 87.0\n"),
            std::string::npos)
      << text;
}

TEST(InferenceReport, Text) {
  expect_golden("inference.txt", report::inference_text(result(), true));
}

TEST(InferenceReport, Json) {
  nlohmann::ordered_json json{{"totals", {{"dense", {{"time_us", 3184}}}, {"sparse", {}}}}};
  report::add_inference(result(), json);
  expect_golden("inference.json", json.dump(1) + "\n");
}

}  // namespace
}  // namespace sptc::golden
