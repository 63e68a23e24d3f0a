// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_evidence.h"

#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::sweep {
namespace {

using nlohmann::json;

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
            (std::vector<std::string>{
                "a100-pcie-80gb: f16 measured on this board",
                "t4: f16 measured on none of its generation, turing",
                "a point with another sms: measured on none, for it is a design of one's own."}));
  EXPECT_EQ(places({{"axes", {{{"option", "seed"}, {"values", {1, 2}}}}}}),
            (std::vector<std::string>{
                "a100-sxm4-80gb: f16 measured on its chip, GA100 (a100-pcie-80gb)"}));
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
  EXPECT_EQ(of_type({{"options", json::object({{"dtype", "bf16"}})}}),
            "a100-pcie-80gb: bf16 measured on this board");
  EXPECT_TRUE(lines({{"options", json::object({{"dtype", "f17"}})}}).empty())
      << "its points say why they fail";
}

}  // namespace
}  // namespace sptc::sweep
