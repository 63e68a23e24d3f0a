// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/decision.h"

#include "models/base/error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace sptc::compare {
namespace {

constexpr double kGib = 1 << 30;

Candidate candidate(bool sparse, double us, double uj, double weights_gib = 10) {
  Candidate one;
  one.sparse = sparse;
  one.prunable_weights = one.sparse_weights = sparse ? 4 : 0;
  one.us = us;
  one.uj = uj;
  one.watts = 300;
  one.part_us = {0.7 * us, 0.2 * us, 0, 0, 0, 0.1 * us};
  one.memory.emplace();
  one.memory->weights = weights_gib * kGib;
  one.memory->capacity = 80 * kGib;
  return one;
}

ComparedPoint point(const std::string& type, const Candidate& dense, const Candidate& sparse) {
  ComparedPoint one;
  one.board = "h100-sxm5-80gb";
  one.dims = "batch=8";
  one.type = type;
  one.pass = {run::PassKind::Stage::kDecode, 8, 1, 1};
  one.error_percent = 14;
  one.evidence = type + " measured on this board; mean error of gains: 14 %.";
  one.candidates = {dense, sparse};
  one.total.dense.us = dense.us;
  one.total.sparse.us = sparse.us;
  return one;
}

/// e4m3 2:4 is the fastest, e4m3 dense the next, w4a16 dense the cheapest.
BoardComparison comparison() {
  BoardComparison all;
  all.workload = "Llama";
  all.scope = "one inference under engine 'compiled'";
  all.made_by = "closed form";
  all.types = {"bf16", "e4m3", "w4a16"};
  all.points = {point("bf16", candidate(false, 8000, 4e6), candidate(true, 7000, 3.5e6)),
                point("e4m3", candidate(false, 4400, 2e6), candidate(true, 4000, 2.1e6)),
                point("w4a16", candidate(false, 5000, 1e6), candidate(true, 5500, 1.5e6))};
  return all;
}

Choice choice(const BoardComparison& all, std::size_t point, std::size_t candidate) {
  return {&all.points[point], &all.points[point].candidates[candidate]};
}

TEST(Decision, TakesTheFastestThatFitsAndNamesTheCheapest) {
  const BoardComparison all = comparison();
  const std::vector<Decision> decisions = decisions_of(all);
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].best, choice(all, 1, 1));
  EXPECT_EQ(decisions[0].second, choice(all, 1, 0));
  EXPECT_EQ(decisions[0].cheapest, choice(all, 2, 0));
  EXPECT_NEAR(decisions[0].gain, 1.1, 1e-12);
  EXPECT_NEAR(choice(all, 1, 1).per_second(), 8e6 / 4000, 1e-9);
  EXPECT_NEAR(choice(all, 1, 1).joules_per_unit(), 2.1 / 8, 1e-12);
}

TEST(Decision, LeavesOutWhatDoesNotFitOrIsDenseByAnotherName) {
  BoardComparison all = comparison();
  all.points[1].candidates[1] = candidate(true, 4000, 2.1e6, 81);
  EXPECT_EQ(decisions_of(all)[0].best, choice(all, 1, 0));
  all.points[1].candidates[1] = candidate(true, 4000, 2.1e6);
  all.points[1].candidates[1].sparse_weights = 0;
  EXPECT_EQ(decisions_of(all)[0].best, choice(all, 1, 0));
  EXPECT_EQ(all.points[1].candidates[1].weights(), "2:4 0/4");
  for (ComparedPoint& one : all.points) {
    for (Candidate& each : one.candidates) {
      each.memory->weights = 90 * kGib;
    }
  }
  EXPECT_FALSE(decisions_of(all)[0].best);
  EXPECT_EQ(decision_verdict(all).find("Nothing that was asked for fits"), 0U);
}

