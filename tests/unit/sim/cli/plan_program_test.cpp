// SPDX-License-Identifier: Apache-2.0
#include "tests/support/onnx_file.h"
#include "tests/unit/sim/cli/program.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace sptc::cli {
namespace {

using nlohmann::json;

class PlanProgram : public JsonProgram {
 protected:
  static constexpr std::int64_t kFloat = 1;

  /// x [8192, 512] through weights of 1024 x 512, 512 x 1024 and 500 x 512, the last of which no
  /// 2:4 kernel takes.
  std::string model() const {
    const std::string graph = onnx::input("x", kFloat, {8192, 512}) +
                              onnx::weighted_product("wide", 512, 1024, "x", "y") +
                              onnx::weighted_product("narrow", 1024, 512, "y", "z") +
                              onnx::weighted_product("odd", 512, 500, "z", "v") + onnx::output("v");
    std::ofstream(path("model.onnx"), std::ios::binary) << onnx::model(graph);
    return path("model.onnx");
  }
  std::string plan(const std::string& more) const { return "plan " + model() + " --dtype f16 " + more; }
  json result(const std::string& more) const { return json_of(plan("--format json " + more)); }
  /// The front is reported, with a sentence that no plan reaches what is asked for; no list of one
  /// is written, and the exit code says so.
  void expect_unreached(const std::string& wish, const std::string& sentence) const {
    const support::ProgramOutcome outcome = run(plan(wish + " --out " + path("list")));
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with(sentence)) << outcome.out;
    expect_has(outcome.out, "sets of layers on the front");
    EXPECT_FALSE(std::filesystem::exists(path("list")));
  }
};

TEST_F(PlanProgram, ResultIsWhatItsSchemaSays) {
  const json plan = result("--max-loss 10 --csv " + path("p.csv") + " --html " + path("p.html"));
  EXPECT_EQ(schema("plan").fault(plan), "");
  ASSERT_EQ(plan.at("layers").size(), 3U);
  EXPECT_EQ(plan.at("layers")[0].at("weights")[0].at("tensor"), "wide");
  EXPECT_EQ(plan.at("layers")[0].at("m"), 1024);
  EXPECT_GT(plan.at("layers")[0].at("saved_us"), 0);
  EXPECT_EQ(plan.at("layers")[2].at("refused"), "rows and k, 500 x 512, are no multiples of 8 and 16");
  EXPECT_EQ(plan.at("front").size(), 3U);  // none, one of two alike, both
  EXPECT_EQ(plan.at("plan").at("layers"), json({0, 1}));
  expect_has(read(path("p.csv")), "\r\nz,");
  expect_has(read(path("p.html")), "sptcsim-plan/0.1");
}

TEST_F(PlanProgram, VerdictComesFirst) {
  const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  const std::string all = first_line(run(plan("--html " + path("all.html"))).out);
  EXPECT_TRUE(all.starts_with("All layers that gain make it 1.") &&
              all.find("x as fast and should lose 0.") != all.npos &&
              all.find(", the root of the sum of the squared relative errors of the outputs of 2 "
                       "layers (0.") != all.npos)
      << all;
  expect_has(read(path("all.html")), "\"verdict\":\"" + all + "\"");
  EXPECT_TRUE(first_line(run(plan("--max-loss 10")).out).starts_with("The plan is 1."));
  const std::string none = first_line(run(plan("--max-loss 0")).out);
  EXPECT_TRUE(none.starts_with("The plan takes no layer; the next set on the front loses 0.")) << none;
  std::ofstream(path("slow.json")) << R"({"base": "a100-sxm4-80gb", "name": "slow metadata", "sm": {"tensor_core": {
             "metadata_port_bytes_per_cycle": {
               "value": 1, "evidence": "assumed", "source": "so that 2:4 loses"}}}})";
  EXPECT_EQ(first_line(run(plan("--arch " + path("slow.json"))).out), "No layer gains from 2:4.");
}

