// SPDX-License-Identifier: Apache-2.0
//
// sptcsim compare as a user meets it.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using nlohmann::json;

class CompareProgram : public sptc::cli::JsonProgram {
 protected:
  const std::string bert = std::string(SPTC_SOURCE_DIR) + "/traces/bert_large.json --quiet --check none";

  json compared(const std::string& arguments) const { return json_of("compare " + arguments + " --format json"); }
};

TEST_F(CompareProgram, EachPointIsWhatRunSays) {
  const std::string small = bert + " --dim seq=64";
  const json all = compared(small + " --arch A100,L40S --dim batch=1,8 --jobs 2");
  ASSERT_EQ(all["points"].size(), 4U);
  const json point = all["points"][3];
  EXPECT_EQ(point["board"], "l40s");
  EXPECT_EQ(point["dims"], "batch=8");
  const json alone = json_of("run " + small + " --arch L40S --dim batch=8 --format json");
  EXPECT_EQ(point["total"]["dense_us"], alone["totals"]["dense"]["time_us"]);
  EXPECT_EQ(point["total"]["sparse_us"], alone["totals"]["sparse"]["time_us"]);
  EXPECT_EQ(point["total"]["per_watt"], alone["totals"]["performance_per_watt_ratio"]);
  EXPECT_EQ(point["total"]["per_watt_low"], alone["totals"]["performance_per_watt_ratio_low"]);
  EXPECT_EQ(point["total"]["per_watt_high"], alone["totals"]["performance_per_watt_ratio_high"]);
  for (std::size_t i = 0; i < alone["operations"].size(); ++i) {
    EXPECT_EQ(point["operations"][i]["dense_us"], alone["operations"][i]["dense"]["time_us"]);
    EXPECT_EQ(point["operations"][i]["dense_bound_by"], alone["operations"][i]["dense"]["bound_by"]);
  }
  EXPECT_EQ(all, compared(small + " --arch A100,L40S --dim batch=1,8 --jobs 1"));
}

TEST_F(CompareProgram, UnderAnEngineComparesWholeInferences) {
  const std::string llama =
      std::string(SPTC_SOURCE_DIR) + "/traces/llama3_8b.json --quiet --fidelity analytic --engine compiled";
  for (const std::string tp : {"", " --tp 2 --link 450"}) {
    const json all = compared(llama + tp + " --arch A100,H100 --dim batch=1,8");
    const json point = all["points"][3];
    const json alone = json_of("run " + llama + tp + " --arch H100 --dim batch=8 --format json");
    const json dense = alone["totals"]["dense"], sparse = alone["totals"]["sparse"];
    EXPECT_EQ(point["total"]["dense_us"], dense["latency_us"]);
    EXPECT_EQ(point["total"]["sparse_us"], sparse["latency_us"]);
    EXPECT_EQ(point["total"]["dense_uj"], dense["inference"]["energy_uj"]);
    EXPECT_EQ(point["total"]["sparse_w"], sparse["inference"]["power_w"]);
    EXPECT_NE(point["total"]["dense_us"], dense["time_us"]);
    // Siblings that the engine merges are one layer, called as it calls them.
    ASSERT_EQ(point["operations"].size(), alone["operations"].size());
    for (std::size_t i = 0; i < alone["operations"].size(); ++i) {
      EXPECT_EQ(point["operations"][i]["name"], alone["operations"][i]["name"]);
      EXPECT_EQ(point["operations"][i]["dense_us"], alone["operations"][i]["dense"]["time_us"]);
    }
    const std::string scope = all["scope"];
    EXPECT_EQ(scope.find("one inference under engine 'compiled'"), 0U) << scope;
    EXPECT_EQ(scope.find("2 GPUs") != std::string::npos, !tp.empty()) << scope;
  }
  expect_output("compare " + llama + " --arch H100", "Layers: GEMMs only");
  EXPECT_EQ(compared(bert + " --fidelity analytic --arch A100")["scope"], "GEMMs only");
}