TEST(Decision, SaysThatSparseWeightsStandInForDenseOnesThatDoNotFit) {
  BoardComparison all = comparison();
  EXPECT_NE(decision_verdict(all).find("Fastest of all: "), std::string::npos);
  EXPECT_NE(decision_verdict(all).find(" 2:4 is the fastest in 1 of 1 cases; "), std::string::npos);
  all.types = {"bf16"};
  all.points = {point("bf16", candidate(false, 4000, 2e6, 87), candidate(true, 8000, 3e6, 49))};
  const std::string verdict = decision_verdict(all);
  EXPECT_NE(verdict.find("Fastest of all that fit: bf16 2:4"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find(" 2:4 is the choice in 1 of 1 cases, as dense weights do not fit; it is at best 0.50x"),
            std::string::npos)
      << verdict;
  all.points.push_back(point("bf16", candidate(false, 4000, 2e6), candidate(true, 3000, 1e6)));
  all.points[1].dims = "batch=1";
  EXPECT_NE(decision_verdict(all).find("in 2 of 2 cases, in 1 of them as dense weights do not fit; "),
            std::string::npos);
}

TEST(Decision, MakesNoClaimOnMemoryThatIsNotKnown) {
  BoardComparison all = comparison();
  for (ComparedPoint& one : all.points) {
    one.does_not_fit = "may or may not fit: a reason";
    for (Candidate& each : one.candidates) {
      each.memory.reset();
    }
  }
  const std::string text = comparison_text(all);
  EXPECT_NE(text.find("n/a: it may or may not fit: a reason"), std::string::npos) << text;
  EXPECT_EQ(text.find("GiB a GPU"), std::string::npos) << text;
}

TEST(Decision, CountsOfAMixFitTheirColumn) {
  Candidate mix = candidate(true, 1, 1);
  mix.sparse_weights = 160;
  mix.prunable_weights = 320;
  EXPECT_EQ(mix.weights(), "2:4 160/320");
  mix.sparse_weights = 3000;
  mix.prunable_weights = 4000;
  EXPECT_EQ(mix.weights(), "2:4 in 75 %");
}

TEST(Decision, ListsAreWaysOrAnOption) {
  run::SimulationOptions options;
  const TriedWays ways = parse_ways({{"bf16"}, {"2:4"}, {"1", "2"}, {}}, options);
  EXPECT_EQ(ways.gpus, (std::vector<GpuSplit>{{1, 1}, {2, 1}}));
  EXPECT_FALSE(ways.dense);
  EXPECT_TRUE(ways.sparse);
  EXPECT_TRUE(parse_ways({{"bf16"}, {"auto"}, {}, {}}, options).dense);
  EXPECT_TRUE(options.sparsity_auto);
  EXPECT_THROW(parse_ways({{"bf16"}, {"dense", "auto"}, {}, {}}, options), base::InputError);
  EXPECT_THROW(parse_ways({{"bf16"}, {"dense", "dense"}, {}, {}}, options), base::InputError);
}

TEST(Decision, ExpertsAreSharedOutBesideLayersThatAreSplit) {
  run::SimulationOptions options;
  const auto gpus_of = [&](const std::vector<std::string>& tp, const std::vector<std::string>& ep) {
    return parse_ways({{"e4m3"}, {}, tp, ep}, options).gpus;
  };
  using Splits = std::vector<GpuSplit>;
  EXPECT_EQ(gpus_of({}, {}), (Splits{{1, 1}}));
  EXPECT_EQ(gpus_of({}, {"8", "16"}), (Splits{{1, 8}, {1, 16}}));
  EXPECT_EQ(gpus_of({"1", "8"}, {"1", "8"}), (Splits{{1, 1}, {8, 1}, {1, 8}}));
  EXPECT_THROW(gpus_of({}, {"8", "8"}), base::InputError);
  EXPECT_THROW(gpus_of({}, {"73"}), base::InputError);
  ComparedPoint one = comparison().points[0];
  const Choice dense{&one, one.candidates.data()};
  one.pass.gpus = 8;
  EXPECT_EQ(dense.words(), one.type + " dense over 8 GPUs");
  one.pass.shares_experts = true;
  EXPECT_EQ(dense.words(), one.type + " dense, experts over 8 GPUs");
}

TEST(Decision, SaysWhetherTheErrorOfGainsTellsTwoApart) {
  BoardComparison all = comparison();
  EXPECT_EQ(decisions_of(all)[0].is_told_apart(), false);
  EXPECT_NE(decision_verdict(all).find("cannot be told apart"), std::string::npos);
  all.points[1].candidates[1].us = 3000;
  EXPECT_EQ(decisions_of(all)[0].is_told_apart(), true);
  // The larger error of both counts, and one that is not known is none.
  all.points[1].candidates[0].us = 9000;
  all.points[2].error_percent = 70;
  EXPECT_EQ(decisions_of(all)[0].second, choice(all, 2, 0));
  EXPECT_EQ(decisions_of(all)[0].is_told_apart(), false);
  all.points[2].error_percent.reset();
  EXPECT_FALSE(decisions_of(all)[0].is_told_apart());
  EXPECT_NE(decision_verdict(all).find("is not known"), std::string::npos);
}

TEST(Decision, CountsJoulesOfAllGpusAndTokensOfAPrefill) {
  ComparedPoint one = comparison().points[0];
  const Choice dense{&one, one.candidates.data()};
  one.pass = {run::PassKind::Stage::kPrefill, 4, 1000, 2};
  EXPECT_NEAR(dense.per_second(), 4000e6 / 8000, 1e-6);
  EXPECT_NEAR(dense.joules_per_unit(), 2 * 4.0 / 4000, 1e-12);
  one.pass = {run::PassKind::Stage::kOther, 0, 1, 1};
  EXPECT_NEAR(dense.per_second(), 1e6 / 8000, 1e-9);
}

TEST(Decision, TellsEachReasonOnceWithin100Columns) {
  BoardComparison all = comparison();
  ComparedPoint refused = all.points[0];
  refused.type = "nvfp4";
  refused.failure =
      "'attn.qkv': compiled has no linear layers of nvfp4 on h100-sxm5-80gb: compute "
      "capability 10.0 and above";
  refused.evidence.clear();
  for (Candidate& one : refused.candidates) {
    one.impossible = refused.failure;
  }
  all.points.push_back(refused);
  all.points[0].candidates[0].memory->cache = 100 * kGib;
  const std::string text = comparison_text(all);
  EXPECT_EQ(text.find("no linear layers of nvfp4"), text.rfind("no linear layers of nvfp4"));
  EXPECT_NE(text.find("impossible (1)"), std::string::npos);
  EXPECT_NE(text.find("110.0!"), std::string::npos);
  EXPECT_NE(text.find("\n* e4m3     2:4 "), std::string::npos);
  EXPECT_NE(text.find("cheapest: w4a16 dense"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Decision, IsTheSameAsJsonCsvAndPage) {
  BoardComparison all = comparison();
  all.points[0].candidates[1].impossible = "a \"reason\", with a comma";
  all.points[0].candidates[1].us = 0;
  const nlohmann::json json = nlohmann::json::parse(comparison_json(all));
  EXPECT_EQ(json["types"], (nlohmann::json{"bf16", "e4m3", "w4a16"}));
  const nlohmann::json best = json["decisions"][0]["best"];
  EXPECT_EQ(best["type"], "e4m3");
  EXPECT_EQ(best["weights"], "2:4");
  const nlohmann::json candidates = json["points"][0]["candidates"];
  EXPECT_EQ(candidates[0]["per_second_per_user"], 125);
  EXPECT_EQ(candidates[0]["memory_bytes"]["capacity"], 80 * kGib);
  EXPECT_EQ(candidates[0]["parts_us"]["attention"], 1600);
  EXPECT_FALSE(candidates[1].contains("latency_us"));
  const std::string csv = comparison_csv(all);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 6);
  EXPECT_NE(csv.find("\"a \"\"reason\"\", with a comma\""), std::string::npos);
  const std::size_t columns =
      static_cast<std::size_t>(std::count(csv.begin(), csv.begin() + static_cast<std::ptrdiff_t>(csv.find('\r')), ','));
  EXPECT_EQ(columns, 30U);
  const std::string page = comparison_page(all, "sptcsim compare x");
  EXPECT_NE(page.find("sptcsim compare x"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("[[DATA]]"), std::string::npos);
}

}  // namespace
}  // namespace sptc::compare
