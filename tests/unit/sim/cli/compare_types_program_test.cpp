// SPDX-License-Identifier: Apache-2.0
//
// sptcsim compare --types as a user meets it.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

namespace {

using nlohmann::json;

class CompareTypes : public sptc::cli::JsonProgram {
 protected:
  const std::string llama = std::string(SPTC_SOURCE_DIR) +
                            "/traces/llama3_8b.json --quiet --fidelity analytic --dim context=2048 "
                            "--dim seq=1 ";

  json compared(const std::string& arguments) const {
    return json_of("compare " + llama + arguments + " --format json");
  }
  static const json& point_of(const json& all, const std::string& board, const std::string& type) {
    const auto found = std::find_if(all["points"].begin(), all["points"].end(), [&](const json& point) {
      return point["board"] == board && point["type"] == type;
    });
    EXPECT_TRUE(found != all["points"].end()) << board << " " << type;
    return *found;
  }
};

TEST_F(CompareTypes, EachCandidateIsWhatRunSays) {
  const std::string engine = "--engine compiled ";
  const json all = compared("--arch A100,H100 --dim batch=8 --types bf16,e4m3,w4a16 " + engine);
  ASSERT_EQ(all["points"].size(), 6U);
  for (const std::string type : {"bf16", "e4m3", "w4a16"}) {
    const json point = point_of(all, "h100-sxm5-80gb", type);
    const json alone = json_of("run " + llama + engine + "--arch H100 --dim batch=8 --format json --dtype " + type);
    const json dense = alone["totals"]["dense"];
    ASSERT_EQ(point["candidates"].size(), 2U);
    EXPECT_EQ(point["candidates"][0]["latency_us"], dense["latency_us"]) << type;
    ASSERT_NE(alone["totals"].contains("mix"), point["candidates"][1].contains("impossible"));
    if (alone["totals"].contains("mix")) {
      const json mix = alone["totals"]["mix"];
      EXPECT_EQ(point["candidates"][1]["latency_us"], mix["latency_us"]) << type;
      EXPECT_EQ(point["candidates"][1]["power_w"], mix["inference"]["power_w"]) << type;
    }
    EXPECT_EQ(point["pass"]["stage"], "decode");
    // The result of a run has the same of a token.
    EXPECT_EQ(schema("result").fault(alone), "");
    const json figures = dense["inference"];
    for (const auto& [ours, theirs] : {std::pair("per_second", "tokens_per_second"),
                                       {"per_second_per_user", "tokens_per_second_per_user"},
                                       {"joules_per_unit", "joules_per_token"}}) {
      const double expected = point["candidates"][0][ours];
      EXPECT_NEAR(figures[theirs].get<double>(), expected, 1e-9 * expected) << theirs;
    }
    EXPECT_FALSE(figures.contains("time_to_first_token_us"));
    const double us = dense["latency_us"];
    EXPECT_NEAR(point["candidates"][0]["per_second"].get<double>(), 8e6 / us, 1e-6 * 8e6 / us);
    double parts = 0;
    for (const auto& [name, part] : point["candidates"][0]["parts_us"].items()) {
      parts += part.get<double>();
    }
    EXPECT_NEAR(parts, us, 1e-3 * us);
  }
  EXPECT_EQ(schema("comparison").fault(all), "");
}

TEST_F(CompareTypes, SaysWhatIsImpossibleAndWhy) {
  const json all = compared("--arch A100,V100,H100 --dim batch=1 --types bf16,e4m3,nvfp4");
  const json fp8 = point_of(all, "a100-sxm4-80gb", "e4m3");
  EXPECT_FALSE(fp8["failure"].get<std::string>().empty());
  EXPECT_EQ(fp8["candidates"][0]["impossible"], fp8["failure"]);
  EXPECT_FALSE(point_of(all, "h100-sxm5-80gb", "nvfp4")["failure"].get<std::string>().empty());
  // Nothing runs on a V100, which has none of these types.
  for (const json& decision : all["decisions"]) {
    EXPECT_EQ(decision["best"].is_null(), decision["board"] == "v100-sxm2-16gb") << decision;
  }
  expect_output("compare " + llama + "--arch A100,H100 --dim batch=1 --types bf16,e4m3", "impossible (1)");
  EXPECT_EQ(schema("comparison").fault(all), "");
  expect_refused("compare " + llama + "--arch A100 --types e4m3", "e4m3");
}

TEST_F(CompareTypes, WhatDoesNotFitIsNotChosen) {
  const std::string large = "compare " + std::string(SPTC_SOURCE_DIR) +
                            "/traces/llama3_70b.json --quiet --fidelity analytic --arch H100 --dim "
                            "batch=1,seq=1,context=2048 --types bf16,w4a16 --format json";
  const json all = json_of(large);
  const json bf16 = point_of(all, "h100-sxm5-80gb", "bf16");
  EXPECT_EQ(bf16["candidates"][0]["fits"], false);
  EXPECT_EQ(all["decisions"][0]["best"]["type"], "w4a16");
  const json memory = point_of(all, "h100-sxm5-80gb", "w4a16")["candidates"][0]["memory_bytes"];
  EXPECT_LT(memory["weights"].get<double>(), 0.5 * bf16["candidates"][0]["memory_bytes"]["weights"].get<double>());
}

TEST_F(CompareTypes, OfAListOfGemmsIsNoWholeInference) {
  const std::string large = "compare " + std::string(SPTC_SOURCE_DIR) +
                            "/traces/gptj_6b.json --quiet --fidelity analytic --arch H100 --engine vllm --dim "
                            "batch=4096,seq=1,context=2048 --format json ";
  const json all = json_of(large + "--types f16");
  const std::string note = "not modelled: all operations beside GEMMs";
  EXPECT_NE(all["scope"].get<std::string>().find(note), std::string::npos) << all["scope"];
  // Terabytes of keys and values.
  EXPECT_EQ(all["points"][0]["candidates"][0]["fits"], false);
  EXPECT_TRUE(all["decisions"][0]["best"].is_null());
  EXPECT_NE(json_of(large)["scope"].get<std::string>().find(note), std::string::npos);
  EXPECT_EQ(compared("--arch H100 --types bf16")["scope"].get<std::string>().find(note), std::string::npos);
}

TEST_F(CompareTypes, SeveralGpusAndWeightsAreLists) {
  const json all = compared("--arch H100 --dim batch=1,16 --types e4m3 --sparsity dense --tp 1,2 --link 450");
  ASSERT_EQ(all["points"].size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all["points"][i]["tp"], 1 + i % 2);
    ASSERT_EQ(all["points"][i]["candidates"].size(), 1U);
    EXPECT_EQ(all["points"][i]["candidates"][0]["weights"], "dense");
  }
  const json two = all["points"][1]["candidates"][0];
  const double joules = two["joules_per_unit"], watts = two["power_w"], us = two["latency_us"];
  EXPECT_NEAR(joules, 2 * watts * us * 1e-6, 1e-6 * joules);
  EXPECT_GT(two["parts_us"]["communication"].get<double>(), 0);
  expect_output("compare " + llama + "--arch H100 --types e4m3 --tp 1,2 --link 450", "e4m3 x2");
}

