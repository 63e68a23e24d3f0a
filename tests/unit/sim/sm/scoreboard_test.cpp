// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/scoreboard.h"

#include "sim/isa/prepared_program.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace sptc::sm {
namespace {

isa::WarpInstruction load(isa::RegisterRange d) {
  isa::WarpInstruction instruction;
  instruction.opcode = isa::Opcode::kLoadMatrix;
  instruction.d = d;
  return instruction;
}

isa::WarpInstruction mma(isa::RegisterRange d, isa::RegisterRange a, isa::RegisterRange b,
                         isa::RegisterRange metadata = {}) {
  isa::WarpInstruction instruction;
  instruction.d = instruction.c = d;
  instruction.a = a;
  instruction.b = b;
  instruction.metadata = metadata;
  return instruction;
}

/// A scoreboard for the instructions of `code`.
class Board {
 public:
  explicit Board(const std::vector<isa::WarpInstruction>& code)
      : program_(program_of(code)), scoreboard(program_) {}

  const isa::WarpInstruction& operator[](std::size_t index) const { return program_.loop[index]; }
  bool can_issue(std::size_t index) const { return scoreboard.ready_at((*this)[index]) == 0; }
  std::int64_t ready_at(std::size_t index) const { return scoreboard.ready_at((*this)[index]); }

 private:
  static isa::WarpProgram program_of(const std::vector<isa::WarpInstruction>& code) {
    isa::WarpProgram program;
    program.loop = code;
    return isa::prepared(program);
  }
  isa::WarpProgram program_;

 public:
  Scoreboard scoreboard;
};

TEST(Scoreboard, HoldsAReadBackUntilTheWriteIsDone) {
  Board board({load({8, 4}), mma({0, 4}, {8, 4}, {16, 2}), mma({0, 4}, {11, 4}, {16, 2}),
               mma({0, 4}, {16, 4}, {10, 2}), mma({0, 4}, {16, 4}, {20, 2}, {9, 1}),
               mma({8, 4}, {16, 4}, {20, 2}), mma({0, 4}, {12, 4}, {16, 2})});
  board.scoreboard.issue(board[0]);
  EXPECT_EQ(board.ready_at(1), Scoreboard::kUnknown);
  EXPECT_FALSE(board.can_issue(2)) << "an overlap of one register";
  EXPECT_FALSE(board.can_issue(3));
  EXPECT_FALSE(board.can_issue(4));
  EXPECT_FALSE(board.can_issue(5));
  EXPECT_TRUE(board.can_issue(6));
  board.scoreboard.written(board[0], 0);
  EXPECT_TRUE(board.can_issue(1));
}

TEST(Scoreboard, HoldsAWriteBackUntilTheReadsBeforeItAreDone) {
  Board board(
      {mma({0, 4}, {8, 4}, {16, 2}), mma({4, 4}, {8, 4}, {18, 2}), load({8, 4}), load({16, 2})});
  board.scoreboard.issue(board[0]);
  board.scoreboard.issue(board[1]);
  EXPECT_FALSE(board.can_issue(2));
  board.scoreboard.sources_read(board[0], 0);
  EXPECT_FALSE(board.can_issue(2)) << "the second instruction still reads it";
  EXPECT_TRUE(board.can_issue(3));
  board.scoreboard.sources_read(board[1], 0);
  EXPECT_TRUE(board.can_issue(2));
}

TEST(Scoreboard, HoldsAWriteBackUntilTheWriteBeforeItIsDone) {
  Board board({load({8, 4}), load({11, 4}), load({12, 4})});
  board.scoreboard.issue(board[0]);
  EXPECT_FALSE(board.can_issue(1));
  EXPECT_TRUE(board.can_issue(2));
  board.scoreboard.written(board[0], 0);
  EXPECT_TRUE(board.can_issue(1));
}

TEST(Scoreboard, LetsAnInstructionOverwriteItsOwnSource) {
  const Board board({mma({0, 4}, {8, 4}, {16, 2})});
  EXPECT_TRUE(board.can_issue(0));
}

TEST(Scoreboard, KnowsTheCycleOfWhatPassesWithoutAReport) {
  // Two matrix instructions on one A, a load of both B, and one of something else.
  Board board(
      {mma({0, 4}, {16, 4}, {24, 2}), mma({4, 4}, {16, 4}, {26, 2}), load({24, 4}), load({20, 4})});
  board.scoreboard.pass(board[0], 5, 30);
  EXPECT_EQ(board.ready_at(0), 30) << "it reads and writes the same accumulators";
  EXPECT_EQ(board.ready_at(1), 0);
  board.scoreboard.pass(board[1], 9, 34);
  EXPECT_EQ(board.ready_at(2), 9) << "until the later of the two has read its B";
  EXPECT_EQ(board.ready_at(3), 0);
  EXPECT_EQ(board.scoreboard.idle_at(), 34);
  board.scoreboard.pass(board[2], 0, 40);
  EXPECT_EQ(board.ready_at(1), 40);
}

TEST(Scoreboard, IsIdleWhenEveryResultHasArrived) {
  Board board({load({8, 4})});
  EXPECT_EQ(board.scoreboard.idle_at(), 0);
  board.scoreboard.issue(board[0]);
  EXPECT_EQ(board.scoreboard.idle_at(), Scoreboard::kUnknown);
  board.scoreboard.written(board[0], 0);
  EXPECT_EQ(board.scoreboard.idle_at(), 0);
}

TEST(Scoreboard, RefusesAReadThatNobodyWaitsForAndAProgramThatIsNotPrepared) {
  Board board({mma({0, 4}, {8, 4}, {16, 2})});
  EXPECT_THROW(board.scoreboard.sources_read(board[0], 0), base::InternalError);
  EXPECT_THROW(Scoreboard(isa::WarpProgram{}), base::InternalError);
}

isa::WarpInstruction numbered(int number, bool skip = false) {
  isa::WarpInstruction instruction;
  instruction.where.row = number;
  instruction.tiles_ahead = skip ? 1 : 0;
  return instruction;
}

std::vector<std::pair<int, std::int64_t>> walk(const isa::WarpProgram& program) {
  std::vector<std::pair<int, std::int64_t>> seen;
  for (isa::WarpCursor cursor(program); !cursor.done(); cursor.advance()) {
    seen.emplace_back(cursor.instruction().where.row, cursor.iteration());
  }
  return seen;
}

TEST(WarpCursor, WalksPrologueLoopAndEpilogueAndSkipsInTheLastIteration) {
  isa::WarpProgram program;
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
}  // namespace sptc::sm
