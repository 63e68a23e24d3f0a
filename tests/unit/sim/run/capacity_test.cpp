// SPDX-License-Identifier: Apache-2.0
#include "sim/run/capacity.h"

#include "sim/config/architecture.h"
#include "sim/run/estimate.h"
#include "sim/run/option_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sptc::run {
namespace {

std::string said(const std::string& trace, const std::string& board,
                 const workload::NamedDims& dims,
                 const std::map<std::string, std::string>& options = {}) {
  SimulationOptions asked;
  asked.fidelity = Fidelity::kAnalytic;
  asked.check = CheckMode::kNone;
  asked.what_ifs = false;
  for (const auto& [name, value] : options) {
    set_option(asked, name, value);
  }
  return estimate(workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/" + trace, dims),
                  config::load_architecture(board), asked)
      .does_not_fit;
}

TEST(Capacity, SeventyBillionWeightsOfSixteenBitsNeedTwoBoardsOfEightyGigabytes) {
  const workload::NamedDims decode{{"batch", 16}, {"seq", 1}, {"context", 2048}};
  const std::string text = said("llama3_70b.json", "a100-sxm4-80gb", decode);
  // 70.55e9 less the embeddings, 1.05e9: 129 GiB; 2:4: 9/16 of the layers.
  for (const char* const part :
       {"does not fit the 80 GiB of a100-sxm4-80gb", "dense weights take 129 GiB",
        "keys and values 10.0", "at least 2 such boards (--tp 2)", "2:4 weights take 74 GiB"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(said("llama3_8b.json", "a100-sxm4-80gb", decode), "");
  EXPECT_EQ(said("llama3_70b.json", "h200-sxm", decode), "");
}

TEST(Capacity, IsOfEachOfSeveralGpus) {
  const workload::NamedDims decode{{"batch", 16}, {"seq", 1}, {"context", 2048}};
  EXPECT_EQ(said("llama3_70b.json", "a100-sxm4-80gb", decode,
                 {{"engine", "compiled"}, {"tp", "2"}, {"link", "300"}}),
            "");
  const std::string four = said("llama3_1_405b.json", "a100-sxm4-80gb", decode,
                                {{"engine", "compiled"}, {"tp", "4"}, {"link", "300"}});
  EXPECT_NE(four.find("each of 4 a100-sxm4-80gb"), std::string::npos) << four;
}

TEST(Capacity, FollowsTheTypeAndTheCache) {
  const workload::NamedDims decode{{"batch", 1}, {"seq", 1}, {"context", 2048}};
  EXPECT_NE(said("llama3_70b.json", "h100-sxm5-80gb", decode), "");
  EXPECT_EQ(said("llama3_70b.json", "h100-sxm5-80gb", decode, {{"dtype", "e4m3"}}), "");
  const std::string cache =
      said("llama3_8b.json", "h100-sxm5-80gb", {{"batch", 512}, {"seq", 1}, {"context", 8192}});
  EXPECT_NE(cache.find("keys and values 512.0"), std::string::npos) << cache;
}

TEST(Capacity, IsNotKnownOfAListOfLaunchesOrOfABoardThatDoesNotSay) {
  EXPECT_EQ(said("deepbench_gemm_training.json", "rtx3070ti", {}), "");
  config::Architecture board = config::load_architecture("rtx3070ti");
  const workload::Workload model =
      workload::read_workload(std::string(SPTC_SOURCE_DIR) + "/traces/llama3_8b.json");
  SimulationOptions options;
  options.check = CheckMode::kNone;
  EXPECT_NE(estimate(model, board, options).does_not_fit, "");
  board.gpu.memory.dram_capacity = base::Bytes(0);
  EXPECT_EQ(estimate(model, board, options).does_not_fit, "");
}

}  // namespace
}  // namespace sptc::run
