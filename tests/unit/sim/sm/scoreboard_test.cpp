// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/scoreboard.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sptc::sim {
namespace {

WarpInstruction load(RegisterRange d) {
  WarpInstruction instruction;
  instruction.opcode = Opcode::kLoadMatrix;
  instruction.d = d;
  return instruction;
}

WarpInstruction mma(RegisterRange d, RegisterRange a, RegisterRange b,
                    RegisterRange metadata = {}) {
  WarpInstruction instruction;
  instruction.d = instruction.c = d;
  instruction.a = a;
  instruction.b = b;
  instruction.metadata = metadata;
  return instruction;
}

TEST(Scoreboard, HoldsAReadBackUntilTheWriteIsDone) {
  Scoreboard scoreboard;
  const WarpInstruction producer = load({8, 4});
  scoreboard.issue(producer);
  EXPECT_FALSE(scoreboard.can_issue(mma({0, 4}, {8, 4}, {16, 2})));
  EXPECT_FALSE(scoreboard.can_issue(mma({0, 4}, {11, 4}, {16, 2}))) << "an overlap of one register";
  EXPECT_FALSE(scoreboard.can_issue(mma({0, 4}, {16, 4}, {10, 2})));
  EXPECT_FALSE(scoreboard.can_issue(mma({0, 4}, {16, 4}, {20, 2}, {9, 1})));
  EXPECT_FALSE(scoreboard.can_issue(mma({8, 4}, {16, 4}, {20, 2})));
  EXPECT_TRUE(scoreboard.can_issue(mma({0, 4}, {12, 4}, {16, 2})));
  scoreboard.written(producer);
  EXPECT_TRUE(scoreboard.can_issue(mma({0, 4}, {8, 4}, {16, 2})));
}

TEST(Scoreboard, HoldsAWriteBackUntilTheReadsBeforeItAreDone) {
  Scoreboard scoreboard;
  const WarpInstruction first = mma({0, 4}, {8, 4}, {16, 2});
  const WarpInstruction second = mma({4, 4}, {8, 4}, {18, 2});
  scoreboard.issue(first);
  scoreboard.issue(second);
  EXPECT_FALSE(scoreboard.can_issue(load({8, 4})));
  scoreboard.sources_read(first);
  EXPECT_FALSE(scoreboard.can_issue(load({8, 4}))) << "the second instruction still reads it";
  EXPECT_TRUE(scoreboard.can_issue(load({16, 2})));
  scoreboard.sources_read(second);
  EXPECT_TRUE(scoreboard.can_issue(load({8, 4})));
}

TEST(Scoreboard, HoldsAWriteBackUntilTheWriteBeforeItIsDone) {
  Scoreboard scoreboard;
  const WarpInstruction first = load({8, 4});
  scoreboard.issue(first);
  EXPECT_FALSE(scoreboard.can_issue(load({11, 4})));
  EXPECT_TRUE(scoreboard.can_issue(load({12, 4})));
  scoreboard.written(first);
  EXPECT_TRUE(scoreboard.can_issue(load({11, 4})));
}

TEST(Scoreboard, LetsAnInstructionOverwriteItsOwnSource) {
  const Scoreboard scoreboard;
  EXPECT_TRUE(scoreboard.can_issue(mma({0, 4}, {8, 4}, {16, 2})));
}

TEST(Scoreboard, IsIdleWhenEveryResultHasArrived) {
  Scoreboard scoreboard;
  EXPECT_TRUE(scoreboard.idle());
  const WarpInstruction producer = load({8, 4});
  scoreboard.issue(producer);
  EXPECT_FALSE(scoreboard.idle());
  scoreboard.written(producer);
  EXPECT_TRUE(scoreboard.idle());
}

TEST(Scoreboard, RefusesAReadThatNobodyWaitsFor) {
  Scoreboard scoreboard;
  EXPECT_THROW(scoreboard.sources_read(mma({0, 4}, {8, 4}, {16, 2})), InternalError);
}

WarpInstruction numbered(int number, bool skip = false) {
  WarpInstruction instruction;
  instruction.where.row = number;
  instruction.tiles_ahead = skip ? 1 : 0;
  return instruction;
}

std::vector<std::pair<int, std::int64_t>> walk(const WarpProgram& program) {
  std::vector<std::pair<int, std::int64_t>> seen;
  for (WarpCursor cursor(program); !cursor.done(); cursor.advance()) {
    seen.emplace_back(cursor.instruction().where.row, cursor.iteration());
  }
  return seen;
}

TEST(WarpCursor, WalksPrologueLoopAndEpilogueAndSkipsInTheLastIteration) {
  WarpProgram program;
  program.prologue = {numbered(1)};
  program.loop = {numbered(2), numbered(3, true)};
  program.epilogue = {numbered(4)};
  program.iterations = 3;
  using Steps = std::vector<std::pair<int, std::int64_t>>;
  EXPECT_EQ(walk(program), (Steps{{1, 0}, {2, 0}, {3, 0}, {2, 1}, {3, 1}, {2, 2}, {4, 2}}));
  program.iterations = 1;
  EXPECT_EQ(walk(program), (Steps{{1, 0}, {2, 0}, {4, 0}}));
  program.iterations = 0;
  EXPECT_EQ(walk(program), (Steps{{1, 0}, {4, 0}}));
  program.prologue.clear();
  program.epilogue.clear();
  EXPECT_TRUE(walk(program).empty());
}

}  // namespace
}  // namespace sptc::sim