TEST_F(CompareTypes, ExpertsAreSharedOutBesideLayersThatAreSplit) {
  const std::string mixtral = std::string(SPTC_SOURCE_DIR) +
                              "/traces/mixtral_8x7b.json --quiet --fidelity analytic --dim "
                              "context=2048 --dim seq=1 --dim batch=8 --engine compiled ";
  const std::string several = "--arch H100 --types bf16 --sparsity dense --link 450 ";
  const json all = json_of("compare " + mixtral + several + "--tp 1,8 --ep 1,8 --format json");
  ASSERT_EQ(all["points"].size(), 3U);
  EXPECT_EQ(schema("comparison").fault(all), "");
  const json &split = all["points"][1], &shared = all["points"][2];
  EXPECT_EQ(split["tp"], 8);
  EXPECT_EQ(split["ep"], 1);
  EXPECT_EQ(shared["tp"], 1);
  EXPECT_EQ(shared["ep"], 8);
  const auto bytes = [](const json& point) { return point["candidates"][0]["memory_bytes"]["weights"].get<double>(); };
  EXPECT_LT(bytes(split), bytes(shared));
  EXPECT_LT(bytes(shared), bytes(all["points"][0]));
  EXPECT_GT(shared["candidates"][0]["parts_us"]["communication"].get<double>(), 0);
  const json alone = json_of("run " + mixtral +
                             "--arch H100 --dtype bf16 --variants dense --ep 8 "
                             "--link 450 --format json");
  EXPECT_EQ(alone["totals"]["dense"]["latency_us"], shared["candidates"][0]["latency_us"]);
  EXPECT_EQ(schema("result").fault(alone), "");
  expect_output("compare " + mixtral + several + "--ep 8", "bf16 e8");
  expect_refused("run " + mixtral + "--arch H100 --tp 2 --ep 2 --link 450", "exclude each other");
  expect_refused("compare " + mixtral + "--arch H100 --ep 8,4", "list of them needs --types");
  expect_refused("compare " + llama + "--arch H100 --types bf16 --ep 8 --link 450 --dim batch=8",
                 "the workload has none");
}

