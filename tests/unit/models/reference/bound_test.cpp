// SPDX-License-Identifier: Apache-2.0
// The bounds of fp8 lowered to f16, of f16 and of f32 accumulators: they hold, and little is to
// spare.
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "tests/unit/models/reference/checked_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::reference {
namespace {

using numerics::DataType;
using numerics::Word;

struct Arithmetic {
  std::string name;
  std::string_view numerics;
  mma::MmaInstruction instruction;
  int range;  // operands of 2^-range to 2^range do not overflow the output
};

mma::MmaInstruction instruction(DataType operand, DataType accumulator, int k) {
  return {{16, 8, k}, operand, operand, accumulator};
}

const std::vector<Arithmetic>& lowered() {
  using enum DataType;
  static const std::vector<Arithmetic> all{{"lowered e4m3 f32", "hopper", instruction(kE4m3, kF32, 32), 8},
                                           {"lowered e5m2 f32", "hopper", instruction(kE5m2, kF32, 32), 14},
                                           {"lowered e4m3 f16", "hopper", instruction(kE4m3, kF16, 32), 3},
                                           {"lowered e5m2 f16", "blackwell", instruction(kE5m2, kF16, 32), 3}};
  return all;
}

const std::vector<Arithmetic>& half() {
  using enum DataType;
  static const std::vector<Arithmetic> all{{"volta f16", "volta", {{8, 8, 4}, kF16, kF16, kF16}, 3},
                                           {"ampere f16", "ampere", instruction(kF16, kF16, 16), 3},
                                           {"hopper f16", "hopper", instruction(kF16, kF16, 16), 3},
                                           {"ada e5m2 f16", "ada", instruction(kE5m2, kF16, 32), 3}};
  return all;
}

std::vector<Arithmetic> both() {
  std::vector<Arithmetic> all = lowered();
  all.insert(all.end(), half().begin(), half().end());
  return all;
}

/// These and the f32 accumulators of an A100.
std::vector<Arithmetic> with_f32() {
  using enum DataType;
  std::vector<Arithmetic> all = both();
  all.push_back({"ampere f16 f32", "ampere", instruction(kF16, kF32, 16), 12});
  all.push_back({"ampere bf16", "ampere", instruction(kBf16, kF32, 16), 50});
  all.push_back({"ampere tf32", "ampere", instruction(kTf32, kF32, 8), 50});
  return all;
}

Gemm gemm(const Arithmetic& which, std::size_t edge, std::size_t k, const Generator& a, const Generator& b) {
  return {which.numerics, which.instruction, edge, edge, k, a, b};
}

TEST(Bound, HoldsOnNormalDataOfAnyDepth) {
  for (const Arithmetic& which : with_f32()) {
    for (const std::size_t k : {1, 2, 3, 31, 32, 33, 64, 1000}) {
      const Findings findings = gemm(which, 8, k, normal(1), normal(2)).check();
      EXPECT_EQ(findings.mismatches, 0) << which.name << " k=" << k;
      EXPECT_EQ(findings.undecided, 0) << which.name << " k=" << k;
      EXPECT_LT(findings.worst_ratio, 1);
    }
  }
}

TEST(Bound, HoldsUnderCancellationAndWideExponents) {
  for (const Arithmetic& which : with_f32()) {
    const auto wide = [&](std::uint64_t key) -> Generator {
      return [s = base::RandomStream(key), range = which.range](std::uint64_t i) {
        const int exponent = static_cast<int>(s.below(2 * i, 2 * static_cast<std::uint64_t>(range) + 1)) - range;
        return std::ldexp(s.below(2 * i + 1, 2) != 0 ? 1.5 : -1.75, exponent);
      };
    };
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const Findings findings = gemm(which, 8, 200, wide(2 * seed), wide(2 * seed + 1)).check();
      EXPECT_EQ(findings.mismatches, 0) << which.name << " seed " << seed;
      EXPECT_GT(findings.elements, findings.undecided) << which.name;
    }
  }
}

TEST(Bound, HoldsOnSubnormalOperandsAndResults) {
  for (const Arithmetic& which : both()) {
    const int smallest = numerics::info(which.instruction.a_type).format->min_exponent();
    for (const int exponent : {smallest - 3, smallest, smallest / 2, smallest / 2 - 2}) {
      const Generator tiny = [s = base::RandomStream(7), exponent](std::uint64_t i) {
        return std::ldexp(s.normal(i), exponent);
      };
      for (const Generator& other : {tiny, normal(8)}) {
        EXPECT_EQ(gemm(which, 8, 100, tiny, other).check().mismatches, 0) << which.name << " " << exponent;
        EXPECT_EQ(gemm(which, 8, 100, other, tiny).check().mismatches, 0) << which.name << " " << exponent;
      }
    }
  }
}

