// SPDX-License-Identifier: Apache-2.0
//
// mxf4 and mxf4nvf4 against the two published models, written down once more in exact integers:
// that of sf-tensor (sm_100) with the units that it names, and MMA-Sim (sm_120). Examples by hand
// show where the two part.
#include "models/base/random.h"
#include "models/mma/catalogue.h"
#include "models/mma/dot_step.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "tests/support/scaled_fp4_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace sptc::mma {
namespace {

using numerics::DataType;
using numerics::ScaleType;
using numerics::Word;
using oracle::mma_sim;
using oracle::ScaledCase;
using oracle::sf_tensor;

constexpr Word kNan = 0x7FFFFFFF;
constexpr Word kInfinity = 0x7F800000;
constexpr Word kOneUe4m3 = 0x38;

// Random operands --------------------------------------------------------------------------------

/// Where the exponents of scales and of C lie.
enum class Spread {
  kAnywhere,  ///< all bytes and words
  kNear,      ///< within 45 of each other
  kTiny,      ///< scales near 2^-150, C mostly zero
};
constexpr std::array kSpreads{Spread::kAnywhere, Spread::kNear, Spread::kTiny};

struct Generator {
  base::RandomStream random;
  std::uint64_t index = 0;

  std::uint64_t bits() { return random.bits(index++); }
  int below(int bound) { return static_cast<int>(bits() % static_cast<std::uint64_t>(bound)); }

  Word element(bool few) { return few && below(4) != 0 ? Word{0} : static_cast<Word>(below(16)); }

  Word scale_byte(ScaleType type, Spread spread) {
    if (type == ScaleType::kUe4m3 && below(4) == 0) {
      return static_cast<Word>(below(2)) << 7;
    }
    if (spread == Spread::kAnywhere || type == ScaleType::kUe4m3) {
      const auto byte = static_cast<Word>(below(256));
      return spread == Spread::kAnywhere || (byte & 0x7F) != 0x7F ? byte : kOneUe4m3;
    }
    return static_cast<Word>((spread == Spread::kTiny ? 48 : 127) + below(24) - below(24));
  }

  Word addend(Spread spread) {
    const auto word = static_cast<Word>(bits());
    switch (below(8)) {
      case 0:
        return word & 0x80000000;
      case 1:
        return word & 0x807FFFFF;
      case 2:
        return spread == Spread::kAnywhere ? word | 0x7F800000 : word & 0xC0000000;
      default:
        break;
    }
    if (spread == Spread::kNear) {
      return (word & 0x807FFFFF) | static_cast<Word>(127 + below(45) - below(45)) << 23;
    }
    return spread == Spread::kTiny ? Word{0} : word;
  }

