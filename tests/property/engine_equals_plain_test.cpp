// SPDX-License-Identifier: Apache-2.0
// The engine against the plain implementation, bit for bit, on every vector target of this machine.
// RC_PARAMS=max_success=N draws as many matrices as wanted.
#include "tests/property/engine_cases.h"
#include "tests/property/engine_target.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>
#include <string>

namespace sptc::batched {
namespace {

using numerics::Word;

std::string hex(Word word) {
  std::ostringstream text;
  text << std::hex << word;
  return text.str();
}

rc::Gen<std::size_t> any_extent(std::size_t largest) {
  return rc::gen::weightedOneOf<std::size_t>(
      {{1, rc::gen::element<std::size_t>(1, 2, 3)}, {3, rc::gen::inRange<std::size_t>(1, largest + 1)}});
}

WordStyle any_style() {
  return static_cast<WordStyle>(*rc::gen::inRange(0, kWordStyles));
}

void equals_plain(const EngineCase& which) {
  const auto m = *any_extent(9);
  const auto n = *any_extent(150);
  const auto k = *any_extent(400);
  const RandomGemm gemm(which, m, n, k, any_style(), any_style(), any_style(), *rc::gen::arbitrary<std::uint64_t>());
  const base::Matrix<Word> result =
      batched::gemm(which.instruction, which.rules, gemm.operands(), {*rc::gen::inRange(1, 4), 1});
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const Word expected = gemm.expected(i, j);
      if (result(i, j) != expected) {
        RC_FAIL(which.name + " [" + std::to_string(i) + ", " + std::to_string(j) + "] is " + hex(result(i, j)) +
                ", plainly " + hex(expected));
      }
    }
  }
}

TEST_P(EngineTarget, EqualsThePlainImplementationOnAnyBits) {
  for (const EngineCase& which : engine_cases()) {
    EXPECT_TRUE(rc::check(which.name, [&] { equals_plain(which); }));
  }
}

TEST_P(EngineTarget, EqualsThePlainImplementationOnEachStyleOfWords) {
  for (const EngineCase& which : engine_cases()) {
    for (int style = 0; style < kWordStyles; ++style) {
      for (const WordStyle c_style : {WordStyle::kNormal, WordStyle::kMostlyZero}) {
        const auto words = static_cast<WordStyle>(style);
        const RandomGemm gemm(which, 3, 67, 261, words, words, c_style, static_cast<std::uint64_t>(style));
        const base::Matrix<Word> result = batched::gemm(which.instruction, which.rules, gemm.operands());
        for (std::size_t i = 0; i < 3; ++i) {
          for (std::size_t j = 0; j < 67; ++j) {
            ASSERT_EQ(result(i, j), gemm.expected(i, j))
                << which.name << ", style " << style << " at " << i << ", " << j;
          }
        }
      }
    }
  }
}

TEST_P(EngineTarget, IntegersEqualThePlainImplementationAcrossPanelsAndBlocks) {
  // Integer kernels work on panels of up to 32 rows and blocks of up to 512 columns and 1024 k.
  constexpr std::size_t kRows = 45, kColumns = 531, kDepth = 2116;
  for (const EngineCase& which : engine_cases()) {
    if (!which.rules.is_integer()) {
      continue;
    }
    const RandomGemm gemm(which, kRows, kColumns, kDepth, WordStyle::kAnyBits, WordStyle::kAnyBits, WordStyle::kAnyBits,
                          5);
    const base::Matrix<Word> result = batched::gemm(which.instruction, which.rules, gemm.operands());
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = i % 16; j < kColumns; j += 16) {
        ASSERT_EQ(result(i, j), gemm.expected(i, j)) << which.name << " at " << i << ", " << j;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, EngineTarget, testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace sptc::batched