TEST_F(PlanProgram, SaysHowNearToTheBoardPairsWereMeasured) {
  const std::string words = "f16 measured on this board; mean error of gains: ";
  const std::string arch = "--arch a100-pcie-80gb --html " + path("near.html");
  expect_has(run(plan(arch)).out, "\nEvidence: " + words);
  expect_has(read(path("near.html")), "\"evidence\":\"" + words);
  const auto evidence = result(arch).at("evidence").get<std::string>();
  EXPECT_TRUE(evidence.starts_with(words)) << evidence;
  std::ofstream(path("own.json")) << R"({"base": "a100-sxm4-80gb", "name": "own", "sms": {
      "value": 54, "evidence": "assumed", "source": "a design of one's own"}})";
  EXPECT_EQ(result("--arch " + path("own.json")).at("evidence"), "measured on none, for it is a design of one's own.");
}

TEST_F(PlanProgram, NotesSayWhichErrorsAreThoseOfWhiteNoise) {
  const json notes = result("").at("notes");
  EXPECT_EQ(notes[0], "0 of 3 weights have the error of calibration inputs");
  EXPECT_EQ(notes[1],
            "a weight without calibration inputs has the root of the pruned share of its energy: "
            "the error of white noise");
}

TEST_F(PlanProgram, WeightsOfOneKernelAreOneLayer) {
  const std::string graph = onnx::input("x", kFloat, {8192, 512}) +
                            onnx::weighted_product("query", 512, 512, "x", "q") +
                            onnx::weighted_product("key", 512, 256, "x", "k") + onnx::output("q") + onnx::output("k");
  std::ofstream(path("siblings.onnx"), std::ios::binary) << onnx::model(graph);
  const auto layers = [&](const std::string& engine) {
    return json_of("plan " + path("siblings.onnx") + " --dtype f16 --format json --engine " + engine)["layers"];
  };
  EXPECT_EQ(layers("gemms").size(), 2U);
  const json joined = layers("tensorrt");
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].at("m"), 512 + 256);
  EXPECT_EQ(joined[0].at("launches"), 1);
  const json& weights = joined[0].at("weights");
  ASSERT_EQ(weights.size(), 2U);
  EXPECT_EQ(weights[1].at("tensor"), "key");
  const auto error = joined[0].at("error").get<double>();
  const auto query = weights[0].at("error").get<double>();
  const auto key = weights[1].at("error").get<double>();
  EXPECT_GE(error, std::min(query, key) - 1e-12);  // that of both outputs is between theirs
  EXPECT_LE(error, std::max(query, key) + 1e-12);
  EXPECT_EQ(joined[0].at("loss"), joined[0].at("error"));
}

TEST_F(PlanProgram, ItsListIsWhatPruneAndRunTake) {
  const std::string list = path("layers.txt");
  const json plan = result("--engine tensorrt --min-gain 1.01 --out " + list);
  ASSERT_EQ(plan.at("plan").at("layers").size(), 1U);
  EXPECT_EQ(run("prune " + model() + " --layers @" + list + " --out " + path("o.onnx")).exit_code, 0);
  const json ran = json_of("run " + path("model.onnx") + " --dtype f16 --engine tensorrt --fidelity analytic " +
                           "--format json --sparsity " + list);
  EXPECT_EQ(ran.at("totals").at("sparse").at("latency_us"), plan.at("plan").at("simulated").at("time_us"));
  EXPECT_NEAR(plan.at("plan").at("time_us").get<double>(), plan.at("plan").at("simulated").at("time_us").get<double>(),
              0.5);
}

TEST_F(PlanProgram, SaysWhereLayersLoseMoreTogether) {
  const std::string squared = "--metric lower --quiet --evaluate \"sh -c 'n=\\$(cmp -l " + path("model.onnx") +
                              " {} | wc -l); echo \\$((n * n))'\" --max-loss ";
  const json layers = result(squared + "0").at("layers");
  const double sum = layers[0].at("loss").get<double>() + layers[1].at("loss").get<double>();
  const json plan = result(squared + std::to_string(sum));
  EXPECT_EQ(plan.at("plan").at("layers").size(), 2U);
  EXPECT_GT(plan.at("plan").at("metric"), sum);
  expect_has(plan.at("notes").back().get<std::string>(), "more together than alone");
}

