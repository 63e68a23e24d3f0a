// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/cost_sets.h"

#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace sptc::sweep {
namespace {

using nlohmann::json;

CostSets sets_of(const json& options, const json& axes) {
  return cost_sets(
      make_plan({{"workloads", {{{"m", 16}, {"n", 16}, {"k", 16}}}}, {"options", options}, {"axes", axes}}).spec());
}

/// The factor of the power that flows whatever happens.
energy::CostFactor constant_of(const CostSets& sets, const std::vector<std::string>& values) {
  const auto name = std::find(energy::kEnergyPartNames.begin(), energy::kEnergyPartNames.end(), "constant");
  const auto part = static_cast<std::size_t>(name - energy::kEnergyPartNames.begin());
  const CostSets::Set& set = sets.sets.at(sets.set_of.at(values));
  return sets.factors.at(static_cast<std::size_t>(set.energy[part]));
}

const json kSms = {{{"parameter", "/sms"}, {"values", {54, 108}}}};

TEST(CostSets, AnAxisThatSaysWhatABoardTakesAtRestMeansWhatTheOptionMeans) {
  const CostSets varied = sets_of({{"fidelity", "analytic"}}, {{{"option", "board-idle"}, {"values", {80, 95.5}}}});
  EXPECT_EQ(varied.axes, (std::vector<std::string>{"workload", "arch", "board_idle"}));
  EXPECT_EQ(varied.sets.size(), 2u);
  std::set<double> lowest;
  for (const double watts : {80.0, 95.5}) {
    const CostSets fixed = sets_of({{"fidelity", "analytic"}, {"board-idle", watts}}, kSms);
    std::vector<std::string> values = fixed.set_of.begin()->first;
    const energy::CostFactor expected = constant_of(fixed, values);
    values.push_back(watts == 80 ? "80" : "95.5");
    const energy::CostFactor found = constant_of(varied, values);
    EXPECT_EQ(found.low, expected.low) << watts;
    EXPECT_EQ(found.high, expected.high) << watts;
    lowest.insert(found.low);
  }
  EXPECT_EQ(lowest.size(), 2u) << "what is not the chip's is another part of each";
}

TEST(CostSets, APointThatTheOptionRefusesHasNone) {
  const CostSets sets = sets_of({{"fidelity", "analytic"}}, {{{"option", "board-idle"}, {"values", {1, 80}}}});
  EXPECT_EQ(sets.set_of.size(), 1u) << "a board at rest takes no less than its chip";
}

TEST(CostSets, ComeBackAsTheyWereWritten) {
  const CostSets sets = sets_of({{"fidelity", "analytic"}}, {{{"option", "board-idle"}, {"values", {80, 95.5}}},
                                                             {{"option", "dtype"}, {"values", {"f16", "s8"}}}});
  EXPECT_EQ(sets.set_of.size(), 4u);
  EXPECT_EQ(to_json(parse_cost_sets(to_json(sets), "r.sqlite")), to_json(sets));
}

std::vector<std::string> lines(const json& changes) {
  return evidence_lines(make_plan(changes).spec());
}

/// The parts of the lines before the mean error.
std::vector<std::string> places(const json& changes) {
  std::vector<std::string> result;
  for (const std::string& line : lines(changes)) {
    result.push_back(line.substr(0, line.find(';')));
  }
  return result;
}

TEST(SweepEvidence, HasALineForEachArchitectureAndOneForWhatVariesThem) {
  EXPECT_EQ(places({{"arch", {"a100-pcie-80gb", "t4"}}}),
            (std::vector<std::string>{"a100-pcie-80gb: f16 measured on this board",
                                      "t4: f16 measured on none of its generation, turing",
                                      "a point with another sms: measured on none, for it is a design of one's own."}));
  EXPECT_EQ(places({{"axes", {{{"option", "seed"}, {"values", {1, 2}}}}}}),
            (std::vector<std::string>{"a100-sxm4-80gb: f16 measured on its chip, GA100 (a100-pcie-80gb)"}));
}

TEST(SweepEvidence, IsOfTheFarthestTypeOfThePoints) {
  const auto of_type = [](const json& changes) {
    json whole{{"arch", "a100-pcie-80gb"}};
    whole.update(changes);
    return places(whole).front();
  };
  const std::string none = "a100-pcie-80gb: tf32 measured on none of its generation, ampere";
  EXPECT_EQ(of_type({{"options", json::object({{"dtype", "tf32"}})}}), none);
  EXPECT_EQ(of_type({{"axes", {{{"option", "dtype"}, {"values", {"f16", "tf32"}}}}}}), none);
  EXPECT_EQ(of_type({{"options", json::object({{"dtype", "bf16"}})}}), "a100-pcie-80gb: bf16 measured on this board");
  EXPECT_TRUE(lines({{"options", json::object({{"dtype", "f17"}})}}).empty()) << "its points say why they fail";
}

}  // namespace
}  // namespace sptc::sweep
