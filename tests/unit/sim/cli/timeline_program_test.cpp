// SPDX-License-Identifier: Apache-2.0
//
// --timeline and --konata, read by parsers of their own.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using nlohmann::json;

const std::string kGemm = "gemm 256 128 512 --variants sparse --check none --quiet";

class TimelineProgram : public sptc::cli::JsonProgram {
 protected:
  /// Fields of a line of a Kanata log.
  static std::vector<std::string> fields(const std::string& line) {
    std::vector<std::string> result;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) {
      result.push_back(field);
    }
    return result;
  }
};

TEST_F(TimelineProgram, KonataLogFollowsItsGrammar) {
  ASSERT_EQ(run(kGemm + " --konata " + path("k.log")).exit_code, 0);
  std::istringstream lines(read(path("k.log")));
  std::string line;
  std::getline(lines, line);
  ASSERT_EQ(line, "Kanata\t0004");
  std::getline(lines, line);
  ASSERT_TRUE(line.starts_with("C=\t")) << line;
  std::set<std::string> begun, retired;
  std::set<std::pair<std::string, std::string>> open;  // instruction and lane
  std::size_t dependences = 0, stages = 0;
  while (std::getline(lines, line)) {
    const std::vector<std::string> f = fields(line);
    if (f[0] == "C") {
      EXPECT_GT(std::stoll(f[1]), 0) << line;
      continue;
    }
    ASSERT_GE(f.size(), 4U) << line;
    if (f[0] == "I") {
      EXPECT_EQ(f[1], std::to_string(begun.size()));  // numbers in the order of the file
      EXPECT_TRUE(begun.insert(f[1]).second) << line;
      continue;
    }
    ASSERT_TRUE(begun.contains(f[1])) << line;
    ASSERT_FALSE(retired.contains(f[1])) << line;
    if (f[0] == "S") {
      ++stages;
      EXPECT_TRUE(open.insert({f[1], f[2]}).second) << line;
    } else if (f[0] == "E") {
      EXPECT_EQ(open.erase({f[1], f[2]}), 1U) << line;
    } else if (f[0] == "W") {
      ++dependences;
      EXPECT_TRUE(begun.contains(f[2])) << line;
    } else if (f[0] == "R") {
      EXPECT_FALSE(open.contains({f[1], "0"})) << line;
      retired.insert(f[1]);
    } else {
      EXPECT_EQ(f[0], "L") << line;
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(begun, retired);
  EXPECT_GT(begun.size(), 100U);
  EXPECT_GT(dependences, 0U);
  EXPECT_GE(stages, 9 * begun.size() - begun.size());
}

TEST_F(TimelineProgram, TimelineHasTracksThatDoNotOverlapAndPairsThatEnd) {
  ASSERT_EQ(run(kGemm + " --timeline " + path("t.json")).exit_code, 0);
  const json document = json::parse(read(path("t.json")));
  std::map<std::pair<int, int>, std::int64_t> end_of_track;
  std::map<std::pair<std::string, std::int64_t>, int> open;
  std::set<std::string> tracks;
  std::map<std::string, std::int64_t> counters;
  for (const json& event : document["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "M") {
      tracks.insert(event["args"]["name"]);
    } else if (phase == "X") {
      std::int64_t& end = end_of_track[{event["pid"], event["tid"]}];
      EXPECT_GE(event["ts"], end);
      EXPECT_GE(event["dur"], 0);
      end = event["ts"].get<std::int64_t>() + event["dur"].get<std::int64_t>();
    } else if (phase == "b" || phase == "e") {
      open[{event["name"], event["id"]}] += phase == "b" ? 1 : -1;
    } else {
      ASSERT_EQ(phase, "C");
      std::int64_t& counter = counters[event["name"]];
      counter = event["args"].begin().value();
      EXPECT_GE(counter, 0);
    }
  }
  for (const auto& [slice, count] : open) {
    EXPECT_EQ(count, 0) << slice.first;
  }
  EXPECT_EQ(counters.size(), 8U);  // four sub-partitions, the copies, three of the memory
  for (const auto& [counter, last] : counters) {
    EXPECT_EQ(last, 0) << counter;
  }
  EXPECT_TRUE(tracks.contains("sub-partition 3: tensor core"));
  EXPECT_TRUE(tracks.contains("sub-partition 0: warp slot 0"));
  EXPECT_TRUE(tracks.contains("sub-partition 3: align, add"));
  EXPECT_TRUE(tracks.contains("L2"));
  EXPECT_TRUE(tracks.contains("DRAM"));
}

TEST_F(TimelineProgram, TheMemoryMovesTheBytesOfTheReport) {
  const std::string whole = kGemm + " --no-extrapolate --format json --window 0:100000000";
  const json bytes = json_of(whole + " --timeline " + path("t.json"))["operations"][0]["sparse"]["bytes"];
  const json document = json::parse(read(path("t.json")));
  std::map<std::string, double> moved;
  std::map<int, std::int64_t> busy;
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] == "C" && event["pid"] == 1) {
      // Each value holds for a bin of 64 cycles.
      moved[event["name"]] += 64 * event["args"]["n"].get<double>();
    } else if (event["ph"] == "X" && event["pid"] == 1) {
      busy[event["tid"]] += event["dur"].get<std::int64_t>();
    }
  }
  EXPECT_NEAR(moved["L2: bytes per cycle"], bytes["l2"].get<double>(), 0.01 * bytes["l2"].get<double>());
  EXPECT_NEAR(moved["DRAM: bytes read per cycle"], bytes["hbm_read"].get<double>(),
              0.01 * bytes["hbm_read"].get<double>());
  EXPECT_GT(busy[1], 0);
  // DRAM takes at least as long as its rate allows: 1.78 TB/s at 1410 MHz are 1264 bytes per cycle.
  EXPECT_GE(static_cast<double>(busy[2]), bytes["hbm_read"].get<double>() / 1300);
}

