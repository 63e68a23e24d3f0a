// SPDX-License-Identifier: Apache-2.0
#include "sim/run/estimate.h"

#include "sim/config/architecture.h"
#include "sim/run/option_table.h"
#include "sim/run/simulate.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace sptc::run {
namespace {

TEST(AssumedCosts, AreTwiceAsHighAndNothingElseChanges) {
  const config::Architecture t4 = config::load_architecture("t4");
  const gpu::GpuSpec worse = with_twice_the_assumed_costs(t4);
  EXPECT_EQ(worse.launch.launch_us, 2 * t4.gpu.launch.launch_us);
  EXPECT_EQ(worse.sm.barrier_latency_cycles, 2 * t4.gpu.sm.barrier_latency_cycles);
  EXPECT_EQ(worse.memory.l2_bytes_per_cycle, t4.gpu.memory.l2_bytes_per_cycle / 2);
  EXPECT_EQ(worse.memory.dram_efficiency_percent, t4.gpu.memory.dram_efficiency_percent / 2);
  EXPECT_EQ(worse.memory.l2_partitions, t4.gpu.memory.l2_partitions);  // a count
  EXPECT_EQ(worse.memory.dram_gb_per_s, t4.gpu.memory.dram_gb_per_s);  // cited
  EXPECT_EQ(worse.boost_clock_mhz, t4.gpu.boost_clock_mhz);
}

TEST(AssumedCosts, AreAShareOfTheTime) {
  config::Architecture t4 = config::load_architecture("t4");
  workload::Workload workload;
  workload.operations.emplace_back();
  workload.operations.back().shape = {512, 512, 512};
  SimulationOptions options;
  options.variants = Variants::kDense;
  const RunResult result = estimate(workload, t4, options);
  const double all = assumed_share(workload, t4, options, result);
  EXPECT_GT(all, 0.05);
  EXPECT_LE(all, 1.001);
  for (config::Parameter& parameter : t4.parameters) {
    if (parameter.pointer != "/kernels/launch_us") {
      parameter.evidence = "cited";
    }
  }
  const double launch = assumed_share(workload, t4, options, result);
  EXPECT_NEAR(launch, t4.gpu.launch.launch_us / result.operations[0].dense->timing.time_us, 0.02);
  t4.parameters.clear();
  EXPECT_EQ(assumed_share(workload, t4, options, result), 0);
}

/// A trace in closed form.
RunResult result_of(const std::string& trace, const std::string& board, const workload::NamedDims& dims,
                    const std::map<std::string, std::string>& options) {
  SimulationOptions asked;
  asked.fidelity = Fidelity::kAnalytic;
  asked.check = CheckMode::kNone;
  asked.what_ifs = false;
  for (const auto& [name, value] : options) {
    set_option(asked, name, value);
  }
  return estimate(workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/" + trace, dims),
                  config::load_architecture(board), asked);
}

std::string said(const std::string& trace, const std::string& board, const workload::NamedDims& dims,
                 const std::map<std::string, std::string>& options = {}) {
  return result_of(trace, board, dims, options).does_not_fit;
}

TEST(Capacity, SeventyBillionWeightsOfSixteenBitsNeedTwoBoardsOfEightyGigabytes) {
  const workload::NamedDims decode{{"batch", 16}, {"seq", 1}, {"context", 2048}};
  const std::string text = said("llama3_70b.json", "a100-sxm4-80gb", decode);
  // 70.55e9 weights: 131 GiB; 2:4: 9/16 of the layers.
  EXPECT_EQ(text.find("does not fit the 80 GiB of a100-sxm4-80gb: dense weights take 131 GiB, keys "
                      "and values 10.0, 141 in all, at least 2 such boards (--tp 2); with 2:4 "
                      "weights it takes 86 GiB, at least 2 such boards (--tp 2); "),
            0U)
      << text;
  EXPECT_EQ(said("llama3_8b.json", "a100-sxm4-80gb", decode), "");
  const std::string one = said("llama3_70b.json", "a100-sxm4-80gb", {{"batch", 1}, {"seq", 1}, {"context", 2048}});
  EXPECT_NE(one.find("with 2:4 weights it takes 76 GiB and fits; "), std::string::npos) << one;
}

TEST(Capacity, HasADigitMoreWhereItRoundsToWhatIsThere) {
  const std::string text = said("llama3_8b.json", "a100-sxm4-80gb", {{"batch", 65}, {"seq", 1}, {"context", 8224}});
  // 8.03e9 weights of 16 bits: 14.96 GiB; 131072 bytes of keys and values a token: 65.25 GiB.
  EXPECT_NE(text.find("does not fit the 80.0 GiB of a100-sxm4-80gb: dense weights take 15.0 GiB, keys and values 65.3"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" 80.2 in all, at least 2 such boards (--tp 2)"), std::string::npos) << text;
}

TEST(Capacity, SaysWhereNoNumberOfGpusIsEnough) {
  // 405e9 weights of 16 bits: 756 GiB, 9.4 boards of 80.
  const std::string text = said("llama3_1_405b.json", "a100-sxm4-80gb", {{"batch", 1}, {"seq", 1}, {"context", 2048}});
  EXPECT_NE(text.find(" in all, more than --tp 8 gives; with 2:4 weights"), std::string::npos) << text;
}

TEST(Capacity, IsOfEachOfSeveralGpus) {
  const workload::NamedDims decode{{"batch", 16}, {"seq", 1}, {"context", 2048}};
  EXPECT_EQ(said("llama3_70b.json", "a100-sxm4-80gb", decode, {{"engine", "compiled"}, {"tp", "2"}, {"link", "300"}}),
            "");
  const std::string four =
      said("llama3_1_405b.json", "a100-sxm4-80gb", decode, {{"engine", "compiled"}, {"tp", "4"}, {"link", "300"}});
  EXPECT_NE(four.find("each of 4 a100-sxm4-80gb"), std::string::npos) << four;
}

TEST(Capacity, FollowsTheTypeAndTheCache) {
  const workload::NamedDims decode{{"batch", 1}, {"seq", 1}, {"context", 2048}};
  EXPECT_NE(said("llama3_70b.json", "h100-sxm5-80gb", decode), "");
  EXPECT_EQ(said("llama3_70b.json", "h100-sxm5-80gb", decode, {{"dtype", "e4m3"}}), "");
  const std::string cache = said("llama3_8b.json", "h100-sxm5-80gb", {{"batch", 512}, {"seq", 1}, {"context", 8192}});
  EXPECT_NE(cache.find("keys and values 512.0"), std::string::npos) << cache;
}

TEST(Capacity, IsNotKnownOfAListOfLaunchesOrOfABoardThatDoesNotSay) {
  EXPECT_EQ(said("deepbench_gemm_training.json", "rtx3070ti", {}), "");
  config::Architecture board = config::load_architecture("rtx3070ti");
  const workload::Workload model = workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/llama3_8b.json");
  SimulationOptions options;
  options.check = CheckMode::kNone;
  EXPECT_NE(estimate(model, board, options).does_not_fit, "");
  board.gpu.memory.dram_capacity = base::Bytes(0);
  EXPECT_EQ(estimate(model, board, options).does_not_fit, "");
}

/// Kernels of BERT-Base under PyTorch, whose 2:4 kernels leave their results transposed.
std::vector<InferenceKernel> kernels_at(double clock_mhz) {
  SimulationOptions options;
  options.fidelity = Fidelity::kAnalytic;
  options.check = CheckMode::kNone;
  options.engine = "pytorch";
  options.clock = {ClockChoice::Kind::kFixed, clock_mhz};
  const workload::Workload workload =
      workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/bert_base.json", {{"batch", 8}, {"seq", 128}});
  return simulate(workload, config::load_architecture("a100-sxm4-80gb"), options).inference->kernels;
}

/// By how much longer the kernels behind kernels[gemm] take where it has 2:4 weights.
double longer_behind_us(const std::vector<InferenceKernel>& kernels, std::size_t gemm) {
  double us = 0;
  for (std::size_t i = gemm + 1; i < kernels.size() && kernels[i].group != workload::WorkGroup::kGemm; ++i) {
    if (kernels[i].sparse) {
      us += kernels[i].sparse->time_us - (kernels[i].dense ? kernels[i].dense->time_us : 0);
    }
  }
  return us;
}

TEST(Inference, WeighsAKernelAndThoseBehindItAtOneClock) {
  for (const double clock_mhz : {1410.0, 210.0}) {
    const std::vector<InferenceKernel> kernels = kernels_at(clock_mhz);
    int transposed = 0;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::string& reason = kernels[i].reason;
      if (reason.find("transposed result") == std::string::npos) {
        continue;
      }
      ++transposed;
      const double gain = kernels[i].dense->time_us / (kernels[i].sparse->time_us + longer_behind_us(kernels, i));
      EXPECT_EQ(kernels[i].takes_sparse, gain > 1) << kernels[i].name;
      const double shown = std::stod(reason.substr(reason.find_first_of("0123456789", 3)));
      EXPECT_NEAR(shown, std::max(gain, 1 / gain), 0.00501) << kernels[i].name << ": " << reason;
    }
    EXPECT_GT(transposed, 0) << clock_mhz << " MHz";
  }
}

