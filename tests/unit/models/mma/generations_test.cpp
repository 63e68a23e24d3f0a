// SPDX-License-Identifier: Apache-2.0
//
// Directed cases that tell the generations apart, worked out by hand from the arithmetic contract.
#include "models/base/random.h"
#include "models/mma/catalogue.h"
#include "models/mma/dot_step.h"
#include "models/numerics/codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace sptc::mma {
namespace {

using numerics::DataType;
using numerics::Word;

struct Instruction {
  MmaInstruction instruction;
  StepRules rules;

  Instruction(std::string_view arch, std::string_view name, Profile profile = Profile::kHardware)
      : instruction(parse_instruction(name)),
        rules(with_profile(instruction_rules(find_target(arch), instruction), profile)) {}

  /// D of one element; operands by value, zeros where the vectors are shorter than K.
  Word operator()(const std::vector<double>& a, const std::vector<double>& b, Word c) const {
    const auto words = [&](const std::vector<double>& values, DataType type) {
      std::vector<Word> result(static_cast<std::size_t>(instruction.compressed_k()));
      for (std::size_t k = 0; k < values.size(); ++k) {
        result[k] = numerics::from_double(values[k], type);
      }
      return result;
    };
    return dense_dot(words(a, instruction.a_type), words(b, instruction.b_type), c, instruction, rules);
  }
};

Word f32(double value) {
  return numerics::from_double(value, DataType::kF32);
}
double value_of(Word word) {
  return numerics::to_double(word, DataType::kF32);
}

TEST(Generations, TheDepthOfTheInstructionIsNotSeenWhereStepsAreAsWide) {
  // Kernels of Volta and Turing use shorter instructions than those of Ampere.
  const base::RandomStream random(11);
  std::vector<Word> a(64), b(64);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<Word>(random.bits(i) & 0xBFFF);
    b[i] = static_cast<Word>(random.bits(i + a.size()) & 0xBFFF);
  }
  for (const char* generation : {"volta", "turing"}) {
    const MmaInstruction own = gemm_instruction(generation, DataType::kF16, false);
    const MmaInstruction ampere = gemm_instruction(DataType::kF16, false);
    ASSERT_NE(own, ampere);
    EXPECT_EQ(dense_dot(a, b, 0, own, step_rules(generation, own)),
              dense_dot(a, b, 0, ampere, step_rules(generation, ampere)));
  }
  EXPECT_EQ(gemm_instruction("turing", DataType::kS8, false).shape, (MmaShape{8, 8, 16}));
  EXPECT_EQ(gemm_instruction("hopper", DataType::kF16, true), gemm_instruction(DataType::kF16, true));
  for (const char* name : {"volta", "turing", "ampere", "ada", "hopper"}) {
    EXPECT_NO_THROW(find_instruction(find_target(name), gemm_instruction(name, DataType::kF16, false)));
  }
}

TEST(Volta, WidensAnF16Addend) {
  const Instruction volta("V100", "m8n8k4.f32.f16.f16.f16");
  EXPECT_EQ(volta({}, {}, 0x0001), f32(0x1p-24));
  EXPECT_EQ(volta({2}, {1}, 0x3C00), f32(3));
  EXPECT_EQ(volta({}, {}, 0xFC00), 0xFF800000U);
}

TEST(AdaFp8, SeesTheNanOfAnAccumulatorWhosePayloadIsInTheBitsItCuts) {
  const Instruction ada("L40S", "m16n8k32.f32.e4m3.e4m3.f32");
  EXPECT_EQ(ada({}, {}, 0x7F800001U), 0x7FFFFFFFU);
  EXPECT_EQ(ada({}, {}, 0xFF800000U), 0xFF800000U);
}

TEST(LoweredFp8, OfHalfTheDepthTakesEightProductsInEachStep) {
  const Instruction hopper("H100", "m16n8k16.f32.e4m3.e4m3.f32");
  // 2^10 - 2^10, of one step, swallows what is added beside it and nothing of the other step.
  const auto with_tiny_at = [&](std::size_t k) {
    std::vector<double> a(16, 0), b(16, 0x1p-9);
    a[0] = b[0] = b[8] = 0x1p5;
    a[8] = -0x1p5;
    a[k] = 0x1p-9;
    return value_of(hopper(a, b, 0));
  };
  for (const std::size_t k : {1, 4, 5, 9, 12, 13}) {
    EXPECT_EQ(with_tiny_at(k), 0) << k;
  }
  for (const std::size_t k : {2, 3, 6, 7, 10, 11, 14, 15}) {
    EXPECT_EQ(with_tiny_at(k), 0x1p-18) << k;
  }
}