TEST_F(PlanProgram, BadInputIsOneSentence) {
  const std::string out = " --out " + path("list");
  expect_refused(plan(out), "--max-loss, --max-time or --min-gain chooses it");
  expect_refused(plan("--max-loss 1 --min-gain 2"), "give one of them");
  expect_unreached("--max-time 1", "No plan takes at most 1 us: the fastest takes");
  expect_unreached("--min-gain 90", "No plan takes at most");
  expect_unreached("--max-loss 0.01", "The plan takes no layer; the next set on the front loses");
  expect_unreached("--evaluate 'echo 1' --max-loss -1", "No plan loses at most -1");
  expect_refused(plan("--max-loss -1"), "--max-loss must be at least 0 without --evaluate, not -1");
  for (const std::string number : {"nan", "inf"}) {
    expect_refused(plan("--max-loss " + number), "--max-loss must be a finite number, not");
  }
  for (const std::string number : {"nan", "1e300", "0", "-1"}) {
    expect_refused(plan("--max-time " + number), "--max-time must be above 0 and at most");
  }
  for (const std::string number : {"nan", "inf", "0", "0.5"}) {
    expect_refused(plan("--min-gain " + number), "--min-gain must be a finite number of at least 1");
  }
  expect_refused(plan("--timeout 1e300"), "--timeout must be an integer from 1 to 1000000");
  expect_refused(plan("--metric low"), "'lower'");
  expect_refused(plan("--evaluate \"'\""), "has no end");
  expect_refused(plan("--evaluate 'sh -c \"echo 1; echo bad >&2; exit 4\"'"),
                 "of the dense model ended with exit code 4: bad");
  expect_refused(plan("--evaluate 'echo 12 apples'"), "not '12 apples'");
  expect_refused(plan("--evaluate true"), "must print a number on its last line, not ''");
  expect_refused(plan("--evaluate 'sleep 60' --timeout 1"), "took longer than 1 s");
  expect_refused(plan("--evaluate no-such-program"), "cannot be started");
  EXPECT_FALSE(std::filesystem::exists(path("list")));
}

TEST_F(PlanProgram, WeightsAndAWorkloadBelongTogether) {
  const std::string traces = std::string(SPTC_SOURCE_DIR) + "/traces/";
  expect_refused("plan " + traces + "digits/mlp.safetensors --workload " + traces + "bert_large.json",
                 "mlp.safetensors: none of its weights is in the workload ");
  expect_refused("plan " + traces + "bert_large.json", "holds no weights: name the file of them, and a workload");
  expect_refused("plan " + temporary.path().string(), "is a directory without model.safetensors.index.json or");
}

TEST_F(PlanProgram, ListsThatAreNoneOfTheModelAreRefused) {
  const auto listed = [&](const std::string& text) { return write("list.txt", text); };
  const std::string prune = "prune " + model() + " --layers @";
  const std::string run_it = "run " + model() + " --dtype f16 --fidelity analytic --sparsity ";
  expect_refused(prune + listed("wide\nwid\n"), "unknown tensor 'wid'");
  expect_refused(prune + listed("# nothing\n\n"), "no layer is listed");
  expect_refused(prune + listed("wide\nwide\n"), "list.txt:2: 'wide' stands on line 1, too");
  expect_refused(prune + path("none.txt"), "no such file");
  expect_has(run(run_it + listed("wide\tyy\n")).err, "list.txt:1: unknown operation 'yy'");
  expect_has(run(run_it + listed("odd\tv\n")).err, "operation 'v' stays dense");
  expect_has(run(run_it + listed("wide\ty[1]\n")).err, "'y[1]' is no launch of 'y'");
}

TEST_F(PlanProgram, PageShowsTheFrontInABrowser) {
  if (!support::kHasBrowser) {
    GTEST_SKIP() << "no Chromium";
  }
  result("--max-loss 10 --html " + path("p.html"));
  const std::string dom = opened(path("p.html"));
  expect_has(dom, "class=\"front\"");
  expect_has(dom, "refused: rows and k");
  expect_has(dom, "Evidence: f16 measured on its chip, GA100");
}

}  // namespace
}  // namespace sptc::cli