TEST(Inference, TheFastestMixIsNeverSlowerThanAllDenseOrAllSparse) {
  // At 72 W the clock falls by what dense weights take, though some are faster at the same clock.
  for (const char* const trace : {"resnet50.json", "resnext101_32x16d.json"}) {
    const InferenceResult pass = *result_of(trace, "l4", {{"batch", 256}}, {{"engine", "tensorrt"}}).inference;
    EXPECT_LE(pass.mix->latency_us, std::min(pass.dense->latency_us, pass.sparse->latency_us)) << trace;
    const auto is_refused = [](const InferenceKernel& kernel) {
      return kernel.takes_sparse && kernel.reason.ends_with(", but power would limit the clock");
    };
    EXPECT_TRUE(std::any_of(pass.kernels.begin(), pass.kernels.end(), is_refused)) << trace;
  }
}

TEST(Inference, OfAListOfGemmsSaysWhatIsNotModelledOverSeveralGpusToo) {
  const workload::NamedDims decode{{"batch", 64}, {"seq", 1}, {"context", 2048}};
  for (const char* const gpus : {"1", "4"}) {
    std::map<std::string, std::string> options{{"engine", "vllm"}, {"tp", gpus}};
    if (options["tp"] != "1") {
      options["link"] = "900";
    }
    const InferenceResult pass = *result_of("gpt3_175b.json", "b200", decode, options).inference;
    const auto is_it = [](const NotModelled& part) { return part.what == kBesideGemms; };
    EXPECT_TRUE(std::any_of(pass.not_modelled.begin(), pass.not_modelled.end(), is_it)) << gpus;
  }
}

