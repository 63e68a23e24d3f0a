// SPDX-License-Identifier: Apache-2.0
// Published words of an A100 and of MMA-Sim against both implementations of the arithmetic.
// README.md says where the words come from and which are left out.
#include "models/base/error.h"
#include "tests/golden/numerics/npy.h"
#include "tests/support/contract_oracle.h"
#include "tests/support/mma_operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sptc::mma {
namespace {

using golden::NpyWords;
using numerics::DataType;

NpyWords read(const std::string& name) {
  return NpyWords(std::string(SPTC_SOURCE_DIR) + "/tests/golden/numerics/" + name + ".npy");
}

StepContext context_of(const MmaInstruction& instruction) {
  return {instruction, step_rules("ampere", instruction)};
}

MmaInstruction instruction_of(DataType operand, DataType accumulator, int k, bool sparse) {
  const std::vector<MmaInstruction> all = ampere_instructions();
  const MmaInstruction wanted{{16, 8, k}, operand, operand, accumulator, sparse};
  EXPECT_NE(std::find(all.begin(), all.end(), wanted), all.end()) << wanted.ptx_name();
  return wanted;
}

struct Comparison {
  int compared = 0;
  int mismatches = 0;
  int left_out = 0;

  void compare(numerics::Word expected, numerics::Word plain, numerics::Word stages) {
    compared += 1;
    mismatches += plain != expected || stages != expected ? 1 : 0;
  }
};

// --- real hardware
// ---------------------------------------------------------------------------------------------------

// One dot product of one step per case: sixteen cases fill the rows of an instruction, the diagonal
// of D is read.
Comparison compare_hardware(const std::string& file, DataType operand, DataType accumulator) {
  const NpyWords a = read("hw_A100/" + file + ".A");
  const NpyWords b = read("hw_A100/" + file + ".B");
  const NpyWords c = read("hw_A100/" + file + ".C");
  const NpyWords d = read("hw_A100/" + file + ".D_" + std::string(numerics::name(accumulator)));
  const std::size_t k = a.shape[1];
  const auto context = context_of(instruction_of(operand, accumulator, static_cast<int>(k), false));
  Comparison result;
  for (std::size_t first = 0; first < d.words.size(); first += kCols) {
    MmaOperands operands(context.instruction);
    for (std::size_t i = 0; i < kCols; ++i) {
      for (std::size_t t = 0; t < k; ++t) {
        operands.a(i, t) = a.words[(first + i) * k + t];
        operands.b(t, i) = b.words[(first + i) * k + t];
      }
      const numerics::Word c_word = c.words[first + i];
      operands.c(i, i) =
          accumulator == DataType::kF32
              ? c_word
              : numerics::from_double(numerics::to_double(c_word, DataType::kF32), accumulator);
    }
    const auto plain = run_plain(context, operands);
    const auto stages = run_stages(context, operand_words(context.instruction, operands));
    for (std::size_t i = 0; i < kCols; ++i) {
      result.compare(d.words[first + i], plain(i, i), stages(i, i));
    }
  }
  return result;
}

void expect_all_hardware_words(const std::string& file, DataType operand, DataType accumulator) {
  const Comparison result = compare_hardware(file, operand, accumulator);
  EXPECT_EQ(result.compared, 600);
  EXPECT_EQ(result.mismatches, 0);
}

TEST(HardwareWords, A100F16ToF32) {
  expect_all_hardware_words("f16", DataType::kF16, DataType::kF32);
}
TEST(HardwareWords, A100F16ToF16) {
  expect_all_hardware_words("f16", DataType::kF16, DataType::kF16);
}
TEST(HardwareWords, A100Bf16ToF32) {
  expect_all_hardware_words("bf16", DataType::kBf16, DataType::kF32);
}
TEST(HardwareWords, A100Tf32ToF32) {
  expect_all_hardware_words("tf32", DataType::kTf32, DataType::kF32);
}

// --- MMA-Sim, dense
// --------------------------------------------------------------------------------------------------

MmaOperands operands_of_case(const MmaInstruction& instruction, std::size_t index,
                             const NpyWords& a, const NpyWords& b, const NpyWords& c) {
  MmaOperands operands(instruction);
  for (std::size_t i = 0; i < a.shape[1]; ++i) {  // rows are independent; some files hold eight
    for (std::size_t k = 0; k < a.shape[2]; ++k) {
      operands.a(i, k) = a.at(index, i, k);
    }
    for (std::size_t j = 0; j < kCols; ++j) {
      operands.c(i, j) = c.at(index, i, j);
    }
  }
  for (std::size_t k = 0; k < b.shape[1]; ++k) {
    for (std::size_t j = 0; j < kCols; ++j) {
      operands.b(k, j) = b.at(index, k, j);
    }
  }
  return operands;
}

std::string file_name(const std::string& family, const MmaInstruction& instruction) {
  const std::string operand(numerics::name(instruction.a_type));
  const std::string accumulator(numerics::name(instruction.accumulator));
  return family + "m16n8k" + std::to_string(instruction.shape.k) + "." + accumulator + "." +
         operand + "." + operand + "." + accumulator;
}

Comparison compare_dense(const MmaInstruction& instruction) {
  const std::string file = file_name("Ampere/mma.", instruction);
  const NpyWords a = read(file + ".A");
  const NpyWords b = read(file + ".B");
  const NpyWords c = read(file + ".C");
  const NpyWords d = read(file + ".D");
  const NpyWords contested = read(file + ".contested");
  const auto context = context_of(instruction);
  Comparison result;
  for (std::size_t n = 0; n < d.shape[0]; ++n) {
    const MmaOperands operands = operands_of_case(instruction, n, a, b, c);
    const auto plain = run_plain(context, operands);
    const auto stages = run_stages(context, operand_words(instruction, operands));
    for (std::size_t i = 0; i < d.shape[1]; ++i) {
      for (std::size_t j = 0; j < kCols; ++j) {
        const std::size_t bit = i * kCols + j;
        if (((contested.words[n * contested.shape[1] + bit / 8] >> (bit % 8)) & 1) != 0) {
          ++result.left_out;
        } else {
          result.compare(d.at(n, i, j), plain(i, j), stages(i, j));
        }
      }
    }
  }
  return result;
}

struct DenseSet {
  DataType operand;
  DataType accumulator;
  int k;
  int elements;
  int contested;
};

class MmaSimWords : public testing::TestWithParam<DenseSet> {};

TEST_P(MmaSimWords, EqualOursOutsideTheContestedElements) {
  const DenseSet& set = GetParam();
  const Comparison result =
      compare_dense(instruction_of(set.operand, set.accumulator, set.k, false));
  EXPECT_EQ(result.mismatches, 0);
  EXPECT_EQ(result.compared, set.elements - set.contested);
  EXPECT_EQ(result.left_out, set.contested);
}

INSTANTIATE_TEST_SUITE_P(Ampere, MmaSimWords,
                         testing::Values(DenseSet{DataType::kF16, DataType::kF32, 8, 3840, 25},
                                         DenseSet{DataType::kF16, DataType::kF32, 16, 7680, 44},
                                         DenseSet{DataType::kF16, DataType::kF16, 8, 3840, 0},
                                         DenseSet{DataType::kF16, DataType::kF16, 16, 3840, 0},
                                         DenseSet{DataType::kBf16, DataType::kF32, 8, 3840, 223},
                                         DenseSet{DataType::kBf16, DataType::kF32, 16, 3840, 254},
                                         DenseSet{DataType::kTf32, DataType::kF32, 4, 3840, 231},
                                         DenseSet{DataType::kTf32, DataType::kF32, 8, 7680, 341}),
                         [](const testing::TestParamInfo<DenseSet>& set) {
                           return std::string(numerics::name(set.param.operand)) + "_" +
                                  std::string(numerics::name(set.param.accumulator)) + "_k" +
                                  std::to_string(set.param.k);
                         });

// --- MMA-Sim's step on gathered operands, sparse
// ------------------------------------------------------------------------

// The nibble that names the kept elements `first` and `second` of a group of four, or the kept half
// of a pair.
std::uint8_t nibble_of(const NpyWords& idx, std::size_t n, std::size_t row, std::size_t group,
                       bool halves) {
  if (halves) {
    return idx.at(n, row, group) % 2 == 0 ? 0b0100 : 0b1110;
  }
  return static_cast<std::uint8_t>(idx.at(n, row, 2 * group) % 4 |
                                   (idx.at(n, row, 2 * group + 1) % 4) << 2);
}

Comparison compare_sparse(const MmaInstruction& instruction) {
  const std::string file = file_name("Ampere/mmasp.", instruction);
  const NpyWords a = read(file + ".A");
  const NpyWords b = read(file + ".B");
  const NpyWords c = read(file + ".C");
  const NpyWords d = read(file + ".D_H1");
  const NpyWords idx = read(file + ".idx");
  const auto context = context_of(instruction);
  Comparison result;
  for (std::size_t n = 0; n < d.shape[0]; ++n) {
    MmaOperands operands = operands_of_case(instruction, n, a, b, c);
    for (std::size_t i = 0; i < a.shape[1]; ++i) {
      for (std::size_t g = 0; g < operands.nibbles.cols(); ++g) {
        operands.nibbles(i, g) = nibble_of(idx, n, i, g, instruction.a_type == DataType::kTf32);
      }
    }
    const auto plain = run_plain(context, operands);
    const auto stages = run_stages(context, operand_words(instruction, operands));
    for (std::size_t i = 0; i < d.shape[1]; ++i) {
      for (std::size_t j = 0; j < kCols; ++j) {
        std::vector<std::uint32_t> gathered;
        for (std::size_t t = 0; t < a.shape[2]; ++t) {
          gathered.push_back(b.at(n, idx.at(n, i, t), j));
        }
        const auto by_rule = [&](oracle::ZeroRule rule) {
          return oracle::dot(operands.a.row(i), gathered, operands.c(i, j), instruction, rule);
        };
        // The vectors follow MMA-Sim's zero rule and know no floor.
        EXPECT_EQ(by_rule(oracle::ZeroRule::kMmaSim), d.at(n, i, j));
        if (by_rule(oracle::ZeroRule::kMmaSim) != by_rule(oracle::ZeroRule::kIgnored)) {
          ++result.left_out;
        } else {
          result.compare(d.at(n, i, j), plain(i, j), stages(i, j));
        }
      }
    }
  }
  return result;
}

class SparseWords : public testing::TestWithParam<DenseSet> {};

TEST_P(SparseWords, EqualOursWithStepsOfCompressedElements) {
  const DenseSet& set = GetParam();
  const Comparison result =
      compare_sparse(instruction_of(set.operand, set.accumulator, set.k, true));
  EXPECT_EQ(result.mismatches, 0);
  EXPECT_EQ(result.compared, set.elements - set.contested);
  EXPECT_EQ(result.left_out, set.contested);
}

INSTANTIATE_TEST_SUITE_P(Ampere, SparseWords,
                         testing::Values(DenseSet{DataType::kF16, DataType::kF32, 16, 1920, 0},
                                         DenseSet{DataType::kF16, DataType::kF32, 32, 1920, 47},
                                         DenseSet{DataType::kF16, DataType::kF16, 32, 1920, 0},
                                         DenseSet{DataType::kBf16, DataType::kF32, 16, 1920, 126},
                                         DenseSet{DataType::kBf16, DataType::kF32, 32, 1920, 93},
                                         DenseSet{DataType::kTf32, DataType::kF32, 8, 1920, 80},
                                         DenseSet{DataType::kTf32, DataType::kF32, 16, 1920, 116}),
                         [](const testing::TestParamInfo<DenseSet>& set) {
                           return std::string(numerics::name(set.param.operand)) + "_" +
                                  std::string(numerics::name(set.param.accumulator)) + "_k" +
                                  std::to_string(set.param.k);
                         });

// --- integers
// ------------------------------------------------------------------------------------------------------

TEST(IntegerWords, S8WrapsModulo2To32) {
  const std::string file = "Integer/m16n8k32.s32.s8.s8.s32";
  const NpyWords a = read(file + ".A");
  const NpyWords b = read(file + ".B");
  const NpyWords c = read(file + ".C");
  const NpyWords d = read(file + ".D_wrap");
  const auto context = context_of(instruction_of(DataType::kS8, DataType::kS32, 32, false));
  Comparison result;
  for (std::size_t n = 0; n < d.shape[0]; ++n) {
    const MmaOperands operands = operands_of_case(context.instruction, n, a, b, c);
    const auto plain = run_plain(context, operands);
    const auto stages = run_stages(context, operand_words(context.instruction, operands));
    for (std::size_t i = 0; i < d.shape[1]; ++i) {
      for (std::size_t j = 0; j < kCols; ++j) {
        result.compare(d.at(n, i, j), plain(i, j), stages(i, j));
      }
    }
  }
  EXPECT_EQ(result.mismatches, 0);
  EXPECT_EQ(result.compared, 18 * 8 * 8);
}

}  // namespace
}  // namespace sptc::mma
