// SPDX-License-Identifier: Apache-2.0
//
// --timeline and --konata, read by parsers of their own.
#include "tests/support/program_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

class TimelineProgram : public sptc::support::ProgramFixture {
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
  std::map<int, std::int64_t> end_of_track;
  std::map<std::pair<std::string, std::int64_t>, int> open;
  std::set<std::string> tracks;
  std::map<std::string, std::int64_t> counters;
  for (const json& event : document["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "M") {
      tracks.insert(event["args"]["name"]);
    } else if (phase == "X") {
      std::int64_t& end = end_of_track[event["tid"]];
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
  EXPECT_EQ(counters.size(), 5U);  // four sub-partitions and the copies
  for (const auto& [counter, last] : counters) {
    EXPECT_EQ(last, 0) << counter;
  }
  EXPECT_TRUE(tracks.contains("sub-partition 3: tensor core"));
  EXPECT_TRUE(tracks.contains("sub-partition 0: warp slot 0"));
  EXPECT_TRUE(tracks.contains("sub-partition 3: align, add"));
}

TEST_F(TimelineProgram, EveryCycleOfATensorCoreHasOneReason) {
  ASSERT_EQ(run(kGemm + " --sms all --no-extrapolate --timeline " + path("t.json")).exit_code, 0);
  const json document = json::parse(read(path("t.json")));
  constexpr int kFirstTensorCore = 20;
  std::int64_t end = -1;
  std::set<std::string> reasons;
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] == "X" && event["tid"] == kFirstTensorCore) {
      EXPECT_TRUE(end < 0 || event["ts"] == end) << event;
      end = event["ts"].get<std::int64_t>() + event["dur"].get<std::int64_t>();
      reasons.insert(event["name"]);
    }
  }
  EXPECT_TRUE(reasons.contains("multiplies"));
  EXPECT_TRUE(reasons.contains("is in prologues and epilogues"));
  EXPECT_GE(reasons.size(), 3U);
}

TEST_F(TimelineProgram, TheWindowLimitsWhatIsLoggedAndNothingElse) {
  const std::string report = run(kGemm + " --format json").out;
  EXPECT_EQ(run(kGemm + " --format json --timeline " + path("all.json")).out, report);
  EXPECT_EQ(run(kGemm + " --format json --window 1100:1200 --timeline " + path("part.json")).out,
            report);
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
  expect_refused(kGemm + " --window 0:5", "--window is of --timeline");
  expect_refused("gemm 256 256 256 --arch H100 --quiet" + timeline, "wgmma");
}

}  // namespace