TEST_F(CompareProgram, SavedResultsOfEnginesAreWholeInferences) {
  const auto save = [&](const std::string& options, const std::string& name) {
    ASSERT_EQ(
        run("run " + bert + " --fidelity analytic --format json --dim batch=8 --out " + path(name) + options).exit_code,
        0);
  };
  save(" --engine pytorch", "pytorch.json");
  save(" --engine compiled", "compiled.json");
  save("", "gemms.json");
  const json engines = compared(path("pytorch.json") + " " + path("compiled.json"));
  EXPECT_EQ(engines["scope"], "one inference under engine 'compiled', 'pytorch'");
  for (const std::size_t i : {0, 1}) {
    const json point = engines["points"][i];
    const json saved = json::parse(read(path(point["dims"].get<std::string>() + ".json")));
    EXPECT_EQ(point["total"]["dense_us"], saved["totals"]["dense"]["latency_us"]);
  }
  const json mixed = compared(path("pytorch.json") + " " + path("gemms.json"));
  EXPECT_EQ(mixed["scope"], "GEMMs only: not every result is of an engine");
  const json gemms = json::parse(read(path("gemms.json")));
  EXPECT_EQ(mixed["points"][1]["total"]["dense_us"], gemms["totals"]["dense"]["time_us"]);
}

TEST_F(CompareProgram, SaysWhereSparsityLoses) {
  std::ofstream(path("small.csv")) << "m,n,k\n1000,1,1024\n";
  std::ofstream(path("large.csv")) << "m,n,k\n8192,8192,8192\n";
  const auto verdict = [&](const std::string& arguments) {
    return compared(path(arguments) + " --fidelity analytic --check none")["verdict"].get<std::string>();
  };
  EXPECT_EQ(verdict("small.csv --arch A100").find("Sparsity loses: 0."), 0U);
  sptc::cli::expect_has(verdict("small.csv --arch A100,H100"), " at worst (");
  EXPECT_EQ(verdict("large.csv --arch A100").find("Sparsity gains 1."), 0U);
}

TEST_F(CompareProgram, SaysWhyAFigureIsMissing) {
  const std::string mine = board_without_energies();
  const std::string arguments = bert + " --fidelity analytic --arch A100," + mine;
  const json all = compared(arguments);
  EXPECT_TRUE(all["points"][1]["total"]["dense_uj"].is_null());
  sptc::cli::expect_has(all["points"][1]["no_energy"].get<std::string>(), "mine");
  expect_output("compare " + arguments, "n/a: mine has no energies");
  expect_output("compare " + bert + " --fidelity analytic --arch A100,V100",
                "n/a: v100-sxm2-16gb has no sparse matrix instructions");
}

TEST_F(CompareProgram, SaysWhatWasMeasuredOnShapesLikeALayer) {
  const std::string arguments = bert + " --fidelity analytic --arch A100,rtx4090 --dim batch=8";
  const json points = compared(arguments)["points"];
  const json measured = points[1]["operations"][0]["measured"];
  EXPECT_FALSE(points[0]["operations"][0].contains("measured"));
  EXPECT_GT(measured["shapes"], 0);
  // A gain of less than nothing or of more than dense time at four times the rate would be no mean
  // of measured ones.
  EXPECT_GT(measured["gain"], 0.5);
  EXPECT_LT(measured["gain"], 4);
  const json alone = json_of("run " + bert + " --fidelity analytic --arch rtx4090 --dim batch=8 --format json");
  EXPECT_LE(measured["shapes"], alone["measured_gain"]["pairs"]);
  expect_output("compare " + arguments, "gain measured|simulated");
  ASSERT_FALSE(points[1]["measured_conditions"].empty());
  const std::string conditions = points[1]["measured_conditions"][0];
  for (const std::string& part : {points[1]["board"].get<std::string>(), std::string("L2 "), std::string("cuSPARSELt"),
                                  std::string("evidence/")}) {
    sptc::cli::expect_has(conditions, part);
  }
  expect_output("compare " + arguments, "measured: " + conditions.substr(0, 20));
}

