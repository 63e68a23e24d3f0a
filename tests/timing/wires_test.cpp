// SPDX-License-Identifier: Apache-2.0
// The bits on the wires between the stages are the ones that make D: changing one of them changes
// D, as far as it should and no further.
#include "models/numerics/codec.h"
#include "tests/support/mma_operands.h"
#include "tests/timing/sm_harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace sptc::timing {
namespace {

using numerics::DataType;
using numerics::Word;

/// Registers of one instruction with random operands, and D taken from the store.
class OneInstruction : public sm::CtaMemory {
 public:
  OneInstruction(const KernelParts& parts, const mma::MmaOperands& operands)
      : parts_(parts), words_(mma::operand_words(parts.context.instruction, operands)) {}

  void load(std::int64_t, int, const isa::WarpInstruction& instruction, std::int64_t,
            mma::LaneRegister* registers) const override {
    if (instruction.operand == isa::Operand::kA) {
      parts_.map.load_a([&](int row, int word) { return words_.a[row][word]; }, registers);
    } else if (instruction.operand == isa::Operand::kB) {
      parts_.map.load_b([&](int col, int word) { return words_.b[col][word]; }, registers);
    } else {
      // Selector 0 of m16n8k32: lanes 0 and 1 of each quad, rows q (low half) and q + 8 (high
      // half), four groups each (PTX ISA, sparse matrix storage).
      for (int lane = 0; lane < mma::kWarpLanes; ++lane) {
        std::uint32_t word = 0;
        for (int nibble = 0; lane % 4 < 2 && nibble < 8; ++nibble) {
          const int row = lane / 4 + (nibble < 4 ? 0 : 8);
          word |= static_cast<std::uint32_t>(words_.nibbles[row][lane % 4 * 4 + nibble % 4]) << (4 * nibble);
        }
        registers[0][static_cast<std::size_t>(lane)] = word;
      }
    }
  }
  void store(std::int64_t, int, const isa::WarpInstruction&, const mma::LaneRegister* registers) override {
    parts_.map.gather_accumulators(registers, d_);
  }
  base::Matrix<Word> d() const {
    base::Matrix<Word> matrix(mma::kRows, mma::kCols);
    for (std::size_t i = 0; i < mma::kRows; ++i) {
      for (std::size_t j = 0; j < mma::kCols; ++j) {
        matrix(i, j) = d_[i][j];
      }
    }
    return matrix;
  }

 private:
  const KernelParts& parts_;
  mma::OperandWords words_;
  std::uint32_t d_[mma::kRows][mma::kCols] = {};
};

using Places = std::vector<std::pair<std::size_t, std::size_t>>;

/// One sparse instruction, and D where no wire is changed.
class Wires : public testing::Test {
 protected:
  Wires() {
    operands.c = base::Matrix<Word>(mma::kRows, mma::kCols);  // the accumulator starts at zero
  }

  base::Matrix<Word> run() {
    const Registers registers(parts.map);
    const isa::RegisterRange a = registers.a();
    const isa::RegisterRange b = registers.b();
    const isa::WarpProgram program = program_of({load_into(a, isa::Operand::kA), load_into(b, isa::Operand::kB),
                                                 load_into(registers.metadata(), isa::Operand::kMetadata),
                                                 mma_into(parts, 0), store_of(registers.accumulator(0))});
    OneInstruction memory(parts, operands);
    harness.run(parts.launch(program, &memory));
    return memory.d();
  }

  /// Elements of D that are others than those of the plain arithmetic.
  Places changed(const base::Matrix<Word>& d) const {
    Places all;
    for (std::size_t i = 0; i < d.rows(); ++i) {
      for (std::size_t j = 0; j < d.cols(); ++j) {
        if (d(i, j) != before(i, j)) {
          all.emplace_back(i, j);
        }
      }
    }
    return all;
  }

  /// D is that of `other` operands, and differs in row `row` alone.
  void expect_row(const base::Matrix<Word>& d, const mma::MmaOperands& other, std::size_t row) {
    EXPECT_EQ(d, mma::run_plain(parts.context, other));
    ASSERT_FALSE(changed(d).empty());
    for (const auto& place : changed(d)) {
      EXPECT_EQ(place.first, row);
    }
  }

  KernelParts parts{instruction(DataType::kF16, 32, true)};
  mma::MmaOperands operands = mma::random_operands(parts.context.instruction, mma::WordKind::kNarrow,
                                                   mma::WordKind::kNarrow, base::RandomStream(3));
  SmHarness harness{"gpu", one_sub_partition()};
  tensor_core::TensorCore& core = harness.core();
  base::Matrix<Word> before;

