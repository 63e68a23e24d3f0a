// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/evidence.h"
#include "sim/config/architecture.h"
#include "tests/support/environment.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sptc::check::times {
namespace {

using numerics::DataType;
using Where = run::EvidenceDistance::Where;

run::RunResult result_of(DataType type) {
  run::RunResult result;
  run::OperationResult& op = result.operations.emplace_back();
  op.dtype = type;
  op.dense.emplace().timing.time_us = 2;
  op.sparse.emplace().timing.time_us = 1;
  return result;
}

run::EvidenceDistance distance(const std::string& board, DataType type) {
  return evidence_distance(result_of(type), config::load_architecture(board));
}

TEST(EvidenceDistance, IsThatOfTheNearestBoardWithPairsOfTheType) {
  const auto measured = distance("a100-pcie-80gb", DataType::kF16);
  EXPECT_EQ(measured.where, Where::kBoard);
  EXPECT_EQ(measured.chip, "GA100");
  EXPECT_EQ(measured.generation, "ampere");
  const auto on_chip = distance("a100-sxm4-80gb", DataType::kF16);
  EXPECT_EQ(on_chip.where, Where::kChip);
  EXPECT_EQ(on_chip.boards, (std::vector<std::string>{"a100-pcie-80gb"}));
  EXPECT_EQ(distance("a100-sxm4-80gb-mig-1g.10gb", DataType::kF16).where, Where::kChip);
  const auto on_generation = distance("a40", DataType::kF16);
  EXPECT_EQ(on_generation.where, Where::kGeneration);
  EXPECT_EQ(on_generation.chip, "GA102");
  EXPECT_EQ(distance("t4", DataType::kF16).where, Where::kNone);
  EXPECT_TRUE(distance("t4", DataType::kF16).boards.empty());
  // An H100 PCIe has pairs, but none of f16.
  EXPECT_EQ(distance("h100-pcie", DataType::kBf16).where, Where::kBoard);
  EXPECT_EQ(distance("h100-pcie", DataType::kF16).where, Where::kChip);
  EXPECT_EQ(distance("b200", DataType::kE2m1).where, Where::kNone);
}

TEST(EvidenceDistance, OfSeveralTypesTheFarthestCountsAndOfDenseLaunchesNoneBesideGains) {
  run::RunResult result = result_of(DataType::kF16);
  result.operations.push_back(result_of(DataType::kTf32).operations.front());
  const config::Architecture board = config::load_architecture("a100-pcie-80gb");
  EXPECT_EQ(evidence_distance(result, board).type, DataType::kTf32);
  EXPECT_EQ(evidence_distance(result, board).where, Where::kNone);
  result.operations.back().sparse.reset();
  EXPECT_EQ(evidence_distance(result, board).type, DataType::kF16);
  EXPECT_EQ(evidence_distance(result, board).where, Where::kBoard);
  result.operations.erase(result.operations.begin());
  EXPECT_EQ(evidence_distance(result, board).type, DataType::kTf32);
  EXPECT_EQ(evidence_distance(std::set{DataType::kF16, DataType::kTf32}, board).where, Where::kNone);
  EXPECT_EQ(evidence_distance(std::set{DataType::kF16}, board).where, Where::kBoard);
}

TEST(EvidenceDistance, OfADesignOfOnesOwnIsNoneAndABoardNamesItsChip) {
  const std::string number = R"("sms": {"value": 54, "evidence": "assumed", "source": "for this test"}})";
  const auto of = [&](const std::string& head) {
    return evidence_distance(result_of(DataType::kF16),
                             config::parse_architecture("{" + head + ", " + number, "mine.json"));
  };
  const auto design = of(R"("base": "a100-sxm4-80gb", "name": "mine")");
  EXPECT_TRUE(design.own_design);
  EXPECT_EQ(design.where, Where::kNone);
  const std::string board = R"("base": "a100-sxm4-80gb", "name": "mine", "board": true)";
  EXPECT_FALSE(of(board).own_design);
  EXPECT_EQ(of(board).chip, "") << "its base may be another chip";
  EXPECT_EQ(of(board).where, Where::kGeneration);
  EXPECT_EQ(of(board + R"(, "chip": "GA100")").where, Where::kChip);
}

TEST(EvidenceDistance, ReadsItsErrorsWhereTheyAreKnown) {
  const auto text = [](const std::string& board) {
    return R"({"distances": {"board": {"mean_error_percent": )" + board +
           R"(}, "chip": {"mean_error_percent": null}, "generation": {"mean_error_percent": 12.5},
               "none": {"mean_error_percent": 0, "pairs": 3, "boards": ["x"]}}})";
  };
  const ErrorsByDistance errors = parse_errors_by_distance(text("9"), "d.json");
  EXPECT_EQ(errors, (ErrorsByDistance{9, std::nullopt, 12.5, 0}));
  support::expect_input_error([&] { parse_errors_by_distance(text("-1"), "d.json"); },
                              {"d.json: /distances/board/mean_error_percent: must be a number from "
                               "0, or null where it is not known, not -1"});
  support::expect_input_error([&] { parse_errors_by_distance(R"({"distances": {}})", "d.json"); }, {"'board'"});
  const support::TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "evidence");
  support::put_file(directory.path() / "evidence" / "distance.json", text("9"));
  const support::Environment variable("SPTCSIM_CONFIG_DIR", directory.path().c_str());
  EXPECT_EQ(distance("a100-pcie-80gb", DataType::kF16).mean_error_percent, 9);
  EXPECT_EQ(distance("a40", DataType::kF16).mean_error_percent, 12.5);
  EXPECT_FALSE(distance("a100-sxm4-80gb", DataType::kF16).mean_error_percent);
}

}  // namespace
}  // namespace sptc::check::times
