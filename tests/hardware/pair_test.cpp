// SPDX-License-Identifier: Apache-2.0
//
// Which pairs the programme of pairs.csv times.
#include "tests/hardware/capture/pair_options.h"
#include "tests/hardware/capture/pair_programme.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sptc::hardware {
namespace {

using enum numerics::DataType;
using kernels::Algorithm;
using kernels::L2State;
using kernels::LaunchMode;

PairProgramme programme_of(std::vector<const char*> words, bool quick) {
  CLI::App app;
  PairOptions options;
  options.add_to(app);
  words.insert(words.begin(), "hardware_capture");
  app.parse(static_cast<int>(words.size()), words.data());
  return options.programme("tests", 7, quick);
}

TEST(Pairs, AreTimedUnderEveryConditionInTheFullProgramme) {
  const PairProgramme programme = programme_of({}, false);
  // Types of D, algorithms, states of the L2, ways of launching.
  EXPECT_EQ(pair_points(programme, kF16).size(), 2U * 2 * 3 * 3);
  EXPECT_EQ(pair_points(programme, kE4m3).size(), 4U * 2 * 3 * 3);
  EXPECT_EQ(programme.dtypes, (std::vector{kF16, kBf16, kS8, kE4m3}));
  EXPECT_EQ(programme.repetition, (kernels::Repetition{25, 50}));
  EXPECT_EQ(programme.time, std::chrono::minutes(8));
  EXPECT_EQ(programme.shapes, "tests/hardware/pair_shapes.csv");
}

TEST(Pairs, AreTimedWithOneUnusualConditionAtMostInTheQuickProgramme) {
  const PairProgramme programme = programme_of({}, true);
  EXPECT_EQ(programme.time, std::chrono::minutes(2));
  const L2State warm{L2State::Kind::kWarm, 1};
  const L2State cold{L2State::Kind::kCold, 1};
  const L2State rotate{L2State::Kind::kRotate, 6};
  const auto heuristic = Algorithm::kHeuristic;
  const std::vector<PairPoint> expected{
      {kS32, {warm, LaunchMode::kStream, heuristic, {}, std::nullopt}},
      {kS32, {warm, LaunchMode::kGraph, heuristic, {}, std::nullopt}},
      {kS32, {warm, LaunchMode::kEager, heuristic, {}, std::nullopt}},
      {kS32, {cold, LaunchMode::kStream, heuristic, {}, std::nullopt}},
      {kS32, {rotate, LaunchMode::kStream, heuristic, {}, std::nullopt}},
      {kS32, {warm, LaunchMode::kStream, Algorithm::kBest, {}, std::nullopt}},
      {kS8, {warm, LaunchMode::kStream, heuristic, {}, std::nullopt}}};
  EXPECT_EQ(pair_points(programme, kS8), expected);
}

TEST(Pairs, TakeTheConditionsThatAreNamed) {
  const PairProgramme programme = programme_of(
      {"--dtype", "e4m3,f16", "--d-dtype", "f32", "--l2", "rotate:3,cold,rotate:3", "--launch",
       "eager", "--algorithm", "best", "--warmup", "0", "--repeat", "9", "--pair-minutes", "1"},
      false);
  const std::vector<PairPoint> expected{
      {kF32, {{L2State::Kind::kRotate, 3}, LaunchMode::kEager, Algorithm::kBest, {}, std::nullopt}},
      {kF32, {{L2State::Kind::kCold, 1}, LaunchMode::kEager, Algorithm::kBest, {}, std::nullopt}}};
  EXPECT_EQ(programme.dtypes, (std::vector{kE4m3, kF16}));
  EXPECT_EQ(pair_points(programme, kE4m3), expected);
  EXPECT_EQ(pair_points(programme, kS8), std::vector<PairPoint>());
  EXPECT_EQ(programme.repetition, (kernels::Repetition{0, 9}));
  EXPECT_EQ(programme.time, std::chrono::minutes(1));
}

TEST(Pairs, RefuseConditionsThatDoNotExist) {
  const auto refuse = [](std::vector<const char*> words, const std::string& message) {
    support::expect_input_error([&] { programme_of(words, false); }, {message});
  };
  refuse({"--l2", "warm,hot"}, "unknown --l2 'hot'");
  refuse({"--l2", "rotate:0"}, "--l2: '0' weights cannot take turns");
  refuse({"--launch", "stream,batch"}, "unknown --launch 'batch'");
  refuse({"--algorithm", "worst"}, "unknown --algorithm 'worst'");
  refuse({"--dtype", "f64"}, "unknown --dtype 'f64'");
  refuse({"--d-dtype", "f64"}, "unknown --d-dtype 'f64'");
  refuse({"--dtype", "f16", "--d-dtype", "s8"}, "no operands of --dtype give results of s8");
  refuse({"--pair-shapes", "/nowhere.csv"}, "/nowhere.csv");
}

}  // namespace
}  // namespace sptc::hardware