TEST(Profiles, DifferInTheFloorAndInTheZeroRule) {
  // A zero times 2^100 beside 2^-60.
  const Instruction hardware("A100", "m16n8k8.f32.bf16.bf16.f32");
  const Instruction mma_sim("A100", "m16n8k8.f32.bf16.bf16.f32", Profile::kMmaSim);
  EXPECT_EQ(value_of(hardware({0, 1.5}, {0x1p100, 0x1p-60}, 0)), 1.5 * 0x1p-60);
  EXPECT_EQ(value_of(mma_sim({0, 1.5}, {0x1p100, 0x1p-60}, 0)), 0);
  // Half the smallest f16 subnormal and 2^-48: the floor makes it a tie.
  const Instruction floored("A100", "m16n8k8.f16.f16.f16.f16");
  const Instruction exact("A100", "m16n8k8.f16.f16.f16.f16", Profile::kMmaSim);
  EXPECT_EQ(floored({0x1p-12, 0x1p-24}, {0x1p-13, 0x1p-24}, 0), 0U);
  EXPECT_EQ(exact({0x1p-12, 0x1p-24}, {0x1p-13, 0x1p-24}, 0), 1U);
}

// Khattak and Mikaitis: no published word reaches the floors, so only this test holds them.
TEST(Floors, AreThoseOfTheModelsTunedAgainstHardware) {
  struct Floor {
    std::string_view arch, instruction;
    std::optional<int> floor;
  };
  for (const Floor& each :
       {Floor{"V100", "m8n8k4.f32.f16.f16.f32", std::nullopt}, Floor{"V100", "m8n8k4.f16.f16.f16.f16", -19},
        Floor{"T4", "m16n8k8.f32.f16.f16.f32", -132}, Floor{"T4", "m16n8k8.f16.f16.f16.f16", -20},
        Floor{"A100", "m16n8k8.f32.tf32.tf32.f32", -132}, Floor{"A100", "m16n8k16.f16.f16.f16.f16", -20},
        Floor{"L40S", "m16n8k16.f32.bf16.bf16.f32", -132}, Floor{"L40S", "m16n8k16.f16.f16.f16.f16", -20},
        Floor{"L40S", "m16n8k32.f16.e4m3.e4m3.f16", std::nullopt}, Floor{"H100", "m16n8k16.f32.bf16.bf16.f32", -133},
        Floor{"H100", "m16n8k16.f16.f16.f16.f16", -21}, Floor{"H100", "wgmma.m64n8k16.f16.f16.f16", -21},
        Floor{"H100", "wgmma.m64n8k32.f32.e4m3.e4m3", std::nullopt}, Floor{"B200", "m16n8k8.f32.tf32.tf32.f32", -133},
        Floor{"B200", "m16n8k16.f16.f16.f16.f16", -21},
        Floor{"B200", "tcgen05.mma.m64n8k16.f16.f16.f16", std::nullopt}}) {
    const Instruction hardware(each.arch, each.instruction);
    EXPECT_EQ(hardware.rules.exponent_floor, each.floor) << each.arch << each.instruction;
    const Instruction mma_sim(each.arch, each.instruction, Profile::kMmaSim);
    EXPECT_EQ(mma_sim.rules.exponent_floor, std::nullopt);
  }
}

TEST(SparseGrouping, CountsStoredElementsOrLogicalK) {
  const MmaInstruction sparse = parse_instruction("mma.sp.m16n8k32.f32.f16.f16.f32");
  const StepRules stored = step_rules("ampere", sparse);
  const StepRules logical = step_rules("ampere", sparse, SparseGrouping::kLogical);
  EXPECT_EQ(stored.products_per_step, 8);
  EXPECT_EQ(logical.products_per_step, 4);
  EXPECT_EQ(stored.evidence, Evidence::kInferred);
  EXPECT_EQ(logical.evidence, Evidence::kAssumed);
}