TEST_F(CompareProgram, TwoSavedResultsStandSideBySide) {
  const std::string gemms = bert + " --fidelity analytic --format json";
  ASSERT_EQ(run("run " + gemms + " --dim batch=8 --out " + path("a.json")).exit_code, 0);
  ASSERT_EQ(run("run " + gemms + " --dim batch=8 --arch H100 --out " + path("b.json")).exit_code, 0);
  const std::string both = path("a.json") + " " + path("b.json");
  const json all = compared(both);
  const json a = json::parse(read(path("a.json"))), b = json::parse(read(path("b.json")));
  ASSERT_EQ(all["points"].size(), 2U);
  EXPECT_EQ(all["points"][0]["dims"], "a");
  EXPECT_EQ(all["points"][1]["board"], "h100-sxm5-80gb");
  EXPECT_EQ(all["points"][1]["total"]["gain"], b["totals"]["speedup"]);
  EXPECT_EQ(all["points"][0]["operations"][2]["dense_us"], a["operations"][2]["dense"]["time_us"]);
  EXPECT_EQ(all["points"][1]["operations"][0]["sparse_bound_by"], b["operations"][0]["sparse"]["bound_by"]);
  expect_output("compare " + both, "2 / 1");
  const std::string csv = run("compare " + both + " --format csv").out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * (1 + 7));
}

TEST_F(CompareProgram, TakesAWorkloadFromAPipe) {
  const std::string options = " --fidelity analytic --check none --quiet --arch A100 --format json";
  const std::string file = std::string(SPTC_SOURCE_DIR) + "/traces/bert_large.json";
  const std::string piped = "cat " + file + " | " + SPTC_PROGRAM + " compare /dev/stdin" + options + " >" +
                            path("piped") + " 2>" + path("err");
  ASSERT_EQ(std::system(piped.c_str()), 0) << read(path("err"));
  EXPECT_EQ(json::parse(read(path("piped")))["points"], json_of("compare " + file + options)["points"]);
}

TEST_F(CompareProgram, FiguresThatNoSimulationHasAreNotKnown) {
  ASSERT_EQ(run("gemm 64 64 64 --fidelity analytic --quiet --format json --out " + path("a.json")).exit_code, 0);
  for (const double us : {1e308, -1.0}) {
    json changed = json::parse(read(path("a.json")));
    changed["operations"][0]["dense"]["time_us"] = us;
    std::ofstream(path("b.json")) << changed;
    const json all = compared(path("a.json") + " " + path("b.json"));
    EXPECT_FALSE(all["points"][0]["operations"][0]["dense_us"].is_null());
    EXPECT_TRUE(all["points"][1]["operations"][0]["dense_us"].is_null()) << us;
  }
}

TEST_F(CompareProgram, RefusesWhatIsNoSavedResult) {
  ASSERT_EQ(run("gemm 64 64 64 --quiet --format json --out " + path("a.json")).exit_code, 0);
  const std::string a = path("a.json");
  expect_refused("compare " + a + " " + SPTC_SOURCE_DIR + "/traces/bert_large.json", "no saved result");
  expect_refused("compare " + a + " " + path("none.json"), "none.json");
  expect_refused("compare " + a, "name a second one");
  std::filesystem::copy(a, path("b\nc.json"));
  expect_refused("compare '" + path("b\nc.json") + "'", "c.json is a saved result");
  const std::string message = read(path("err"));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
  expect_refused("compare " + a + " " + a + " --arch A100", "--arch has no effect");
  expect_refused("compare " + a + " " + a + " --jobs 2", "--jobs has no effect");
}

TEST_F(CompareProgram, RefusesInOneSentence) {
  expect_refused("compare " + bert + " --arch A100,nothing", "nothing");
  expect_refused("compare " + bert + " --dim batch=1,x", "batch");
  // Products of experts are called after the tokens that they get.
  expect_refused("compare " SPTC_SOURCE_DIR "/traces/mixtral_8x7b.json --dim batch=1,64 --fidelity analytic",
                 "compare: the operations with batch=64 are not those with batch=1");
  expect_refused("compare " + bert + " --dim nonsense=1,2", "nonsense");
  expect_refused("compare " + bert + " --jobs 0", "--jobs");
  for (const std::string& command : {"compare " + bert, "run " + bert, std::string("plan model.onnx")}) {
    expect_refused(command + " --link 300", "--link has no effect without --tp or --ep");
  }
  expect_refused("compare no.json", "no.json");
}

TEST_F(CompareProgram, ThePageRunsInABrowser) {
  const std::string page = path("compare.html");
  ASSERT_EQ(run("compare " + bert + " --fidelity analytic --arch A100,H100 --dim batch=1,8 --html " + page).exit_code,
            0);
  const std::string text = read(page);
  sptc::cli::expect_lacks(text, "src=");
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  sptc::cli::expect_has(opened(page), "h100-sxm5-80gb, batch=8");
}

}  // namespace
