// SPDX-License-Identifier: Apache-2.0
// Three statements of the same arithmetic agree bit for bit: the stages of the data path, the plain
// step arithmetic, and exact integers of any size that share no code with either.
#include "models/base/random.h"
#include "models/mma/stages.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "tests/support/contract_oracle.h"
#include "tests/support/mma_operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sptc::mma {
namespace {

constexpr int kCasesPerKind = 8;

struct Counts {
  int words = 0;
  int nan = 0, infinite = 0, subnormal = 0, zero = 0;

  void add(numerics::Word word, numerics::DataType type) {
    ++words;
    const auto& format = numerics::info(type).format;
    if (!format) {
      return;
    }
    const auto value = numerics::unpack(word, *format);
    nan += value.kind == numerics::Unpacked::Class::kNan ? 1 : 0;
    infinite += value.kind == numerics::Unpacked::Class::kInfinity ? 1 : 0;
    zero += value.is_zero() ? 1 : 0;
    subnormal += value.kind == numerics::Unpacked::Class::kFinite && !value.is_zero() &&
                         (value.significand >> format->mantissa_bits) == 0
                     ? 1
                     : 0;
  }
};

numerics::Word oracle_element(const StepContext& context, const MmaOperands& operands, std::size_t row,
                              std::size_t col) {
  std::vector<std::uint32_t> b;
  for (std::size_t t = 0; t < operands.a.cols(); ++t) {
    const std::size_t k =
        context.instruction.sparse ? oracle::logical_k(context.instruction.a_type, operands.nibbles.row(row), t) : t;
    b.push_back(operands.b(k, col));
  }
  return oracle::dot(operands.a.row(row), b, operands.c(row, col), context.instruction);
}

Counts expect_agreement(const MmaInstruction& instruction) {
  const StepContext context(instruction, step_rules("ampere", instruction));
  const base::RandomStream random = base::RandomStream(20261121).fork(instruction.ptx_name());
  Counts counts;
  std::uint64_t number = 0;
  for (const WordKind kind : kWordKinds) {
    for (const WordKind c_kind : kWordKinds) {
      for (int i = 0; i < kCasesPerKind; ++i, ++number) {
        const MmaOperands operands = random_operands(instruction, kind, c_kind, random.fork(std::to_string(number)));
        const base::Matrix<numerics::Word> stages = run_stages(context, operand_words(instruction, operands));
        EXPECT_EQ(stages, run_plain(context, operands)) << instruction.ptx_name() << " " << number;
        for (std::size_t row = 0; row < kRows; ++row) {
          const std::size_t col = (row + number) % kCols;
          EXPECT_EQ(stages(row, col), oracle_element(context, operands, row, col))
              << instruction.ptx_name() << " case " << number << " at " << row << "," << col;
          counts.add(stages(row, col), instruction.accumulator);
        }
      }
    }
  }
  return counts;
}

TEST(StagesProperty, StagesPlainArithmeticAndExactIntegersAgreeForEveryInstruction) {
  for (const MmaInstruction& instruction : ampere_instructions()) {
    const Counts counts = expect_agreement(instruction);
    EXPECT_EQ(counts.words, 5 * 5 * kCasesPerKind * kRows) << instruction.ptx_name();
    if (numerics::info(instruction.a_type).is_float()) {
      EXPECT_GT(counts.nan, 100) << instruction.ptx_name();
      EXPECT_GT(counts.infinite, 10) << instruction.ptx_name();
      // f16 products are never below 2^-48, far from the subnormals of f32.
      if (instruction.a_type == numerics::DataType::kF16 && instruction.accumulator == numerics::DataType::kF32) {
        EXPECT_EQ(counts.subnormal, 0) << instruction.ptx_name();
      } else {
        EXPECT_GT(counts.subnormal, 20) << instruction.ptx_name();
      }
    }
  }
}

TEST(StagesProperty, CancellationLeavesWhatTheAlignmentKept) {
  for (const MmaInstruction& instruction : ampere_instructions()) {
    const StepContext context(instruction, step_rules("ampere", instruction));
    for (std::uint64_t number = 0; number < 40; ++number) {
      MmaOperands operands =
          random_operands(instruction, WordKind::kNarrow, WordKind::kNarrow,
                          base::RandomStream(7).fork(instruction.ptx_name()).fork(std::to_string(number)));
      // Neighbours along k meet the same B with opposite signs, but for the last place of one.
      const int sign = numerics::storage_bits(instruction.a_type) - 1;
      for (std::size_t row = 0; row < kRows; ++row) {
        for (std::size_t t = 0; t + 1 < operands.a.cols(); t += 2) {
          operands.a(row, t + 1) = operands.a(row, t) ^ (1U << sign) ^ (row % 2);
        }
      }
      const base::Matrix<numerics::Word> stages = run_stages(context, operand_words(instruction, operands));
      ASSERT_EQ(stages, run_plain(context, operands));
      for (std::size_t row = 0; row < kRows; ++row) {
        ASSERT_EQ(stages(row, row % kCols), oracle_element(context, operands, row, row % kCols));
      }
    }
  }
}

TEST(StagesProperty, SumsBelowTheFloorOfTheLargestExponentAgree) {
  for (const MmaInstruction& instruction : ampere_instructions()) {
    const StepContext context(instruction, step_rules("ampere", instruction));
    if (context.rules.is_integer() ||
        (instruction.a_type == numerics::DataType::kF16 && *context.rules.exponent_floor < -48)) {
      continue;  // products of f16 never come near the floor of f32
    }
    // Products of exponents around the floor and no accumulator above it.
    const numerics::FloatFormat& format = *numerics::info(instruction.a_type).format;
    const int low_bits = format.mantissa_bits + format.discarded_low_bits;
    const numerics::Word fields = ((1U << format.exponent_bits) - 1) << low_bits;
    for (std::uint64_t number = 0; number < 60; ++number) {
      const base::RandomStream random = base::RandomStream(23).fork(std::to_string(number));
      MmaOperands operands = random_operands(instruction, WordKind::kNarrow, WordKind::kNarrow, random);
      std::uint64_t index = 1 << 20;
      for (auto* matrix : {&operands.a, &operands.b}) {
        for (std::size_t i = 0; i < matrix->size(); ++i) {
          const int below = static_cast<int>(random.below(index++, 8));
          const int exponent = std::max(*context.rules.exponent_floor / 2 - below, format.min_exponent());
          const int field = exponent + format.bias();
          matrix->data()[i] = (matrix->data()[i] & ~fields) | static_cast<numerics::Word>(field) << low_bits;
        }
      }
      operands.c = base::Matrix<numerics::Word>(kRows, kCols);
      const base::Matrix<numerics::Word> stages = run_stages(context, operand_words(instruction, operands));
      ASSERT_EQ(stages, run_plain(context, operands));
      for (std::size_t row = 0; row < kRows; ++row) {
        ASSERT_EQ(stages(row, row % kCols), oracle_element(context, operands, row, row % kCols));
      }
    }
  }
}

}  // namespace
}  // namespace sptc::mma
