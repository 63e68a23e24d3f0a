// SPDX-License-Identifier: Apache-2.0
//
// Boards and architecture files as a user meets them.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>

namespace sptc::cli {
namespace {

TEST_F(Program, ListsShowsAndValidatesArchitectures) {
  expect_has(run("arch list --names").out, "a100-sxm4-80gb\n");
  const std::string boards = run("arch list").out;
  expect_has(boards,
             "a100-sxm4-80gb               GA100          108     312     624     624   2039    80 "
             "   400\n");
  expect_has(boards,
             "v100-sxm2-16gb               GV100           80     125       -       -    900    16 "
             "   300\n");
  expect_has(run("arch show a100-sxm4-80gb").out, "/sms");
  EXPECT_EQ(run("arch validate a100-sxm4-80gb").exit_code, 0);
  write("bad.json", "{\"sms\": NaN}");
  EXPECT_EQ(run("arch validate " + path("bad.json")).exit_code, 2);
  expect_refused("arch show a100-sxm4-8", "'a100-sxm4-80gb'");
  expect_refused("arch show a100-sxm4-80gb --format jsn", "'json'");
  // Also what the file leaves out.
  const auto shown = nlohmann::json::parse(run("arch show a40 --format json").out);
  EXPECT_EQ(shown["schema"], "sptcsim-architecture/0.1");
  const auto barrier = std::ranges::find_if(shown["parameters"], [](const nlohmann::json& parameter) {
    return parameter["pointer"] == "/sm/barrier_latency_cycles";
  });
  ASSERT_NE(barrier, shown["parameters"].end());
  EXPECT_EQ((*barrier)["value"], 4);
  EXPECT_EQ((*barrier)["evidence"], "assumed");
}

TEST_F(Program, ShowsThePeaksOfABoardFirst) {
  const std::string text = run("arch show A100").out;
  expect_has(text, "chip GA100\n\nTFLOP/s ");
  expect_has(text, "at 1410 MHz");
  expect_has(text, "where 400 W hold a large GEMM");
  expect_has(text, "\nf16    f32        312      624   ");
  expect_has(text, "   624, with sparsity\n");
  expect_has(text, "\nf64    f64       19.5        -          -      -        -      -   19.5\n");
  std::istringstream lines(text.substr(0, text.find("\nparameter")));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
  }
  std::istringstream boards(run("arch list").out);
  for (std::string line; std::getline(boards, line);) {
    EXPECT_LE(line.size(), 100u) << line;
  }
  const auto shown = nlohmann::json::parse(run("arch show rtx4090 --format json").out);
  EXPECT_EQ(shown["chip"], "AD102");
  EXPECT_EQ(shown["power_limit_w"], 450);
  const auto& first = shown["peaks"][0];
  EXPECT_EQ(first["type"], "f16");
  EXPECT_EQ(first["sums"], "f32");
  EXPECT_EQ(first["data_sheet_prints"]["tflops"], first["sparse_tflops"]);
  EXPECT_EQ(first["data_sheet_prints"]["with_sparsity"], true);
  EXPECT_LE(first["at_power_limit"]["dense_tflops"], first["dense_tflops"]);
  EXPECT_TRUE(shown["peaks"][1]["at_power_limit"]["dense_tflops"].is_null()) << "f16 sums";
  const auto listed = nlohmann::json::parse(run("arch list --format json").out);
  for (const auto& board : listed["architectures"]) {
    EXPECT_FALSE(board["chip"].is_null()) << board;
  }
}

TEST_F(Program, AFileThatIsNoArchitectureIsRefusedInOneSentence) {
  ASSERT_EQ(run("gemm 64 64 64 --fidelity analytic --format json --out " + path("saved.json")).exit_code, 0);
  write("other.json", R"({"name": "other", "hidden_size": 4096, "layers": 32, "heads": 32})");
  for (const std::string command : {"gemm 64 64 64 --arch ", "arch show "}) {
    expect_refused(command + path("saved.json"),
                   "a file of the schema \"sptcsim-result/0.1\" holds no numbers of hardware");
    expect_refused(command + path("other.json"), "no architecture: neither numerics nor sm nor memory");
  }
}

TEST_F(Program, TakesAliasesOfBoardsAndNamesTheBoardInReports) {
  EXPECT_TRUE(run("arch show A100").out.starts_with("a100-sxm4-80gb: 108 SMs"));
  EXPECT_TRUE(run("energy show h100").out.starts_with("h100-sxm5-80gb: "));
  write("w.csv", "name,m,n,k\na,64,64,64\n");
  write("m.csv", "m,n,k,time_us_median\n512,512,512,9\n");
  const auto board_of = [&](const std::string& arguments) {
    return json_of(arguments + " --fidelity analytic --format json")["arch"].get<std::string>();
  };
  EXPECT_EQ(board_of("gemm 64 64 64 --arch A100-PCIE"), "a100-pcie-80gb");
  EXPECT_EQ(board_of("run " + path("w.csv") + " --arch L40s"), "l40s");
  EXPECT_EQ(board_of("validate " + path("m.csv") + " --arch H200"), "h200-sxm");
  EXPECT_EQ(run("microbench --arch A30").exit_code, 0);
  write("s.json", R"({"schema": "sptcsim-sweep/0.1", "name": "s", "arch": ["T4", "V100"],
                      "options": {"fidelity": "analytic", "check": "none"},
                      "workloads": [{"name": "g", "m": 64, "n": 64, "k": 64}]})");
  const std::string table = path("s.sqlite");
  EXPECT_EQ(run("sweep " + path("s.json") + " --db " + table + " --quiet").exit_code, 0);
  expect_has(run("sweep report " + table + " --format csv").out, "v100-sxm2-16gb");
}