TEST_F(TimelineProgram, ALongLogIsShownInStretches) {
  const std::string gemm = "gemm 4096 2048 2048 --variants sparse --check none --quiet --no-extrapolate";
  ASSERT_EQ(run(gemm + " --window 0:100000000 --timeline " + path("long.json")).exit_code, 0);
  const std::string text = read(path("long.json"));
  EXPECT_LT(text.size(), 2'000'000U);
  const json document = json::parse(text);
  std::int64_t last = 0;
  std::set<std::string> kinds;
  int mixed = 0;
  for (const json& event : document["traceEvents"]) {
    kinds.insert(event["ph"]);
    if (event["ph"] == "X") {
      last = std::max(last, event["ts"].get<std::int64_t>());
    }
    if (event["ph"] == "X" && event.contains("args")) {
      ++mixed;  // short states: each cycle has one, and the most frequent one gives the name
      std::int64_t sum = 0, most = 0;
      for (const json& cycles : event["args"]) {
        sum += cycles.get<std::int64_t>();
        most = std::max(most, cycles.get<std::int64_t>());
      }
      ASSERT_EQ(sum, event["dur"].get<std::int64_t>()) << event;
      ASSERT_EQ(event["args"][event["name"].get<std::string>()], most) << event;
    }
  }
  EXPECT_GT(mixed, 100);
  EXPECT_FALSE(kinds.contains("b"));  // no single instructions
  EXPECT_GT(last, 20'000);
}

TEST_F(TimelineProgram, TheWindowLimitsWhatIsLoggedAndNothingElse) {
  const std::string report = run(kGemm + " --format json").out;
  EXPECT_EQ(run(kGemm + " --format json --timeline " + path("all.json")).out, report);
  EXPECT_EQ(run(kGemm + " --format json --window 1100:1200 --timeline " + path("part.json")).out, report);
  const json part = json::parse(read(path("part.json")));
  EXPECT_LT(read(path("part.json")).size(), read(path("all.json")).size() / 2);
  for (const json& event : part["traceEvents"]) {
    if (event["ph"] == "b") {
      EXPECT_GE(event["ts"], 1100);
      EXPECT_LT(event["ts"], 1200);
    }
  }
}

TEST_F(TimelineProgram, RefusesInOneSentence) {
  const std::string timeline = " --timeline " + path("t.json");
  expect_refused(kGemm + timeline + " --fidelity analytic", "--fidelity analytic");
  expect_refused(kGemm + timeline + " --window 5", "FIRST:LAST");
  expect_refused(kGemm + timeline + " --window 5:5", "--window must be");
  expect_refused(kGemm + " --window 0:5", "--window needs --timeline");
  expect_refused("gemm 256 256 256 --arch H100 --quiet" + timeline, "wgmma");
}

}  // namespace
