// SPDX-License-Identifier: Apache-2.0
#include "models/mma/register_map.h"

#include "models/base/random.h"
#include "models/sparsity/metadata_register.h"
#include "tests/support/fragments.h"
#include "tests/support/mma_operands.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace sptc::mma {
namespace {

std::vector<LaneRegister> random_registers(int count, const base::RandomStream& random) {
  std::vector<LaneRegister> registers(static_cast<std::size_t>(count));
  std::uint64_t index = 0;
  for (LaneRegister& reg : registers) {
    for (std::uint32_t& word : reg) {
      word = static_cast<std::uint32_t>(random.bits(index++));
    }
  }
  return registers;
}

base::Matrix<std::uint32_t> as_matrix(const std::vector<LaneRegister>& registers) {
  base::Matrix<std::uint32_t> matrix(registers.size(), kWarpLanes);
  for (std::size_t reg = 0; reg < registers.size(); ++reg) {
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
      matrix(reg, lane) = registers[reg][lane];
    }
  }
  return matrix;
}

std::uint32_t element(const std::uint32_t* words, std::size_t index, int bits) {
  const std::size_t bit = index * static_cast<std::size_t>(bits);
  return (words[bit / 32] >> (bit % 32)) & (0xFFFFFFFFU >> (32 - bits));
}

TEST(RegisterMap, GathersWhatTheFragmentLayoutsSay) {
  for (const MmaInstruction& instruction : ampere_instructions()) {
    const RegisterMap map(instruction);
    const base::RandomStream random = base::RandomStream(1).fork(instruction.ptx_name());
    const auto a = random_registers(map.a_registers(), random.fork("a"));
    const auto b = random_registers(map.b_registers(), random.fork("b"));
    const auto c = random_registers(map.accumulator_registers(), random.fork("c"));
    const auto e = random_registers(1, random.fork("e"));
    const int selectors = instruction.sparse ? sparsity::metadata_register_format(
                                                   instruction.a_type, instruction.shape.k)
                                                   .selectors()
                                             : 1;
    for (int selector = 0; selector < selectors; ++selector) {
      OperandWords words;
      std::memset(&words, 0, sizeof(words));
      map.gather({a.data(), b.data(), c.data(), instruction.sparse ? e.data() : nullptr, selector},
                 words);
      const int bits = numerics::storage_bits(instruction.a_type);
      const auto a_matrix =
          unpack_fragment(fragment_layout(instruction, FragmentOperand::kA), as_matrix(a));
      for (std::size_t i = 0; i < a_matrix.rows(); ++i) {
        for (std::size_t k = 0; k < a_matrix.cols(); ++k) {
          ASSERT_EQ(element(words.a[i], k, bits), a_matrix(i, k)) << instruction.ptx_name();
        }
      }
      const auto b_matrix =
          unpack_fragment(fragment_layout(instruction, FragmentOperand::kB), as_matrix(b));
      for (std::size_t k = 0; k < b_matrix.rows(); ++k) {
        for (std::size_t j = 0; j < b_matrix.cols(); ++j) {
          ASSERT_EQ(element(words.b[j], k, bits), b_matrix(k, j)) << instruction.ptx_name();
        }
      }
      const auto c_matrix = unpack_fragment(
          fragment_layout(instruction, FragmentOperand::kAccumulator), as_matrix(c));
      for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t j = 0; j < kCols; ++j) {
          ASSERT_EQ(words.c[i][j], c_matrix(i, j)) << instruction.ptx_name();
        }
      }
      if (instruction.sparse) {
        const auto nibbles = sparsity::read_metadata(
            sparsity::metadata_register_format(instruction.a_type, instruction.shape.k), selector,
            e[0]);
        for (std::size_t i = 0; i < kRows; ++i) {
          for (std::size_t g = 0; g < nibbles.cols(); ++g) {
            ASSERT_EQ(words.nibbles[i][g], nibbles(i, g)) << instruction.ptx_name();
          }
        }
      }
    }
  }
}

TEST(RegisterMap, GatherAfterScatterGivesTheSameAccumulators) {
  for (const MmaInstruction& instruction : ampere_instructions()) {
    const RegisterMap map(instruction);
    const int bits = numerics::storage_bits(instruction.accumulator);
    RoundedResults results;
    std::uint64_t seed = 0;
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kCols; ++j) {
        results.word[i][j] = static_cast<std::uint32_t>(base::mix_bits(seed++)) >> (32 - bits);
      }
    }
    std::vector<LaneRegister> registers(static_cast<std::size_t>(map.accumulator_registers()));
    map.scatter(results, registers.data());
    std::uint32_t words[kRows][kCols];
    map.gather_accumulators(registers.data(), words);
    EXPECT_EQ(std::memcmp(words, results.word, sizeof(words)), 0) << instruction.ptx_name();
  }
}

TEST(OperandRegisters, OfPtxInstructionsAreThoseOfTheirFragments) {
  for (const MmaInstruction& instruction : ampere_instructions()) {
    const RegisterMap map(instruction);
    const OperandRegisters registers = operand_registers(instruction);
    EXPECT_EQ(registers.a, map.a_registers()) << instruction.ptx_name();
    EXPECT_EQ(registers.b, map.b_registers()) << instruction.ptx_name();
    EXPECT_EQ(registers.accumulator, map.accumulator_registers()) << instruction.ptx_name();
    EXPECT_EQ(registers.metadata, instruction.sparse ? 1 : 0) << instruction.ptx_name();
    if (instruction.sparse) {
      EXPECT_EQ(
          registers.metadata_selectors,
          sparsity::metadata_register_format(instruction.a_type, instruction.shape.k).selectors());
    }
  }
}

TEST(OperandRegisters, OfOtherPatternsGrowWithTheColumnsThatMeetAKeptElement) {
  const auto of = [](sparsity::Pattern pattern) {
    return operand_registers(gemm_instruction(numerics::DataType::kF16, true, {}, pattern));
  };
  EXPECT_EQ(of({2, 4, 1}).b, 4);
  EXPECT_EQ(of({2, 8, 1}).b, 8);
  EXPECT_EQ(of({1, 4, 1}).b, 8);
  EXPECT_EQ(of({4, 8, 1}).b, 4);
  EXPECT_EQ(of({2, 8, 1}).metadata, 1);
  EXPECT_EQ(of({2, 8, 1}).metadata_selectors, 1) << "768 of 1024 bits";
  EXPECT_EQ(of({6, 8, 1}).a, 6) << "24 kept elements: whole groups in whole steps";
  EXPECT_EQ(of({6, 8, 1}).metadata, 2) << "16 rows of 72 bits";
}

}  // namespace
}  // namespace sptc::mma