  void SetUp() override {
    before = mma::run_plain(parts.context, operands);
    ASSERT_EQ(run(), before);
  }
};

TEST_F(Wires, ANibbleBehindTheFetchMovesTheSelectionOfItsRow) {
  mma::MmaOperands other = operands;
  other.nibbles(5, 3) = other.nibbles(5, 3) == 0b0100 ? 0b1110 : 0b0100;
  core.fetched.set_tap([&](tensor_core::FetchedToken& token) { token.payload->nibbles[5][3] = other.nibbles(5, 3); });
  const base::Matrix<Word> after = run();
  expect_row(after, other, 5);
}

TEST_F(Wires, ASelectedOperandOfBIsTheOneThatIsMultiplied) {
  // Row 9, second step, third multiplier gets another row of B than the metadata names.
  mma::FetchedOperands fetched;
  core.fetched.set_tap([&](tensor_core::FetchedToken& token) { fetched = *token.payload; });
  int wanted = 0;
  core.selected.set_tap([&](tensor_core::SelectedToken& token) {
    if (token.step != 1) {
      return;
    }
    mma::SelectedOperands& selected = *token.payload;
    const int group_first = selected.b_row[9][2] / 4 * 4;
    const int partner = selected.b_row[9][3];
    wanted = group_first;
    while (wanted == selected.b_row[9][2] || wanted == partner) {
      ++wanted;
    }
    const int index = 9 * parts.context.rules.products_per_step + 2;
    for (int j = 0; j < mma::kCols; ++j) {
      selected.b.significand[index][j] = fetched.b.significand[wanted][j];
      selected.b.exponent[index][j] = fetched.b.exponent[wanted][j];
    }
  });
  const base::Matrix<Word> after = run();
  mma::MmaOperands other = operands;
  const std::uint8_t nibble = other.nibbles(9, 5);  // group of compressed elements 10 and 11
  other.nibbles(9, 5) = static_cast<std::uint8_t>((nibble & 0b1100) | (wanted & 3));
  expect_row(after, other, 9);
}

TEST_F(Wires, AProductChangesItsElementOfDAlone) {
  core.products.set_tap([&](tensor_core::ProductsToken& token) {
    if (token.step == 0) {
      token.payload->significand[4 * parts.context.rules.products_per_step + 1][6] *= -1;
    }
  });
  EXPECT_EQ(changed(run()), (Places{{4, 6}}));
}

TEST_F(Wires, TheLargestExponentDecidesWhatTheAlignmentCuts) {
  core.products.set_tap([](tensor_core::ProductsToken& token) { token.payload->max_exponent[2][3] += 20; });
  EXPECT_EQ(changed(run()), (Places{{2, 3}}));
}

TEST_F(Wires, ASumChangesItsElementByWhatWasAdded) {
  double unit = 0;
  core.sums.set_tap([&](tensor_core::SumsToken& token) {
    if (token.is_last()) {
      token.payload->sum[11][7] += std::int64_t{1} << 24;
      unit = std::ldexp(1.0, token.payload->max_exponent[11][7]);
    }
  });
  const base::Matrix<Word> after = run();
  EXPECT_EQ(changed(after), (Places{{11, 7}}));
  const double added =
      numerics::to_double(after(11, 7), DataType::kF32) - numerics::to_double(before(11, 7), DataType::kF32);
  EXPECT_NEAR(added, unit, unit * 1e-5);
}

TEST_F(Wires, TheRoundedResultOfTheFirstStepIsTheAccumulatorOfTheSecond) {
  int seen = 0;
  core.feedback.set_tap([&](tensor_core::FeedbackToken& token) {
    ++seen;
    EXPECT_EQ(token.next_step, 1);
    token.payload->word[0][0] = 0x7F800000;
  });
  const base::Matrix<Word> after = run();
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(changed(after), (Places{{0, 0}}));
  EXPECT_EQ(after(0, 0), 0x7F800000U);
}

TEST_F(Wires, ARoundedWordIsTheWordThatIsStored) {
  harness.partition().mma_done.set_tap([](tensor_core::MmaDoneToken& token) { token.payload->word[15][1] ^= 1; });
  const base::Matrix<Word> after = run();
  EXPECT_EQ(changed(after), (Places{{15, 1}}));
  EXPECT_EQ(after(15, 1), before(15, 1) ^ 1U);
}

TEST_F(Wires, CarryNothingButTimeWithoutValues) {
  int tokens = 0;
  const auto expect_empty = [&](auto& token) {
    ++tokens;
    EXPECT_EQ(token.payload, nullptr);
  };
  core.fetched.set_tap([&](tensor_core::FetchedToken& token) { expect_empty(token); });
  core.selected.set_tap([&](tensor_core::SelectedToken& token) { expect_empty(token); });
  core.products.set_tap([&](tensor_core::ProductsToken& token) { expect_empty(token); });
  core.sums.set_tap([&](tensor_core::SumsToken& token) { expect_empty(token); });
  const isa::WarpProgram program = independent_mmas(parts, 4);
  harness.run(parts.launch(program));
  EXPECT_EQ(tokens, 4 + 8 + 8 + 8);
}

}  // namespace
}  // namespace sptc::timing
