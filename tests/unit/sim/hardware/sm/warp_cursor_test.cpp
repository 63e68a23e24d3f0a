// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/isa/warp_instruction.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::sm {
namespace {

isa::WarpInstruction marked(int row, int ahead = 0) {
  isa::WarpInstruction instruction;
  instruction.where.row = row;
  instruction.tiles_ahead = ahead;
  return instruction;
}

enum Mark { kPrologue, kLoop, kCopyAhead, kPartial, kFixUp, kEpilogue };

isa::WarpProgram program(bool persistent) {
  isa::WarpProgram result;
  result.prologue = {marked(kPrologue)};
  result.loop = {marked(kLoop), marked(kCopyAhead, 1)};
  result.partial_epilogue = {marked(kPartial)};
  result.fix_up = {marked(kFixUp)};
  result.epilogue = {marked(kEpilogue)};
  result.iterations = 2;
  result.persistent = persistent;
  return result;
}

/// What a warp executes: a letter per instruction with the iteration of the loop.
std::string trace(isa::WarpCursor cursor) {
  std::string text;
  for (; !cursor.done(); cursor.advance()) {
    const int mark = cursor.instruction().where.row;
    text += "plcsfe"[mark] + std::to_string(cursor.iteration()) + " ";
  }
  return text;
}

TEST(WarpCursor, WalksOneTileWithoutCopiesBeyondItsEnd) {
  EXPECT_EQ(trace(isa::WarpCursor(program(false))), "p0 l0 c0 l1 e1 ");
  isa::WarpProgram none = program(false);
  none.iterations = 0;
  EXPECT_EQ(trace(isa::WarpCursor(none)), "p0 e0 ");
}

TEST(WarpCursor, WalksEverySegmentAndEndsEachAsItsPartOfTheTileAsks) {
  const std::vector<isa::WorkSegment> work{{0, 3, 2, false, 0}, {1, 0, 1, true, 0}, {2, 0, 1, true, 2}};
  EXPECT_EQ(trace(isa::WarpCursor(program(false), work)), "p0 l0 c0 l1 s1 p2 l2 e2 p3 l3 f3 f3 e3 ");
}

TEST(WarpCursor, APersistentProgramCopiesForTheNextTileBeforeItStoresTheLast) {
  const std::vector<isa::WorkSegment> work{{0, 0, 2, true, 0}, {1, 0, 2, true, 0}};
  EXPECT_EQ(trace(isa::WarpCursor(program(true), work)), "p0 l0 c0 l1 c1 e1 l2 c2 l3 e3 ");
}

}  // namespace
}  // namespace sptc::sm
