// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/register_times.h"

#include "sim/isa/add_instruction.h"
#include "sim/isa/register_parts.h"

#include <gtest/gtest.h>

#include <memory>

namespace sptc::sim {
namespace {

bool same(const RegisterRange& range, int first_part, int parts) {
  return range.first_part == first_part && range.parts == parts;
}

TEST(RegisterParts, ARangeIsDividedWhereAnotherInstructionNamesSomeOfIt) {
  WarpProgram program;
  add(program.prologue, Opcode::kLoadMatrix).d = {8, 4};
  WarpInstruction& mma = add(program.loop, Opcode::kMma);
  mma.d = mma.c = {0, 4};
  mma.a = {8, 2};
  mma.b = {10, 2};
  const WarpProgram divided = with_register_parts(program);
  // 0-3, 4-7 that nobody names, 8-9, 10-11.
  EXPECT_TRUE(same(divided.loop[0].c, 0, 1));
  EXPECT_TRUE(same(divided.loop[0].a, 2, 1));
  EXPECT_TRUE(same(divided.loop[0].b, 3, 1));
  EXPECT_TRUE(same(divided.prologue[0].d, 2, 2));
  EXPECT_TRUE(same(divided.loop[0].metadata, 0, 0));
  EXPECT_GE(divided.register_parts, 4);
}

TEST(RegisterParts, EpiloguesCountTooAndTheProducerHasItsOwn) {
  WarpProgram producer;
  add(producer.loop, Opcode::kLoadGlobal).d = {0, 8};
  WarpProgram program;
  add(program.loop, Opcode::kMma).d = {0, 8};
  add(program.partial_epilogue, Opcode::kStoreAccumulator).c = {0, 4};
  program.producer = std::make_shared<const WarpProgram>(producer);
  const WarpProgram divided = with_register_parts(program);
  EXPECT_TRUE(same(divided.loop[0].d, 0, 2));
  EXPECT_TRUE(same(divided.partial_epilogue[0].c, 0, 1));
  EXPECT_TRUE(same(divided.producer->loop[0].d, 0, 1));
}

/// D = A B + C into registers `d`, from `a` and `b`.
WarpInstruction mma(int d, int a, int b) {
  WarpInstruction instruction;
  instruction.d = instruction.c = {d, 4};
  instruction.a = {a, 4};
  instruction.b = {b, 2};
  return instruction;
}

class Times : public testing::Test {
 protected:
  /// A program of two matrix instructions on one A, and loads of B and of something else.
  Times() {
    WarpProgram program;
    program.loop = {mma(0, 16, 24), mma(4, 16, 26)};
    add(program.loop, Opcode::kLoadMatrix).d = {24, 4};
    add(program.loop, Opcode::kLoadMatrix).d = {20, 4};
    program_ = with_register_parts(program);
    times_ = RegisterTimes(program_);
  }
  const WarpInstruction& first() const { return program_.loop[0]; }
  const WarpInstruction& second() const { return program_.loop[1]; }
  const WarpInstruction& load() const { return program_.loop[2]; }
  const WarpInstruction& other_load() const { return program_.loop[3]; }

  WarpProgram program_;
  RegisterTimes times_;
};

TEST_F(Times, AResultIsWaitedForByThoseWhoReadOrWriteIt) {
  times_.pass(first(), 5, 30);
  EXPECT_EQ(times_.ready_at(first()), 30);  // reads and writes the same accumulators
  EXPECT_EQ(times_.ready_at(second()), 0);
  times_.pass(load(), 0, 40);  // B of both
  EXPECT_EQ(times_.ready_at(second()), 40);
  EXPECT_EQ(times_.idle_at(), 40);
}

TEST_F(Times, SourcesAreWaitedForByThoseWhoWriteThem) {
  times_.pass(first(), 5, 30);
  times_.pass(second(), 9, 34);
  EXPECT_EQ(times_.ready_at(load()), 9);  // until the later of the two has read
  EXPECT_EQ(times_.ready_at(other_load()), 0);
}

TEST(RegisterTimes, AProgramWhoseRegistersAreNotDividedIsRefused) {
  EXPECT_THROW(RegisterTimes(WarpProgram{}), InternalError);
}

}  // namespace
}  // namespace sptc::sim
