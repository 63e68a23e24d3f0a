// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/register_banks.h"

#include <gtest/gtest.h>

namespace sptc::tensor_core {
namespace {

TensorCoreSpec banks(int count, double bytes_per_cycle, int reuse) {
  TensorCoreSpec spec;
  spec.register_banks = count;
  spec.register_bank_bytes_per_cycle = bytes_per_cycle;
  spec.reuse_registers = reuse;
  return spec;
}

// m16n8k16 of f16 into f32: A in four registers, B in two, C in four.
isa::WarpInstruction mma(int a, int b, int c) {
  isa::WarpInstruction instruction;
  instruction.a = {a, 4};
  instruction.b = {b, 2};
  instruction.c = {c, 4};
  return instruction;
}

constexpr double kOneRegister = 128;  // bytes of 32 lanes

TEST(RegisterBanks, BlockTheNextInstructionUntilTheBusiestBankIsFree) {
  RegisterBanks file(banks(2, kOneRegister, 0));
  EXPECT_EQ(file.ready_at(0, file.demand(0, mma(0, 8, 16))), 0);
  file.read(0, file.demand(0, mma(0, 8, 16)));  // five registers in each bank
  EXPECT_EQ(file.ready_at(4, file.demand(0, mma(32, 40, 48))), 5);
  EXPECT_EQ(file.ready_at(5, file.demand(0, mma(32, 40, 48))), 5);
}

TEST(RegisterBanks, WhatThePortsKeepIsNotReadAgainByTheSameWarp) {
  RegisterBanks file(banks(1, kOneRegister, 4));
  EXPECT_EQ(file.demand(0, mma(0, 8, 16)).most_of_a_bank(), 10);
  file.read(0, file.demand(0, mma(0, 8, 16)));
  EXPECT_EQ(file.demand(0, mma(0, 10, 20)).most_of_a_bank(), 6);  // the same A
  file.read(10, file.demand(0, mma(0, 10, 20)));
  EXPECT_EQ(file.ready_at(15, file.demand(0, mma(0, 10, 24))), 16);
  EXPECT_EQ(file.ready_at(16, file.demand(0, mma(0, 10, 24))), 16);
  EXPECT_EQ(file.demand(1, mma(0, 10, 24)).most_of_a_bank(), 10);  // another warp
}

TEST(RegisterBanks, WhatIsWrittenIsReadAgain) {
  const auto read_after = [](int slot, const isa::RegisterRange& written) {
    RegisterBanks file(banks(1, kOneRegister, 4));
    file.read(0, file.demand(0, mma(0, 8, 16)));
    file.overwrite(slot, written);
    return file.demand(0, mma(0, 8, 16)).most_of_a_bank();
  };
  constexpr int kC = 4;  // never kept
  EXPECT_EQ(read_after(0, {4, 4}), kC) << "between A and B";
  EXPECT_EQ(read_after(0, {10, 8}), kC) << "behind B";
  EXPECT_EQ(read_after(0, {3, 1}), kC + 4) << "the last register of A";
  EXPECT_EQ(read_after(0, {4, 5}), kC + 2) << "up to the first register of B";
  EXPECT_EQ(read_after(0, {0, 10}), kC + 4 + 2);
  EXPECT_EQ(read_after(1, {0, 10}), kC) << "of another warp";
}

TEST(RegisterBanks, OfAnyNumberTakeRegistersInTurn) {
  RegisterBanks file(banks(3, kOneRegister, 0));
  isa::WarpInstruction one;
  one.a = {1, 1};
  file.read(0, file.demand(0, one));
  for (const int other : {0, 2, 3, 5}) {
    one.a = {other, 1};
    EXPECT_EQ(file.ready_at(0, file.demand(0, one)), 0) << other;
  }
  one.a = {4, 1};
  EXPECT_EQ(file.ready_at(0, file.demand(0, one)), 1);
}

TEST(RegisterBanks, KeepNoMoreRegistersThanThereIsRoomFor) {
  RegisterBanks file(banks(1, kOneRegister, 2));
  file.read(0, file.demand(0, mma(0, 8, 16)));
  EXPECT_EQ(file.demand(0, mma(0, 8, 16)).most_of_a_bank(), 10 - 4);  // two of A, both of B
}

}  // namespace
}  // namespace sptc::tensor_core
