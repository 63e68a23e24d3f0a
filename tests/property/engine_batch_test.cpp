// SPDX-License-Identifier: Apache-2.0
// Batches of small matrices against the plain implementation, bit for bit, on every vector target
// of this machine.
#include "models/batched/mma_batch.h"
#include "tests/property/engine_cases.h"
#include "tests/property/engine_target.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace sptc::batched {
namespace {

using numerics::Word;

/// A batch whose cases are random GEMMs, each with words of a style of its own.
struct RandomBatch {
  RandomBatch(const EngineCase& which, std::size_t cases, std::size_t m, std::size_t n,
              std::size_t k, const std::vector<WordStyle>& styles, std::uint64_t seed) {
    for (std::size_t i = 0; i < cases; ++i) {
      const auto style = [&](std::size_t operand) {
        return styles[(3 * i + operand) % styles.size()];
      };
      gemms.emplace_back(which, m, n, k, style(0), style(1), style(2), seed + i);
      name_whole_words(gemms.back().compressed);
    }
    const RandomGemm& first = gemms.front();
    const bool sparse = which.instruction.sparse;
    batch.cases = cases;
    batch.m = m;
    batch.n = n;
    batch.k = first.b_columns.cols();
    batch.depth = sparse ? first.compressed.compressed_k() : first.a.cols();
    for (const RandomGemm& gemm : gemms) {
      const base::Matrix<Word>& stored = sparse ? gemm.compressed.values : gemm.a;
      a.insert(a.end(), stored.data(), stored.data() + stored.size());
      const base::Matrix<Word> rows_of_b = gemm.b_columns.transposed();
      b.insert(b.end(), rows_of_b.data(), rows_of_b.data() + rows_of_b.size());
      c.insert(c.end(), gemm.c.data(), gemm.c.data() + gemm.c.size());
      for (std::size_t i = 0; sparse && i < stored.size(); ++i) {
        const sparsity::Pattern& pattern = gemm.compressed.pattern;
        const auto kept = static_cast<std::size_t>(pattern.kept);
        const std::size_t t = i % stored.cols();
        const std::uint8_t nibble = gemm.compressed.nibbles(i / stored.cols(), t / kept);
        const auto slot = static_cast<int>(t % kept);
        indices.push_back(
            static_cast<std::uint32_t>(t / kept) * static_cast<std::uint32_t>(pattern.group) +
            static_cast<std::uint32_t>(sparsity::selected_position(nibble, slot, pattern)));
      }
    }
    batch.a = a;
    batch.b = b;
    batch.c = c;
    batch.indices = indices;
  }

  /// Nibbles of tf32 that mix two words of B have no index.
  static void name_whole_words(sparsity::CompressedMatrix& a) {
    for (std::size_t i = 0; a.pattern.candidates() == 2 && i < a.nibbles.size(); ++i) {
      a.nibbles.data()[i] = (a.nibbles.data()[i] & 2) != 0 ? 0b1110 : 0b0100;
    }
  }

  /// The first element that is not as the plain implementation has it, in words; empty: none.
  std::string first_difference(int threads) const {
    const EngineCase& which = gemms.front().which;
    std::vector<Word> d(c.size());
    mma_batch(which.instruction, which.rules, batch, d, threads);
    for (std::size_t i = 0; i < d.size(); ++i) {
      const std::size_t row = i / batch.n;
      const Word expected = gemms[row / batch.m].expected(row % batch.m, i % batch.n);
      if (d[i] != expected) {
        return which.name + ", element " + std::to_string(i) + " is " + std::to_string(d[i]) +
               ", plainly " + std::to_string(expected);
      }
    }
    return {};
  }

  std::vector<RandomGemm> gemms;
  std::vector<Word> a, b, c;
  std::vector<std::uint32_t> indices;
  MmaBatch batch;
};

class BatchTarget : public EngineTarget {};

TEST_P(BatchTarget, EqualsThePlainImplementationOnAnyBits) {
  for (const EngineCase& which : engine_cases()) {
    EXPECT_TRUE(rc::check(which.name, [&] {
      std::vector<WordStyle> styles;
      for (int i = 0; i < 6; ++i) {
        styles.push_back(static_cast<WordStyle>(*rc::gen::inRange(0, kWordStyles)));
      }
      const RandomBatch random(
          which, *rc::gen::inRange<std::size_t>(1, 5), *rc::gen::inRange<std::size_t>(1, 36),
          *rc::gen::inRange<std::size_t>(1, 20), *rc::gen::inRange<std::size_t>(1, 140), styles,
          *rc::gen::arbitrary<std::uint64_t>());
      const std::string difference = random.first_difference(*rc::gen::inRange(1, 4));
      if (!difference.empty()) {
        RC_FAIL(difference);
      }
    }));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, BatchTarget, testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace sptc::batched
