// SPDX-License-Identifier: Apache-2.0
#include "sim/isa/prepared_program.h"

#include "sim/isa/add_instruction.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace sptc::sm {
namespace {

bool same(const isa::RegisterRange& range, int first_part, int parts) {
  return range.first_part == first_part && range.parts == parts;
}

TEST(PreparedProgram, ARangeIsDividedWhereAnotherInstructionNamesSomeOfIt) {
  isa::WarpProgram program;
  isa::add(program.prologue, isa::Opcode::kLoadMatrix).d = {8, 4};
  isa::WarpInstruction& mma = isa::add(program.loop, isa::Opcode::kMma);
  mma.d = mma.c = {0, 4};
  mma.a = {8, 2};
  mma.b = {10, 2};
  const isa::WarpProgram divided = isa::prepared(program);
  // 0-3, 4-7 that nobody names, 8-9, 10-11.
  EXPECT_TRUE(same(divided.loop[0].c, 0, 1));
  EXPECT_TRUE(same(divided.loop[0].a, 2, 1));
  EXPECT_TRUE(same(divided.loop[0].b, 3, 1));
  EXPECT_TRUE(same(divided.prologue[0].d, 2, 2));
  EXPECT_TRUE(same(divided.loop[0].metadata, 2, 0)) << "without any: that of A";
  EXPECT_TRUE(divided.loop[0].in_single_parts);
  EXPECT_FALSE(divided.prologue[0].in_single_parts);
  EXPECT_GE(divided.register_parts, 4);
}

TEST(PreparedProgram, EpiloguesCountTooAndTheProducerHasItsOwn) {
  isa::WarpProgram producer;
  isa::add(producer.loop, isa::Opcode::kLoadGlobal).d = {0, 8};
  isa::WarpProgram program;
  isa::add(program.loop, isa::Opcode::kMma).d = {0, 8};
  isa::add(program.partial_epilogue, isa::Opcode::kStoreAccumulator).c = {0, 4};
  program.producer = std::make_shared<const isa::WarpProgram>(producer);
  const isa::WarpProgram divided = isa::prepared(program);
  EXPECT_TRUE(same(divided.loop[0].d, 0, 2));
  EXPECT_TRUE(same(divided.partial_epilogue[0].c, 0, 1));
  EXPECT_TRUE(same(divided.producer->loop[0].d, 0, 1));
}

isa::WarpInstruction mma(int b_registers) {
  isa::WarpInstruction instruction;
  instruction.d = instruction.c = {0, 4};
  instruction.a = {8, 4};
  instruction.b = {12, b_registers};
  return instruction;
}

TEST(PreparedProgram, AMatrixInstructionKnowsHowManyLikeItFollow) {
  isa::WarpProgram program;
  program.loop = {mma(2), mma(2), mma(2), mma(4), mma(4)};
  isa::add(program.loop, isa::Opcode::kBarrier);
  program.loop.push_back(mma(4));
  std::vector<int> runs;
  for (const isa::WarpInstruction& instruction : isa::prepared(program).loop) {
    runs.push_back(instruction.run);
  }
  EXPECT_EQ(runs, (std::vector<int>{3, 2, 1, 2, 1, 0, 1}));
}

}  // namespace
}  // namespace sptc::sm
