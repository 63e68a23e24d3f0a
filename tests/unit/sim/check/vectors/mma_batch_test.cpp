// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/mma_batch.h"

#include "models/mma/catalogue.h"
#include "sim/check/vectors/diagnosis.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sptc::check::vectors {
namespace {

using mma::MmaInstruction;
using numerics::DataType;

BitArray filled(std::vector<std::size_t> shape, int bytes, std::uint64_t bits) {
  BitArray array = make_bit_array(std::move(shape), bytes);
  std::fill(array.bits.begin(), array.bits.end(), bits);
  return array;
}

const MmaInstruction kF16 = mma::parse_instruction("m16n8k16.f32.f16.f16.f32");

MmaOperands ones(std::size_t k = 16) {
  return {.a = filled({2, 3, k}, 2, 0x3C00), .b = filled({2, k, 5}, 2, 0x3C00), .c = filled({2, 3, 5}, 4, 0x3F800000)};
}

TEST(BitArray, SurvivesTheWayThroughAFile) {
  const support::TemporaryDirectory directory;
  for (const int bytes : {1, 2, 4, 8}) {
    BitArray array = make_bit_array({2, 3, 5}, bytes);
    for (std::size_t i = 0; i < array.bits.size(); ++i) {
      array.bits[i] = 0x8877665544332211ULL >> (64 - 8 * bytes);
    }
    write_bit_array((directory.path() / "x.npy"), array);
    const BitArray read = read_bit_array((directory.path() / "x.npy"));
    EXPECT_EQ(read.shape, array.shape);
    EXPECT_EQ(read.element_bytes, bytes);
    EXPECT_EQ(read.bits, array.bits);
  }
}

TEST(Execute, WorksOnEveryCaseRowAndColumn) {
  const mma::StepRules rules = mma::instruction_rules(mma::find_target("A100"), kF16);
  const BitArray d = execute(ones(), kF16, rules);
  EXPECT_EQ(d.shape, (std::vector<std::size_t>{2, 3, 5}));
  EXPECT_EQ(d.bits, std::vector<std::uint64_t>(30, 0x41880000));  // 17
}

TEST(Execute, RunsOverSeveralDepthsOfTheInstruction) {
  const mma::StepRules rules = mma::instruction_rules(mma::find_target("A100"), kF16);
  EXPECT_EQ(execute(ones(32), kF16, rules).bits, std::vector<std::uint64_t>(30, 0x42040000));
}

TEST(Execute, NeverLooksAtElementsOfBThatAreNotSelected) {
  const MmaInstruction sparse = mma::parse_instruction("mma.sp.m16n8k16.f32.f16.f16.f32");
  MmaOperands operands = ones();
  operands.a = filled({2, 3, 8}, 2, 0x3C00);
  operands.indices = make_bit_array({2, 3, 8}, 4);
  for (std::size_t i = 0; i < operands.indices->bits.size(); ++i) {
    operands.indices->bits[i] = i % 8 * 2;  // 0, 2 of every four
  }
  for (std::size_t k = 1; k < 16; k += 2) {
    for (std::size_t column = 0; column < 5; ++column) {
      operands.b.bits[k * 5 + column] = 0x7E00;  // NaN
    }
  }
  const mma::StepRules rules = mma::instruction_rules(mma::find_target("A100"), sparse);
  EXPECT_EQ(execute(operands, sparse, rules).bits, std::vector<std::uint64_t>(30, 0x41100000));
}

TEST(Execute, EqualsThePlainArithmeticWhateverTheIndices) {
  const MmaInstruction sparse = mma::parse_instruction("mma.sp.m16n8k16.f32.f16.f16.f32");
  MmaOperands operands = ones();
  operands.a = filled({2, 3, 8}, 2, 0x3C00);
  operands.indices = make_bit_array({2, 3, 8}, 4);
  for (std::size_t i = 0; i < operands.a.bits.size(); ++i) {
    operands.a.bits[i] += 37 * i;
    // In increasing order, turned round, and in case 1 also of another group, which no metadata names.
    operands.indices->bits[i] = i % 8 / 2 * 4 + (i % 3 == 0 ? 3 - i % 2 : i % 2 + i % 3 - 1);
  }
  for (std::size_t i = 0; i < operands.b.bits.size(); ++i) {
    operands.b.bits[i] += 41 * i % 0x800;
  }
  operands.indices->bits.back() = 0;
  const mma::StepRules rules = mma::instruction_rules(mma::find_target("A100"), sparse);
  const BitArray d = execute(operands, sparse, rules);
  for (std::size_t i = 0; i < d.bits.size(); ++i) {
    const DotOperands of_element = dot_operands(operands, sparse, i / 15, i / 5 % 3, i % 5);
    EXPECT_EQ(d.bits[i], dot(of_element, sparse, rules)) << i;
  }
}

/// [1, 2, 64] by [1, k, 3] of ones, with `scales` scales of 1 per row and column.
MmaOperands nvfp4_ones(std::size_t k, std::size_t scales) {
  MmaOperands operands{
      .a = filled({1, 2, 64}, 1, 0x2), .b = filled({1, k, 3}, 1, 0x2), .c = filled({1, 2, 3}, 4, 0x3F800000)};
  operands.a_scales = filled({1, 2, scales}, 1, 0x38);
  operands.b_scales = filled({1, scales, 3}, 1, 0x38);
  return operands;
}

TEST(Execute, TakesTheScalesOfRowsAndColumns) {
  const MmaInstruction nvfp4 =
      mma::parse_instruction("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3");
  const mma::StepRules rules = mma::instruction_rules(mma::find_target("RTX 50"), nvfp4);
  MmaOperands operands = nvfp4_ones(64, 4);
  operands.a_scales->bits[4 + 3] = 0x40;      // 2 for the last block of row 1
  operands.b_scales->bits[3 * 3 + 2] = 0x48;  // 4 for the last block of column 2
  require_operands(operands, nvfp4, "x");
  EXPECT_EQ(execute(operands, nvfp4, rules).bits,
            (std::vector<std::uint64_t>{0x42820000, 0x42820000, 0x42E20000,     // 65, 65, 113
                                        0x42A20000, 0x42A20000, 0x43310000}));  // 81, 81, 177
}

TEST(Execute, GivesSparseInstructionsAScaleForStoredElements) {
  const MmaInstruction nvfp4 = mma::parse_instruction(
      "mma.sp::ordered_metadata.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1."
      "f32.ue4m3");
  const mma::StepRules rules = mma::instruction_rules(mma::find_target("RTX 50"), nvfp4);
  MmaOperands operands = nvfp4_ones(128, 4);
  operands.indices = make_bit_array({1, 2, 64}, 4);
  for (std::size_t i = 0; i < operands.indices->bits.size(); ++i) {
    const std::size_t t = i % 64;
    operands.indices->bits[i] = 8 * (t / 4) + t % 4 / 2 * 6 + t % 2;  // the first and last pair
  }
  for (std::size_t k = 0; k < 128; ++k) {
    if (k % 8 > 1 && k % 8 < 6) {
      operands.b.bits[3 * k] = 0x7;  // not selected
    }
  }
  operands.b_scales->bits[3] = 0x40;  // 2 for logical k 32 to 63 of column 0
  require_operands(operands, nvfp4, "x");
  EXPECT_EQ(execute(operands, nvfp4, rules).bits,
            (std::vector<std::uint64_t>{0x42A20000, 0x42820000, 0x42820000,  // 81, 65, 65
                                        0x42A20000, 0x42820000, 0x42820000}));
  operands.b_scales = filled({1, 8, 3}, 1, 0x38);
  support::expect_input_error([&] { require_operands(operands, nvfp4, "x"); },
                              {"the scales of B must be [1, 4, 3] of 1 bytes each"});
}

TEST(RequireOperands, RefusesWhatTheInstructionDoesNotTake) {
  const auto refused = [](MmaOperands operands, const MmaInstruction& instruction, std::string_view part) {
    support::expect_input_error([&] { require_operands(operands, instruction, "x"); }, {"x: ", part});
  };
  MmaOperands operands = ones();
  operands.b = filled({2, 8, 5}, 2, 0);
  refused(operands, kF16, "B must be [2, 16, 5]");
  operands = ones();
  operands.c = filled({2, 3, 5}, 2, 0);
  refused(operands, kF16, "C must be [2, 3, 5] of 4 bytes");
  operands = ones();
  operands.a = filled({3, 16}, 2, 0);
  refused(operands, kF16, "three axes");
  refused(ones(8), kF16, "no multiple of the 16");
  operands = ones();
  operands.indices = operands.a;
  refused(operands, kF16, "takes no metadata");
  MmaInstruction sparse = kF16;
  sparse.sparse = true;
  operands = ones();
  operands.a = filled({2, 3, 8}, 2, 0);
  refused(operands, sparse, "needs metadata");
  operands.indices = filled({2, 3, 8}, 4, 16);
  refused(operands, sparse, "index 16 of A is outside B");
  MmaInstruction scaled = kF16;
  scaled.scales = mma::kMxf8f6f4Scales;
  refused(ones(), scaled, "needs scales");
}

// Of both spellings the bits are equal where both have a meaning.
TEST(RequireOperands, TakesIndicesOutOfOrderForTheSpellingThatAllowsThem) {
  const std::string rest = ".m16n8k16.f32.f16.f16.f32";
  const MmaInstruction plain = mma::parse_instruction("mma.sp" + rest);
  const MmaInstruction ordered = mma::parse_instruction("mma.sp::ordered_metadata" + rest);
  MmaOperands operands = ones();
  operands.a = filled({2, 3, 8}, 2, 0x3C00);
  operands.a.bits[1] = 0x4000;
  operands.indices = make_bit_array({2, 3, 8}, 4);
  for (std::size_t i = 0; i < operands.indices->bits.size(); ++i) {
    operands.indices->bits[i] = i % 8 / 2 * 4 + i % 2 * 3;  // 0 and 3 of each group
  }
  const mma::StepRules rules = mma::instruction_rules(mma::find_target("RTX 50"), plain);
  for (const MmaInstruction& instruction : {plain, ordered}) {
    EXPECT_NO_THROW(require_operands(operands, instruction, "x"));
    EXPECT_EQ(execute(operands, instruction, rules).bits, execute(operands, plain, rules).bits);
  }
  std::swap(operands.indices->bits[8 + 2], operands.indices->bits[8 + 3]);
  EXPECT_NO_THROW(require_operands(operands, plain, "x"));
  support::expect_input_error(
      [&] { require_operands(operands, ordered, "x"); },
      {"x: case 0, row 1: the indices 7 and 4 of a group do not rise: .sp::ordered_metadata leaves "
       "such a D undefined (PTX ISA), .sp does not"});
}

TEST(Diagnose, NamesTheStepThatDiffers) {
  const mma::StepRules rules = mma::instruction_rules(mma::find_target("A100"), kF16);
  MmaOperands operands = ones();
  operands.c = filled({2, 3, 5}, 4, 0);
  operands.b.bits[0] = 0x0801;      // 1 x (2^-13 and a bit): a sum that f32 holds, others shift it out
  operands.c.bits[0] = 0x4B800000;  // 2^24
  const DotOperands dot_of = dot_operands(operands, kF16, 0, 0, 0);
  mma::StepRules other = rules;
  other.rounding = mma::OutputRounding::kNearestEven;
  const std::uint64_t nearest = dot(dot_of, kF16, other);
  ASSERT_NE(nearest, dot(dot_of, kF16, rules));
  const Diagnosis why = diagnose(dot_of, kF16, rules, nearest);
  EXPECT_NE(why.step.find("output rounding"), std::string::npos) << why.step;
  EXPECT_EQ(why.trace.size(), 2U);
  EXPECT_NE(diagnose(dot_of, kF16, rules, 0x7FFFFFFF).step.find("special values"), std::string::npos);
}

}  // namespace
}  // namespace sptc::check::vectors