  ScaledCase operator()(const BlockScales& scales, Spread spread, std::size_t depth) {
    ScaledCase one;
    const bool few = below(3) == 0;
    for (std::size_t k = 0; k < depth; ++k) {
      one.a.push_back(element(few));
      one.b.push_back(element(few));
    }
    for (std::size_t k = 0; k < depth; k += static_cast<std::size_t>(scales.block)) {
      one.a_scales.push_back(scale_byte(scales.type, spread));
      one.b_scales.push_back(scale_byte(scales.type, spread));
    }
    one.c = addend(spread);
    return one;
  }
};

/// What an instruction computes; `selected` of B where it is sparse.
Word computed(const ScaledCase& one, const std::vector<Word>& selected, const MmaInstruction& instruction,
              const StepRules& rules) {
  return block_scaled_dot(one.a, selected, one.a_scales, one.b_scales, one.c, instruction, rules);
}

std::vector<BlockScales> all_scales() {
  std::vector<BlockScales> all{kMxf4Scales};
  all.insert(all.end(), kMxf4nvf4Scales.begin(), kMxf4nvf4Scales.end());
  return all;
}

MmaInstruction instruction_of(std::string_view architecture, const BlockScales& scales, bool sparse) {
  const bool tcgen05 = architecture == "blackwell";
  return {.shape = {tcgen05 ? 128 : 16, 8, sparse ? 128 : 64},
          .a_type = DataType::kE2m1,
          .b_type = DataType::kE2m1,
          .accumulator = DataType::kF32,
          .sparse = sparse,
          .family = tcgen05 ? MmaFamily::kTcgen05 : MmaFamily::kMma,
          .scales = scales};
}

/// Compares many words of every kind of scales; dense and sparse differ in nothing but the name.
template <typename Model>
void expect_model(std::string_view architecture, Profile profile, const Model& model) {
  constexpr int kCases = 500;
  for (const BlockScales& scales : all_scales()) {
    for (const bool sparse : {false, true}) {
      const MmaInstruction instruction = instruction_of(architecture, scales, sparse);
      SCOPED_TRACE(instruction.ptx_name());
      const StepRules rules = with_profile(instruction_rules(find_target(architecture), instruction), profile);
      Generator generate{base::RandomStream(5).fork(instruction.ptx_name())};
      for (const Spread spread : kSpreads) {
        for (int i = 0; i < kCases; ++i) {
          const ScaledCase one = generate(scales, spread, 64);
          ASSERT_EQ(computed(one, one.b, instruction, rules), model(one, scales))
              << i << " of spread " << static_cast<int>(spread);
        }
      }
    }
  }
}

TEST(BlockScaledFp4, IsTheModelOfSfTensorOnB200) {
  expect_model("blackwell", Profile::kHardware, sf_tensor);
}

TEST(BlockScaledFp4, IsMmaSimOnRtxBlackwellButForItsZeros) {
  expect_model("rtx-blackwell", Profile::kHardware,
               [](const ScaledCase& one, const BlockScales& scales) { return mma_sim(one, scales, false); });
}

TEST(BlockScaledFp4, IsMmaSimOnBothWithItsProfile) {
  const auto model = [](const ScaledCase& one, const BlockScales& scales) { return mma_sim(one, scales, true); };
  expect_model("rtx-blackwell", Profile::kMmaSim, model);
  expect_model("blackwell", Profile::kMmaSim, model);
}

TEST(BlockScaledFp4, TakesOneInstructionAfterTheOther) {
  Generator generate{base::RandomStream(6)};
  for (const BlockScales& scales : all_scales()) {
    const MmaInstruction instruction = instruction_of("blackwell", scales, false);
    const StepRules rules = step_rules("blackwell", instruction);
    for (int i = 0; i < 50; ++i) {
      const ScaledCase first = generate(scales, Spread::kNear, 64);
      ScaledCase second = generate(scales, Spread::kNear, 64);
      ScaledCase both = first;
      const auto append = [](std::vector<Word>& to, const std::vector<Word>& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(both.a, second.a);
      append(both.b, second.b);
      append(both.a_scales, second.a_scales);
      append(both.b_scales, second.b_scales);
      second.c = sf_tensor(first, scales);
      EXPECT_EQ(computed(both, both.b, instruction, rules), sf_tensor(second, scales));
    }
  }
}

// Sparse instructions count scales and products in elements of A as stored; the metadata name
// pairs.
TEST(BlockScaledFp4, OfASparseInstructionIsTheDenseOneOnTheSelectedElements) {
  constexpr std::array<unsigned, 6> kNibbles{0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110};
  Generator generate{base::RandomStream(7)};
  const sparsity::Pattern pattern = sparsity::hardware_pattern(DataType::kE2m1);
  for (const BlockScales& scales : all_scales()) {
    const MmaInstruction instruction = instruction_of("rtx-blackwell", scales, true);
    const StepRules rules = step_rules("rtx-blackwell", instruction);
    ASSERT_EQ(instruction.compressed_k(), 64);
    ASSERT_EQ(rules.products_per_step, 64);
    for (int i = 0; i < 100; ++i) {
      ScaledCase one = generate(scales, Spread::kNear, 64);
      std::vector<Word> column(128), selected(64);
      for (Word& word : column) {
        word = static_cast<Word>(generate.below(16));
      }
      for (std::size_t t = 0; t < 64; ++t) {
        const auto nibble = static_cast<std::uint8_t>(kNibbles[t / 4 * 7 % kNibbles.size()]);
        const std::size_t index = t % 4 < 2 ? nibble & 3U : nibble >> 2U;
        one.b[t] = column[8 * (t / 4) + 2 * index + t % 2];
        const auto in_group = [&](int position) { return column[8 * (t / 4) + static_cast<std::size_t>(position)]; };
        selected[t] = sparsity::selected_word(in_group, nibble, static_cast<int>(t % 4), pattern);
      }
      EXPECT_EQ(computed(one, selected, instruction, rules), mma_sim(one, scales, false));
    }
  }
}

// By hand ----------------------------------------------------------------------------------------

ScaledCase filled(Word a, Word b, Word scale_word, std::size_t blocks, Word c) {
  return {std::vector<Word>(64, a), std::vector<Word>(64, b), std::vector<Word>(blocks, scale_word),
          std::vector<Word>(blocks, scale_word), c};
}

Word f32(double value) {
  return numerics::from_double(value, DataType::kF32);
}

struct Example {
  MmaInstruction instruction;
  StepRules rules;

  Example(std::string_view architecture, const BlockScales& scales)
      : instruction(instruction_of(architecture, scales, false)), rules(step_rules(architecture, instruction)) {}

  Word operator()(const ScaledCase& one) const { return computed(one, one.b, instruction, rules); }
};

TEST(BlockScaledFp4, IgnoresTheSignOfScalesAndSeesTheirNan) {
  for (const char* architecture : {"blackwell", "rtx-blackwell"}) {
    const Example nvfp4(architecture, kNvf4Scales);
    const Example mxfp4(architecture, kMxf4Scales);
    ScaledCase one = filled(0x3, 0xA, 0xC0, 4, f32(1));  // 1.5 * -1 * (2 * 2)
    EXPECT_EQ(nvfp4(one), f32(1 - 64 * 1.5 * 4));
    EXPECT_EQ(nvfp4(filled(0x7, 0x7, 0x7E, 4, 0)), f32(64.0 * 36 * 448 * 448));
    EXPECT_EQ(nvfp4(filled(0x1, 0x1, 0x01, 4, 0)), f32(64 * 0.25 * 0x1p-18));
    EXPECT_EQ(mxfp4(filled(0x3, 0xA, 0x80, 2, f32(1))), f32(1 - 64 * 1.5 * 4));
    EXPECT_EQ(mxfp4(filled(0x1, 0x1, 0xFE, 2, 0)), kInfinity);
    for (const Word nan : {0x7FU, 0xFFU}) {
      one = filled(0, 0, kOneUe4m3, 4, f32(1));
      one.b_scales[3] = nan;
      EXPECT_EQ(nvfp4(one), kNan) << "beside zeros, too";
    }
    EXPECT_EQ(mxfp4(filled(0, 0, 0xFF, 2, f32(1))), kNan);
    EXPECT_EQ(mxfp4(filled(0x2, 0x2, 0x7F, 2, f32(1))), f32(65)) << "0x7F is 1 here";
  }
}

TEST(BlockScaledFp4, PassesCThrough) {
  for (const char* architecture : {"blackwell", "rtx-blackwell"}) {
    for (const BlockScales& scales : all_scales()) {
      const Example example(architecture, scales);
      const auto blocks = static_cast<std::size_t>(64 / scales.block);
      constexpr Word kSmallest = 0x00;  // 0 of ue4m3, 2^-127 of ue8m0
      for (const Word c : {0x00000001U, 0x80000001U, 0x7F7FFFFFU, 0x3F800001U, kInfinity, kInfinity | 0x80000000U}) {
        EXPECT_EQ(example(filled(0, 0x7, kSmallest, blocks, c)), c);
      }
      EXPECT_EQ(example(filled(0, 0x8, kSmallest, blocks, 0x80000000U)), 0U) << "-0";
      EXPECT_EQ(example(filled(0x2, 0x2, kSmallest, blocks, 0x7F800001U)), kNan);
      EXPECT_EQ(example(filled(0x2, 0xA, 0x30, blocks, kInfinity)), kInfinity);
    }
  }
}

// 4 * 4 - 2 * 4 = 8 at scales 2^16 and C = -2^19 leave 2^-18, a product of the second block. The
// largest product, 2^20, stands above C, the scales alone do not.
TEST(BlockScaledFp4, LetsCHaveTheWindowWhereItReachesProductsOrScales) {
  ScaledCase one = filled(0, 0, kOneUe4m3, 4, f32(-0x1p19));
  one.a_scales = one.b_scales = {0x78, 0x01, kOneUe4m3, kOneUe4m3};  // 2^8, 2^-9
  one.a[0] = one.b[0] = one.b[1] = 0x6;                              // 4
  one.a[1] = 0xC;                                                    // -2
  one.a[16] = one.b[16] = 0x2;                                       // 1
  EXPECT_EQ(Example("blackwell", kNvf4Scales)(one), f32(0x1p-18));
  EXPECT_EQ(Example("rtx-blackwell", kNvf4Scales)(one), 0U);
  // With ue8m0 scales B200 cuts the second block, which C reaches, at 2^-16 as well.
  one.a_scales = one.b_scales = {127 + 8, 127 - 9, 127, 127};
  EXPECT_EQ(Example("blackwell", kMxf4nvf4Scales[1])(one), 0U);
  one.a[16] = one.b[16] = 0x4;  // 2^-16
  EXPECT_EQ(Example("blackwell", kMxf4nvf4Scales[1])(one), f32(0x1p-16));
}

// The unit is 2^-19, and the second block has two products of 2^-20.
TEST(BlockScaledFp4, OfUe4m3AddsFourProductsExactlyOnB200) {
  ScaledCase one = filled(0, 0, kOneUe4m3, 4, 0);
  one.a_scales = one.b_scales = {0x78, 0x01, kOneUe4m3, kOneUe4m3};  // 2^8, 2^-9
  one.a[0] = one.b[0] = one.b[1] = 0x2;                              // 1 and -1: 0
  one.a[1] = 0xA;
  one.a[16] = one.b[16] = one.a[19] = one.b[19] = 0x1;  // 0.5
  const Example b200("blackwell", kNvf4Scales);
  EXPECT_EQ(b200(one), f32(0x1p-19));
  std::swap(one.a[19], one.a[20]);
  std::swap(one.b[19], one.b[20]);
  EXPECT_EQ(b200(one), 0U) << "in the next four";
  EXPECT_EQ(Example("rtx-blackwell", kNvf4Scales)(one), f32(0x1p-19)) << "16 at once";
}

TEST(BlockScaledFp4, OfUe8m0LosesGroupsBelow2ToTheMinus174OnB200) {
  const Example b200("blackwell", kMxf4nvf4Scales[1]);
  // `count` products of 2^-149, then -2^`tiny`.
  const auto run = [&](std::size_t count, int tiny) {
    ScaledCase one = filled(0, 0, 127, 4, 0);
    one.a_scales = {127 - 74, static_cast<Word>(127 + tiny / 2), 127, 127};
    one.b_scales = {127 - 75, static_cast<Word>(127 + tiny - tiny / 2), 127, 127};
    std::fill_n(one.a.begin(), count, 0x2);
    std::fill_n(one.b.begin(), count, 0x2);
    one.a[16] = 0xA;
    one.b[16] = 0x2;
    return b200(one);
  };
  EXPECT_EQ(run(2, -174), 1U) << "2^-148 less a little";
  EXPECT_EQ(run(2, -175), 2U) << "lost";
  EXPECT_EQ(run(1, -175), 0U) << "0 with it: not lost";
}

TEST(GemmScales, AreThoseOfTheTypeAndTheBlock) {
  EXPECT_EQ(gemm_scales(DataType::kE4m3, 32), kMxf8f6f4Scales);
  EXPECT_EQ(gemm_scales(DataType::kE2m1, 32), kMxf4Scales);
  EXPECT_EQ(gemm_scales(DataType::kE2m1, 16), kNvf4Scales);
  for (const bool sparse : {false, true}) {
    MmaInstruction instruction = gemm_instruction(DataType::kE2m1, sparse);
    instruction.scales = gemm_scales(DataType::kE2m1, 16);
    EXPECT_NO_THROW(find_instruction(find_target("RTX 50"), instruction));
  }
}

TEST(BlockScaledFp4, SaysWhereItsArithmeticIsFrom) {
  for (const BlockScales& scales : all_scales()) {
    const auto evidence = [&](std::string_view architecture, bool sparse) {
      return step_rules(architecture, instruction_of(architecture, scales, sparse)).evidence;
    };
    EXPECT_EQ(evidence("blackwell", false), Evidence::kModel);
    EXPECT_EQ(evidence("blackwell", true), Evidence::kModel);
    EXPECT_EQ(evidence("rtx-blackwell", false), Evidence::kModel);
    EXPECT_EQ(evidence("rtx-blackwell", true), Evidence::kInferred);
  }
  EXPECT_FALSE(find_step_rules("blackwell", instruction_of("rtx-blackwell", kNvf4Scales, false)));
}

}  // namespace
}  // namespace sptc::mma