TEST(Bound, HoldsOnAnyBits) {
  for (const Arithmetic& which : both()) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Gemm random = gemm(which, 8, 1 + seed % 5, normal(1), normal(2));
      const base::RandomStream bits(seed);
      const int width = numerics::storage_bits(which.instruction.a_type);
      for (std::size_t i = 0; i < random.a.size(); ++i) {
        random.a.data()[i] = static_cast<Word>(bits.bits(2 * i) >> (64 - width));
        random.b_columns.data()[i] = static_cast<Word>(bits.bits(2 * i + 1) >> (64 - width));
      }
      random.compute();
      EXPECT_EQ(random.check().mismatches, 0) << which.name << " seed " << seed;
    }
  }
}

TEST(Bound, IsNearlyReachedWhereEveryAdditionIsATie) {
  // Each instruction or step adds half a unit in the last place to an accumulator of 1, which
  // rounds to even: 1. Nothing else is lost.
  for (const Arithmetic& which : both()) {
    const mma::StepRules rules = mma::step_rules(which.numerics, which.instruction);
    const bool is_half = rules.output == DataType::kF16;
    if (rules.fraction_bits < 23 || (which.instruction.a_type == DataType::kE4m3 && !is_half)) {
      continue;  // Ada's alignment may lose more than the rounding; no product of e4m3 is 2^-24
    }
    const auto every = static_cast<std::uint64_t>((rules.lowered_fp8 ? 2 : 1) * rules.products_per_step);
    const int half_unit = is_half ? -11 : -24;
    const Generator a = [=](std::uint64_t k) {
      return k == 0 ? 1.0 : (k % every == 0 ? std::ldexp(1.0, half_unit / 2) : 0.0);
    };
    const Generator b = [=](std::uint64_t k) { return k == 0 ? 1.0 : std::ldexp(1.0, half_unit - half_unit / 2); };
    const Gemm ties = gemm(which, 1, every * (is_half ? 400 : 4000), a, b);
    EXPECT_EQ(numerics::to_double(ties.d(0, 0), rules.output), 1) << which.name;
    const Findings findings = ties.check();
    EXPECT_EQ(findings.mismatches, 0) << which.name;
    EXPECT_GT(findings.worst_ratio, 0.98) << which.name;
  }
}

TEST(Bound, KnowsWhichProductsShareALoweredStep) {
  // +256 is in the first step of an instruction and -256 in the second: between them the sum is
  // rounded to units of 1/4, and the small products are lost. Were both in one step, nothing would
  // be, and the bound would be too small by far.
  for (const DataType type : {DataType::kE4m3, DataType::kE5m2}) {
    const Arithmetic which{"lowered", "hopper", instruction(type, DataType::kF16, 32), 0};
    const Generator a = [s = base::RandomStream(5)](std::uint64_t i) {
      return i % 32 == 0 ? 1.0 : (i % 32 == 2 ? -1.0 : s.normal(i));
    };
    const Generator b = [](std::uint64_t i) { return i % 32 == 0 || i % 32 == 2 ? 256 : 0x1p-5; };
    const Findings findings = gemm(which, 8, 32, a, b).check();
    EXPECT_EQ(findings.mismatches, 0);
    EXPECT_GT(findings.worst_error, 0.05);
    EXPECT_LT(findings.bound_at_worst, 0.5);
  }
}

TEST(Bound, FindsOneWrongProduct) {
  const auto find = [](const Arithmetic& which, std::size_t k) {
    Gemm right = gemm(which, 8, k, normal(11), normal(12));
    int found = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const Word sign = Word{1} << (numerics::storage_bits(which.instruction.a_type) - 1);
      right.a(i, 3 * i + 1) ^= sign;
      const Findings findings = right.check();
      found += static_cast<int>(findings.mismatches);
      if (findings.first_violation) {
        EXPECT_EQ(findings.first_violation->row, i) << which.name;
      }
      right.a(i, 3 * i + 1) ^= sign;
    }
    return found;
  };
  for (const Arithmetic& which : with_f32()) {
    // A product may happen to change by less than the bound; nearly all do not. An f16 accumulator
    // loses more at K = 4096 than a product is worth.
    const bool is_f32 = which.instruction.accumulator == DataType::kF32;
    EXPECT_GE(find(which, is_f32 ? 4096 : 64), 64 * 9 / 10) << which.name;
  }
}

TEST(Bound, CountsPossibleOverflowOfF16Apart) {
  const auto constant = [](double value) -> Generator { return [value](std::uint64_t) { return value; }; };
  for (const Arithmetic& which : both()) {
    if (which.instruction.accumulator != DataType::kF16) {
      continue;
    }
    // 1024 x 8 x 8 = 65536 is infinite, 512 x 8 x 8 is not.
    EXPECT_EQ(gemm(which, 1, 1024, constant(8), constant(8)).check().undecided, 1) << which.name;
    const Findings finite = gemm(which, 1, 512, constant(8), constant(8)).check();
    EXPECT_EQ(finite.undecided, 0) << which.name;
    EXPECT_EQ(finite.mismatches, 0) << which.name;
    EXPECT_EQ(finite.worst_error, 0) << which.name;
  }
}

}  // namespace
}  // namespace sptc::reference