TEST_F(CompareTypes, APrefillCountsItsTokens) {
  const json all = json_of("compare " + std::string(SPTC_SOURCE_DIR) +
                           "/traces/llama3_8b.json --quiet --fidelity analytic --arch H100 --types bf16 --dim "
                           "batch=2,seq=512 --format json");
  const json point = all["points"][0], dense = point["candidates"][0];
  EXPECT_EQ(point["pass"]["stage"], "prefill");
  EXPECT_EQ(dense["time_to_first_token_us"], dense["latency_us"]);
  const double us = dense["latency_us"];
  EXPECT_NEAR(dense["per_second"].get<double>(), 1024e6 / us, 1e-6 * 1024e6 / us);
  const json alone = json_of("run " + std::string(SPTC_SOURCE_DIR) +
                             "/traces/llama3_8b.json --quiet --fidelity analytic --arch H100 --dtype bf16 --engine "
                             "compiled --dim batch=2,seq=512 --format json");
  EXPECT_NEAR(alone["totals"]["dense"]["inference"]["time_to_first_token_us"].get<double>(), us, 1e-9 * us);
  const json encoder = json_of("compare " + std::string(SPTC_SOURCE_DIR) +
                               "/traces/bert_base.json --quiet --fidelity analytic --arch H100 --types f16 "
                               "--format json");
  EXPECT_EQ(encoder["points"][0]["pass"]["unit"], "input");
}

TEST_F(CompareTypes, TextStaysWithin100Columns) {
  const auto outcome = run("compare " + llama +
                           "--arch A100,H100,L40S --dim batch=1,256 --types "
                           "bf16,e4m3,nvfp4,w4a16,mxfp8 --tp 1,8 --link 450");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("Choose on a100-sxm4-80gb ")) << outcome.out;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST_F(CompareTypes, RefusesInOneSentence) {
  const std::string compare = "compare " + llama + "--arch H100 ";
  expect_refused(compare + "--types bf16,fp9", "fp9");
  expect_refused(compare + "--types bf16,bf16", "--types names 'bf16' twice");
  expect_refused("compare " + llama + "--arch H100,h100-sxm5-80gb", "--arch names 'h100-sxm5-80gb' twice");
  expect_refused(compare + "--types bf16 --dtype e4m3", "--types says what --dtype");
  expect_refused(compare + "--types bf16 --check exact", "--check has no effect");
  expect_refused(compare + "--types bf16 --tp 1,9", "--tp");
  expect_refused(compare + "--types bf16 --tp 1,2", "--tp needs --link");
  expect_refused(compare + "--tp 1,2 --link 450 --engine compiled", "list of them needs --types");
  expect_refused(compare + "--types bf17", "--types: unknown operand type 'bf17'");
  for (const char* const name : {"w4a16", "w8a16", "fp16"}) {
    expect_refused(compare + "--types bf17", name);
  }
  expect_refused(compare + "--types bf16 --sparsity foo", "allowed: dense, 2:4, all, auto");
  expect_refused(compare + "--types bf16 --link 450", "--link has no effect without --tp");
  expect_refused(compare + "--sparsity dense,2:4", "needs --types");
  expect_refused(compare + "--types bf16 --sparsity dense --variants dense", "give one");
  expect_refused(compare + "--types bf16 --engine nothing", "nothing");
}

TEST_F(CompareTypes, ThePageRunsInABrowser) {
  const std::string page = path("decision.html");
  ASSERT_EQ(
      run("compare " + llama + "--arch A100,H100 --dim batch=1,16 --types bf16,e4m3,w4a16 --html " + page).exit_code,
      0);
  EXPECT_LT(read(page).size(), 1'000'000U);
  sptc::cli::expect_lacks(read(page), "src=");
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string dom = opened(page);
  for (const char* const part :
       {"Choose on a100-sxm4-80gb", "Tokens per second against latency", "impossible (1)", "Memory of one GPU", "★",
        "What it is made of", "How far figures are from evidence", "Repeat it", "class=\"batch\""}) {
    sptc::cli::expect_has(dom, part);
  }
}

}  // namespace