TEST(Evidence, IsHardwareForWhatAnH100WasCapturedDoing) {
  const auto evidence = [](std::string_view arch, std::string_view name,
                           SparseGrouping grouping = SparseGrouping::kCompressed) {
    return step_rules(arch, parse_instruction(name), grouping).evidence;
  };
  std::size_t captured = 0;
  for (const CatalogueEntry& entry : instructions(find_target("H100"))) {
    const bool is_hardware = step_rules("hopper", entry.instruction).evidence == Evidence::kHardware;
    captured += is_hardware ? 1 : 0;
    EXPECT_NE(is_hardware, entry.is_software) << entry.instruction.ptx_name();
  }
  EXPECT_EQ(captured, 184U);
  constexpr std::string_view kSparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
  EXPECT_EQ(evidence("hopper", kSparse, SparseGrouping::kLogical), Evidence::kAssumed);
  EXPECT_EQ(evidence("ampere", kSparse), Evidence::kInferred);
  EXPECT_EQ(evidence("blackwell", kSparse), Evidence::kInferred);
  EXPECT_EQ(evidence("ampere", "m16n8k16.s32.s8.s8.s32"), Evidence::kModel);
}

TEST(BlockScaled, AddsTheExponentsOfTheScales) {
  const Instruction scaled("RTX 50", "m16n8k32.block_scale.f32.e2m1.e3m2.f32");
  const std::vector<Word> a(32, numerics::from_double(1.5, DataType::kE2m1));
  const std::vector<Word> b(32, numerics::from_double(0.25, DataType::kE3m2));
  const auto run = [&](Word a_scale, Word b_scale, Word c) {
    return block_scaled_dot(a, b, std::vector{a_scale}, std::vector{b_scale}, c, scaled.instruction, scaled.rules);
  };
  EXPECT_EQ(value_of(run(127, 127, f32(1))), 13);
  EXPECT_EQ(value_of(run(130, 125, f32(1))), 25);
  EXPECT_EQ(value_of(run(0, 0, f32(1))), 1) << "2^-254";
  EXPECT_EQ(run(255, 127, f32(1)), 0x7FFFFFFFU);
  EXPECT_EQ(run(254, 254, f32(1)), 0x7F800000U);
}

TEST(Integers, WrapOrSaturateOnceAtTheEnd) {
  const auto run = [](std::string_view name, Word element, Word c) {
    const Instruction instruction("A100", name);
    const std::vector<Word> a(32, element);
    return dense_dot(a, a, c, instruction.instruction, instruction.rules);
  };
  EXPECT_EQ(run("m16n8k32.s32.s8.s8.s32", 0x80, 0x7FFFFFFF), 0x7FFFFFFFU + 32 * 16384);
  EXPECT_EQ(run("m16n8k32.satfinite.s32.s8.s8.s32", 0x80, 0x7FFFFFFF), 0x7FFFFFFFU);
  EXPECT_EQ(run("m16n8k32.s32.u8.u8.s32", 0xFF, 0), 32U * 255 * 255);
  EXPECT_EQ(run("m16n8k32.s32.s4.s4.s32", 0xF8, 5), 32U * 64 + 5) << "bits above the nibble";
  EXPECT_EQ(run("m16n8k32.s32.u4.u4.s32", 0xFF, 0), 32U * 225);
  // A partial sum beyond the range that comes back is not clamped.
  const Instruction saturating("A100", "m16n8k32.satfinite.s32.s8.s8.s32");
  std::vector<Word> a(32, 0x7F), b(32, 0x7F);
  std::fill(b.begin() + 16, b.end(), 0x81);
  EXPECT_EQ(dense_dot(a, b, 0x7FFFFFFF, saturating.instruction, saturating.rules), 0x7FFFFFFFU);
}

TEST(F64, TakesTheNanOfBThenOfTheSumThenOfA) {
  using Words = std::vector<std::uint64_t>;
  constexpr std::uint64_t kOne = 0x3FF0'0000'0000'0000, kInfinity = 0x7FF0'0000'0000'0000;
  constexpr std::uint64_t kA = 0x7FF0'0000'0000'000A, kB = 0xFFF0'0000'0000'000B;
  constexpr std::uint64_t kC = 0x7FFC'0000'0000'000C, kQuiet = 0x0008'0000'0000'0000;
  EXPECT_EQ(f64_dot(Words{kA}, Words{kB}, kC), kB | kQuiet);
  EXPECT_EQ(f64_dot(Words{kA}, Words{kOne}, kC), kC);
  EXPECT_EQ(f64_dot(Words{kA}, Words{kOne}, kOne), kA | kQuiet);
  EXPECT_EQ(f64_dot(Words{kA, kOne}, Words{kOne, kB}, kOne), kB | kQuiet);
  EXPECT_EQ(f64_dot(Words{kA, kA + 1}, Words{kOne, kOne}, kOne), kA | kQuiet);
  EXPECT_EQ(f64_dot(Words{kInfinity}, Words{0}, kOne), 0xFFF8'0000'0000'0000);
}

}  // namespace
}  // namespace sptc::mma
