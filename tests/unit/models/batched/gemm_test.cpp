// SPDX-License-Identifier: Apache-2.0
#include "models/batched/gemm.h"

#include "models/base/error.h"
#include "models/mma/dot_step.h"
#include "models/numerics/codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

namespace sptc::batched {
namespace {

using numerics::DataType;
using numerics::Word;

Word f16(double value) {
  return numerics::from_double(value, DataType::kF16);
}
Word f32(double value) {
  return numerics::from_double(value, DataType::kF32);
}

class GemmTest : public testing::Test {
 protected:
  base::Matrix<Word> run(const EngineOptions& options = {}) const {
    return gemm(instruction, rules, {&a, nullptr, &b, nullptr}, options);
  }

  mma::MmaInstruction instruction = mma::gemm_instruction(DataType::kF16, false);
  mma::StepRules rules = mma::step_rules("ampere", instruction);
  base::Matrix<Word> a{2, 64, f16(1.0)};
  base::Matrix<Word> b{3, 64, f16(2.0)};
};

TEST_F(GemmTest, WithoutKGivesCAsItIs) {
  a = base::Matrix<Word>(2, 0);
  b = base::Matrix<Word>(3, 0);
  const base::Matrix<Word> c(2, 3, 0x7F812345U);
  EXPECT_EQ(gemm(instruction, rules, {&a, nullptr, &b, &c}), c);
}

// 1 + 64 * 2^-25 in f32: each small term is lost beside 1, but not beside the others.
TEST_F(GemmTest, SplitKAddsTheAccumulatorsOfTheSlices) {
  a = base::Matrix<Word>(1, 64, f16(std::ldexp(1.0, -13)));
  b = base::Matrix<Word>(1, 64, f16(std::ldexp(1.0, -13)));
  a(0, 0) = f16(1.0);
  b(0, 0) = f16(1.0);
  const double small = std::ldexp(1.0, -26);
  EXPECT_EQ(run()(0, 0), f32(1.0));
  EXPECT_EQ(run({1, 2})(0, 0), f32(1.0 + 32 * small));
  EXPECT_EQ(run({1, 4})(0, 0), f32(1.0 + 48 * small));
  EXPECT_EQ(run({1, 100})(0, 0), run({1, 4})(0, 0));  // no slice is less than an instruction deep
}

TEST_F(GemmTest, RefusesWhatDoesNotFitTogether) {
  const auto message = [&](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([&] { run({0, 1}); }), "GEMM options: threads 0 and split_k 1 must be at least 1");
  EXPECT_EQ(message([&] { gemm(instruction, rules, {&a, nullptr, nullptr, nullptr}); }), "GEMM operand B is missing");
  const base::Matrix<Word> c(3, 2);
  EXPECT_EQ(message([&] {
              gemm(instruction, rules, {&a, nullptr, &b, &c});
            }),
            "GEMM operand C is [3, 2], but D is [2, 3]");
  b = base::Matrix<Word>(3, 63);
  EXPECT_EQ(message([&] { run(); }), "GEMM operand B holds columns of 63 elements, but A has k = 64");
  instruction.sparse = true;
  EXPECT_NE(message([&] { run(); }).find("takes a compressed matrix"), std::string::npos);
}

TEST(GemmF64, IsAChainOfFusedMultiplyAddsFromC) {
  using Matrix = base::Matrix<std::uint64_t>;
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  Matrix a(3, 2), b(2, 2), c(3, 2);
  for (std::size_t i = 0; i < 6; ++i) {
    a.data()[i] = bits(0.1 * static_cast<double>(i + 1));
    c.data()[i] = bits(1e-17 * static_cast<double>(i));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    b.data()[i] = bits(1.0 / static_cast<double>(i + 3));
  }
  const auto value = [](std::uint64_t word) { return std::bit_cast<double>(word); };
  const Matrix d = gemm_f64(a, b, &c, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      const double first = std::fma(value(a(i, 0)), value(b(j, 0)), value(c(i, j)));
      EXPECT_EQ(d(i, j), bits(std::fma(value(a(i, 1)), value(b(j, 1)), first)));
    }
  }
}

TEST(GemmF64, RefusesExtentsThatDoNotFitTogether) {
  using Matrix = base::Matrix<std::uint64_t>;
  const Matrix a(2, 4), b(3, 4), short_b(3, 3), c(3, 3);
  EXPECT_THROW(gemm_f64(a, short_b, nullptr), base::InputError);
  EXPECT_THROW(gemm_f64(a, b, &c), base::InputError);
  EXPECT_THROW(gemm_f64(a, b, nullptr, 0), base::InputError);
}

}  // namespace
}  // namespace sptc::batched
