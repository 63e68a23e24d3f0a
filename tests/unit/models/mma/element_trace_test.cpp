// SPDX-License-Identifier: Apache-2.0
//
// trace_element() on every instruction of every target: the same result as dense_dot(), and addends
// that add up.
#include "models/mma/element_trace.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "tests/support/mma_operands.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace sptc::mma {
namespace {

using numerics::Word;

std::vector<Word> random_words(std::size_t count, numerics::DataType type, WordKind kind,
                               const base::RandomStream& random) {
  std::vector<Word> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = random_word(type, kind, random.bits(i));
  }
  return words;
}

/// Of an aligned step: the addends sum up, and each is the exact value cut toward zero.
void expect_cut_toward_zero(const ElementStep& step, const StepRules& rules) {
  std::int64_t sum = 0;
  for (const Addend& addend : step.addends) {
    sum += addend.aligned;
    if (addend.significand == 0 || !step.trace.largest_exponent) {
      EXPECT_EQ(addend.aligned, 0);
      continue;
    }
    const int unit = *step.trace.largest_exponent - rules.fraction_bits;
    const double units = std::ldexp(static_cast<double>(addend.significand), addend.unit_exponent - unit);
    EXPECT_EQ(static_cast<double>(std::abs(addend.aligned)), std::trunc(units));
    EXPECT_TRUE(addend.aligned == 0 || (addend.aligned < 0) == addend.negative);
  }
  EXPECT_EQ(sum, step.trace.sum);
}

/// False where the instruction has no steps of products.
bool expect_like_dense_dot(const MmaInstruction& instruction, const StepRules& rules, WordKind kind,
                           const base::RandomStream& random) {
  const auto k = static_cast<std::size_t>(instruction.compressed_k());
  const std::vector<Word> a = random_words(k, instruction.a_type, kind, random.fork("a"));
  const std::vector<Word> b = random_words(k, instruction.b_type, kind, random.fork("b"));
  const Word c = random_word(instruction.c_type(), kind, random.fork("c").bits(0));
  std::vector<ElementStep> steps;
  try {
    steps = trace_element(a, b, c, instruction, rules);
  } catch (const base::InputError&) {
    return false;
  }
  EXPECT_EQ(steps.back().trace.result, dense_dot(a, b, c, instruction, rules));
  std::vector<bool> seen(k);
  for (const ElementStep& step : steps) {
    for (const std::size_t position : step.positions) {
      EXPECT_FALSE(seen[position]);
      seen[position] = true;
    }
    if (!step.addends.empty()) {
      EXPECT_EQ(step.addends.size(), step.positions.size() + 1);
    }
    if (step.kind == StepKind::kAligned) {
      expect_cut_toward_zero(step, rules);
    }
  }
  EXPECT_EQ(seen, std::vector<bool>(k, true));
  return true;
}

TEST(ElementTrace, HasTheResultOfTheWholeDotProductForEveryInstructionOfTheCatalogue) {
  int traced = 0, refused = 0;
  for (const Target& target : targets()) {
    for (const CatalogueEntry& entry : instructions(target)) {
      const auto rules = find_step_rules(target.architecture, entry.instruction);
      if (entry.is_software || !rules) {
        continue;
      }
      SCOPED_TRACE(std::string(target.name) + " " + entry.ptx_name());
      for (const WordKind kind : kWordKinds) {
        const base::RandomStream random =
            base::RandomStream(3).fork(entry.ptx_name()).fork(std::to_string(static_cast<int>(kind)));
        ++(expect_like_dense_dot(entry.instruction, *rules, kind, random) ? traced : refused);
      }
    }
  }
  EXPECT_GT(traced, 1000);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace sptc::mma