TEST_F(Program, ShowsEnoughOfAnArchitectureToWriteItsFileAnew) {
  using Json = nlohmann::json;
  const auto shown = [&](const std::string& name) { return json_of("arch show " + name + " --format json"); };
  const auto take = [](Json& document, const Json& parameter) {
    Json number = parameter;
    number.erase("pointer");
    number.erase("unit");
    EXPECT_FALSE(parameter["meaning"].get<std::string>().empty()) << parameter;
    number.erase("meaning");
    document[Json::json_pointer(parameter["pointer"].get<std::string>())] = number;
  };
  const Json base = shown("t4");
  std::istringstream names(run("arch list --names").out);
  int shipped = 0;
  for (std::string name; std::getline(names, name); ++shipped) {
    const Json original = shown(name);
    const Json& parameters = original["parameters"];
    Json whole{{"name", "x"}, {"numerics", original["numerics"]}};
    Json derived{{"name", "x"}, {"base", "t4"}};
    whole["kernels"]["library"] = original["library"];
    for (const char* const word : {"numerics", "library"}) {
      if (original[word] != base[word]) {
        derived[Json::json_pointer(word[0] == 'n' ? "/numerics" : "/kernels/library")] = original[word];
      }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      take(whole, parameters[i]);
      if (parameters[i]["value"] != base["parameters"][i]["value"]) {
        take(derived, parameters[i]);
      }
    }
    write("whole.json", whole.dump());
    EXPECT_EQ(shown(path("whole.json"))["parameters"], parameters) << name;
    if (name == "t4") {
      continue;  // derived from itself it would change nothing
    }
    write("derived.json", derived.dump());
    const Json other = shown(path("derived.json"));
    EXPECT_EQ(other["library"], original["library"]) << name;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_EQ(other["parameters"][i]["value"], parameters[i]["value"]) << name << ' ' << parameters[i]["pointer"];
    }
  }
  EXPECT_GE(shipped, 18);
}

}  // namespace
}  // namespace sptc::cli
