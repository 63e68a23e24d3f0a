// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/identify.h"

#include "models/base/random.h"
#include "models/numerics/codec.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sptc::check::vectors {
namespace {

using mma::MmaInstruction;

BitArray random_floats(std::vector<std::size_t> shape, numerics::DataType type, std::string_view label) {
  BitArray array = make_bit_array(std::move(shape), element_bytes(type));
  const base::RandomStream stream = base::RandomStream(11).fork(label);
  for (std::size_t i = 0; i < array.bits.size(); ++i) {
    // The stream has few fraction bits: a factor fills the mantissa of f32.
    array.bits[i] = numerics::from_double(stream.normal(i) * 1.2345678901, type);
  }
  return array;
}

MmaOperands operands_of(const MmaInstruction& instruction) {
  const auto k = static_cast<std::size_t>(instruction.shape.k);
  return {.a = random_floats({8, 8, k}, instruction.a_type, "a"),
          .b = random_floats({8, k, 8}, instruction.b_type, "b"),
          .c = random_floats({8, 8, 8}, instruction.accumulator, "c")};
}

std::set<std::string> architectures_of(std::string_view arch, std::string_view name) {
  const MmaInstruction instruction = mma::parse_instruction(name);
  const MmaOperands operands = operands_of(instruction);
  const BitArray d = execute(operands, instruction, mma::instruction_rules(mma::find_target(arch), instruction));
  const Identification found = identify(operands, std::nullopt, d, mma::Profile::kHardware);
  EXPECT_FALSE(found.nearest);
  std::set<std::string> architectures;
  for (const Candidate& match : found.matches) {
    architectures.insert(std::string(match.target.architecture));
  }
  return architectures;
}

TEST(Identify, TellsTheGenerationsOfHalfPrecisionApart) {
  using Names = std::set<std::string>;
  const std::string_view name = "m16n8k16.f32.f16.f16.f32";
  EXPECT_EQ(architectures_of("A100", name), (Names{"turing", "ampere", "ada"}));
  EXPECT_EQ(architectures_of("H100", name), (Names{"hopper", "blackwell", "rtx-blackwell"}));
  EXPECT_EQ(architectures_of("V100", "m8n8k4.f32.f16.f16.f32"), Names{"volta"});
}

TEST(Identify, TellsNativeAndLoweredFp8Apart) {
  using Names = std::set<std::string>;
  const std::string_view name = "m16n8k32.f32.e4m3.e4m3.f32";
  EXPECT_EQ(architectures_of("L40S", name), Names{"ada"});
  EXPECT_EQ(architectures_of("H100", name), (Names{"hopper", "blackwell"}));
}

TEST(Identify, NamesTheNearestWhereNothingFits) {
  const MmaInstruction instruction = mma::parse_instruction("m16n8k16.f32.f16.f16.f32");
  const MmaOperands operands = operands_of(instruction);
  BitArray d = execute(operands, instruction, mma::instruction_rules(mma::find_target("A100"), instruction));
  d.bits[7] ^= 1;
  const Identification found = identify(operands, std::nullopt, d, mma::Profile::kHardware);
  EXPECT_TRUE(found.matches.empty());
  ASSERT_TRUE(found.nearest);
  EXPECT_EQ(found.nearest->matching, found.elements - 1);
  EXPECT_NE(identify_text(found).find("511 of 512"), std::string::npos) << identify_text(found);
}

TEST(Identify, RefusesArraysThatNoInstructionTakes) {
  const MmaOperands odd{.a = make_bit_array({1, 4, 3}, 2), .b = make_bit_array({1, 3, 4}, 2), .c = {}};
  support::expect_input_error(
      [&] {
        identify(odd, std::nullopt, make_bit_array({1, 4, 4}, 4), mma::Profile::kHardware);
      },
      {"no matrix instruction"});
}

TEST(ParseGrouping, KnowsTwoHypotheses) {
  EXPECT_EQ(parse_grouping("H2"), mma::SparseGrouping::kLogical);
  support::expect_input_error([] { parse_grouping("H3"); }, {"'H3'", "H1, H2"});
}

}  // namespace
}  // namespace sptc::check::vectors