workload::Workload layer() {
  workload::Workload result;
  workload::Operation& op = result.operations.emplace_back();
  op.name = "mlp.up";
  op.shape = {8192, 2048, 8192};
  op.dtype = numerics::DataType::kBf16;
  op.prunable = op.weight = true;
  return result;
}

SimulationOptions closed_form(const std::string& algorithm = "default") {
  SimulationOptions options;
  options.fidelity = Fidelity::kAnalytic;
  options.check = CheckMode::kNone;
  set_option(options, "algorithm", algorithm);
  return options;
}

std::optional<LibraryPath> path_of(const std::string& board, const SimulationOptions& options) {
  const config::Architecture architecture = config::load_architecture(board);
  return library_path(layer(), architecture, options, simulate(layer(), architecture, options));
}

TEST(LibraryPath, NamesWhatTheOtherAlgorithmGains) {
  const config::Architecture h100 = config::load_architecture("h100-sxm5-80gb");
  const double by_default = *simulate(layer(), h100, closed_form()).totals.speedup;
  const double searched = *simulate(layer(), h100, closed_form("sparse=best")).totals.speedup;
  EXPECT_LT(by_default, searched);
  const auto usual = path_of("h100-sxm5-80gb", closed_form());
  ASSERT_TRUE(usual && usual->default_known);
  EXPECT_EQ(usual->algorithm, kernels::Algorithm::kHeuristic);
  EXPECT_EQ(*usual->other_gain, searched);
  const auto best = path_of("h100-sxm5-80gb", closed_form("sparse=best"));
  EXPECT_EQ(best->algorithm, kernels::Algorithm::kBest);
  EXPECT_EQ(*best->other_gain, by_default);
}

TEST(LibraryPath, SaysWhereNoDefaultKernelIsKnown) {
  const auto path = path_of("a100-sxm4-80gb", closed_form());
  ASSERT_TRUE(path.has_value());
  EXPECT_FALSE(path->default_known);
  EXPECT_FALSE(path->other_gain.has_value());
}

TEST(LibraryPath, IsThatOfALibraryAlone) {
  SimulationOptions searched = closed_form();
  set_option(searched, "kernels", std::string("search"));
  EXPECT_FALSE(path_of("h100-sxm5-80gb", searched).has_value());
}

TEST(AlgorithmOption, IsOfEachLibrary) {
  SimulationOptions options = closed_form("dense=best");
  EXPECT_EQ(options.conditions.algorithm, kernels::Algorithm::kBest);
  EXPECT_EQ(options.sparse_algorithm, kernels::Algorithm::kHeuristic);
  options = closed_form("sparse=best,dense=default");
  EXPECT_EQ(options.conditions.algorithm, kernels::Algorithm::kHeuristic);
  EXPECT_EQ(options.sparse_algorithm, kernels::Algorithm::kBest);
  options = closed_form("best");
  EXPECT_FALSE(options.sparse_algorithm.has_value());
  EXPECT_EQ(closed_form("heuristic").conditions.algorithm, kernels::Algorithm::kHeuristic);
  for (const char* const word : {"", "fast", "best,", "cusparselt=best", "sparse=", "sparse=best;"}) {
    support::expect_input_error([&] { closed_form(word); }, {"--algorithm"});
  }
}

}  // namespace
}  // namespace sptc::run
