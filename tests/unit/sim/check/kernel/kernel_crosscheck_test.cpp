// SPDX-License-Identifier: Apache-2.0
//
// Kernels with one planted fault each: D comes from the plain arithmetic over changed operands, and
// the diagnosis must name the change.
#include "sim/check/kernel/kernel_crosscheck.h"

#include "models/numerics/codec.h"
#include "tests/unit/sim/check/kernel/synthetic_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Word;
using sparsity::MetadataOrder;

constexpr std::string_view kDense = "m16n8k16.f32.f16.f16.f32";
constexpr std::string_view kSparse = "mma.sp.m16n8k32.f32.f16.f16.f32";

/// Expects that the likeliest cause is `cause` and its words contain `parts`.
void expect_cause(const KernelDiagnosis& diagnosis, std::string_view cause,
                  std::initializer_list<std::string_view> parts = {}) {
  EXPECT_FALSE(diagnosis.bit_exact());
  ASSERT_TRUE(diagnosis.first);
  ASSERT_FALSE(diagnosis.fitting.empty())
      << "nothing fits; nearest: " << (diagnosis.nearest ? diagnosis.nearest->text : "none");
  EXPECT_EQ(diagnosis.fitting.front().cause, cause) << diagnosis.fitting.front().text;
  for (const std::string_view part : parts) {
    EXPECT_NE(diagnosis.fitting.front().text.find(part), std::string::npos) << diagnosis.fitting.front().text;
  }
  EXPECT_FALSE(diagnosis.nearest);
}

TEST(CrosscheckKernel, FindsNothingWrongWithAKernelThatIsRight) {
  for (const auto& [arch, name] : {std::pair{"A100", kDense}, std::pair{"A100", kSparse},
                                   std::pair{"H100", std::string_view("m16n8k16.f16.f16.f16.f16")},
                                   std::pair{"A100", std::string_view("mma.sp.m16n8k16.f32.tf32.tf32.f32")},
                                   std::pair{"A100", std::string_view("mma.sp.m16n8k64.s32.s8.s8.s32")},
                                   std::pair{"L40S", std::string_view("mma.sp.m16n8k64.f32.e4m3.e4m3.f32")}}) {
    const KernelDiagnosis diagnosis = SyntheticKernel(arch, name, 32, 24, 256, true).diagnose();
    EXPECT_TRUE(diagnosis.bit_exact()) << name;
    EXPECT_FALSE(diagnosis.first);
    EXPECT_TRUE(diagnosis.fitting.empty());
    EXPECT_TRUE(diagnosis.location.places.empty());
    EXPECT_EQ(diagnosis.comparison.elements, 32U * 24U);
  }
}

TEST(CrosscheckKernel, NamesAFlippedBitOfD) {
  SyntheticKernel kernel("A100", kDense, 32, 24, 256);
  kernel.data.d.words[5 * 24 + 7] ^= 1U << 13;
  const KernelDiagnosis diagnosis = kernel.diagnose();
  expect_cause(diagnosis, "bit-of-d", {"D[5, 7]", "bit 13"});
  EXPECT_EQ(diagnosis.comparison.mismatches, 1U);
  EXPECT_EQ(diagnosis.first->row, 5U);
  EXPECT_EQ(diagnosis.first->column, 7U);
  EXPECT_EQ(diagnosis.first->ulps, 8192U);
}

/// The diagnosis of a kernel that computes with the changed operands.
KernelDiagnosis with_change(std::string_view instruction, const std::function<void(SyntheticKernel&)>& change) {
  SyntheticKernel kernel("A100", instruction, 32, 24, 256);
  change(kernel);
  kernel.data.d = stored(kernel.compute());
  return kernel.diagnose();
}

void swap_indices(std::uint8_t& nibble) {
  nibble = static_cast<std::uint8_t>((nibble >> 2 | nibble << 2) & 0xF);
}

TEST(CrosscheckKernel, NamesAFlippedBitOfAnOperand) {
  expect_cause(with_change(kDense, [](auto& kernel) { kernel.a(9, 40) ^= 1U << 7; }), "bit-of-a",
               {"row 9", " 40, bit 7"});
  expect_cause(with_change(kSparse, [](auto& kernel) { kernel.compressed.values(9, 40) ^= 1U << 7; }), "bit-of-a",
               {"row 9", " 40, bit 7"});
  expect_cause(with_change(kSparse, [](auto& kernel) { kernel.b_columns(3, 18) ^= 1U << 9; }), "bit-of-b",
               {"k 18, column 3", "bit 9"});
}

TEST(CrosscheckKernel, NamesAChangeOfSingleNibbles) {
  expect_cause(with_change(kSparse, [](auto& kernel) { swap_indices(kernel.compressed.nibbles(6, 11)); }),
               "metadata-nibble", {"two metadata indices of row 6, group 11 (k 44..47) are swapped"});
  const auto store_two = [](SyntheticKernel& kernel) {
    kernel.compressed.nibbles(2, 4) = 0x4;
    kernel.compressed.nibbles(2, 5) = 0xE;
    kernel.store_operands();
  };
  expect_cause(with_change(kSparse,
                           [&](auto& kernel) {
                             store_two(kernel);
                             std::swap(kernel.compressed.nibbles(2, 4), kernel.compressed.nibbles(2, 5));
                           }),
               "metadata-nibble", {"row 2, groups 4 and 5 are exchanged"});
  expect_cause(with_change(kSparse,
                           [&](auto& kernel) {
                             store_two(kernel);
                             kernel.compressed.nibbles(2, 4) = 0x9;
                           }),
               "metadata-nibble", {"row 2, group 4", "0x9 instead of 0x4"});
}

TEST(CrosscheckKernel, NamesAChangeOfAllNibbles) {
  const auto of_all = [](std::string_view instruction, void (*change)(std::uint8_t & nibble)) {
    return with_change(instruction, [&](SyntheticKernel& kernel) {
      auto& nibbles = kernel.compressed.nibbles;
      std::for_each(nibbles.data(), nibbles.data() + nibbles.size(), change);
    });
  };
  expect_cause(of_all(kSparse, swap_indices), "metadata-indices", {"two indices"});
  // Of integers no order is tried.
  expect_cause(of_all("mma.sp.m16n8k64.s32.s8.s8.s32", [](std::uint8_t& nibble) { nibble = 0x4; }), "metadata-indices",
               {"ignored"});
}

TEST(CrosscheckKernel, CountsNibblesThatPtxLeavesUndefined) {
  SyntheticKernel kernel("A100", kSparse, 32, 24, 256);
  EXPECT_FALSE(kernel.diagnose().invalid_metadata);
  kernel.compressed.nibbles(6, 11) = 0b0000;
  kernel.compressed.nibbles(6, 12) = 0b1010;
  kernel.compressed.nibbles(31, 2) = 0b0101;
  kernel.store_operands();
  kernel.data.d = stored(kernel.compute());
  // D of a multiplexer, in a file and where it differs in one word.
  for (const numerics::Word change : {0U, 1U}) {
    kernel.data.d.words[0] ^= change;
    const KernelDiagnosis diagnosis = kernel.diagnose();
    EXPECT_EQ(diagnosis.bit_exact(), change == 0);
    ASSERT_TRUE(diagnosis.invalid_metadata);
    EXPECT_EQ(diagnosis.invalid_metadata->nibbles, 3U);
    EXPECT_EQ(diagnosis.invalid_metadata->row, 6U);
    EXPECT_EQ(diagnosis.invalid_metadata->group, 11U);
    EXPECT_EQ(diagnosis.invalid_metadata->nibble, 0b0000);
  }
}

TEST(CrosscheckKernel, CountsNibblesOfTf32ThatNameNoHalf) {
  SyntheticKernel kernel("A100", "mma.sp.m16n8k16.f32.tf32.tf32.f32", 32, 24, 256);
  kernel.compressed.nibbles(0, 3) = 0b1001;  // valid in 2:4 alone
  kernel.store_operands();
  kernel.data.d = stored(kernel.compute());
  const KernelDiagnosis diagnosis = kernel.diagnose();
  EXPECT_TRUE(diagnosis.bit_exact());
  ASSERT_TRUE(diagnosis.invalid_metadata);
  EXPECT_EQ(diagnosis.invalid_metadata->nibbles, 1U);
  EXPECT_EQ(diagnosis.invalid_metadata->group, 3U);
  EXPECT_EQ(diagnosis.invalid_metadata->nibble, 0b1001);
}

TEST(CrosscheckKernel, CountsNibblesOutOfOrderWhereTheSpellingNeedsThemInOrder) {
  for (const bool ordered : {false, true}) {
    SyntheticKernel kernel("RTX 50", kSparse, 32, 24, 256);
    kernel.declared.instruction.ordered_metadata = ordered;
    kernel.compressed.nibbles(6, 11) = 0b0001;
    kernel.store_operands();
    kernel.data.d = stored(kernel.compute());
    const KernelDiagnosis diagnosis = kernel.diagnose();
    EXPECT_TRUE(diagnosis.bit_exact());
    ASSERT_EQ(diagnosis.invalid_metadata.has_value(), ordered);
    if (ordered) {
      EXPECT_EQ(diagnosis.invalid_metadata->nibbles, 1U);
      EXPECT_EQ(diagnosis.invalid_metadata->group, 11U);
      EXPECT_EQ(diagnosis.invalid_metadata->nibble, 0b0001);
    }
  }
}

TEST(CrosscheckKernel, NamesTheLayoutOfMetadata) {
  SyntheticKernel kernel("A100", kSparse, 32, 24, 128);
  // The file is reordered, but is said to be canonical.
  const auto reordered = sparsity::pack_metadata(kernel.compressed.nibbles, {.order = MetadataOrder::kCutlass});
  std::copy_n(reordered.data(), reordered.size(), kernel.data.metadata->array.bits.begin());
  expect_cause(kernel.diagnose(), "metadata-layout", {"CUTLASS reordered"});
}

TEST(CrosscheckKernel, NamesTheSelector) {
  SyntheticKernel kernel("A100", kSparse, 32, 24, 128);
  // Lanes of selector 1 hold the metadata; those of selector 0 hold that of another matrix.
  const auto lanes = sparsity::pack_metadata(kernel.compressed.nibbles, {DataType::kF16, MetadataOrder::kLanes, 32, 1});
  const auto other = sparsity::pack_metadata(
      sparsity::compress(sparsity::prune_by_magnitude(random_words(32, 128, DataType::kF16, "other"), DataType::kF16),
                         DataType::kF16)
          .nibbles,
      {DataType::kF16, MetadataOrder::kLanes, 32, 0});
  vectors::BitArray words = vectors::make_bit_array({1, lanes.size()}, 4);
  for (std::size_t i = 0; i < words.bits.size(); ++i) {
    words.bits[i] = lanes.data()[i] | other.data()[i];
  }
  kernel.data.metadata = vectors::MetadataInput{words, vectors::MetadataLayout::kLanes, 0};
  kernel.declared.reading.layout = vectors::MetadataLayout::kLanes;
  expect_cause(kernel.diagnose(), "metadata-selector", {"1 instead of 0"});
  kernel.data.metadata->selector = 1;
  kernel.declared.reading.selector = 1;
  EXPECT_TRUE(kernel.diagnose().bit_exact());
}

TEST(CrosscheckKernel, NamesSplitKAndTheNumberOfSlices) {
  for (const int slices : {2, 3, 8, 16}) {
    SyntheticKernel kernel("A100", kDense, 32, 24, 768);
    kernel.data.d = stored(split_k(kernel, slices));
    expect_cause(kernel.diagnose(), "split-k", {"split-K of " + std::to_string(slices) + " slices"});
  }
}

TEST(CrosscheckKernel, NamesTheOrderInWhichSlicesAreReduced) {
  SyntheticKernel kernel("A100", kSparse, 32, 24, 512);
  kernel.declared.order.slices = 4;
  kernel.data.d = stored(split_k(kernel, 4));
  EXPECT_TRUE(kernel.diagnose().bit_exact());
  // The same slices, the last first.
  const auto reversed_groups = [](const auto& matrix, std::size_t parts) {
    auto result = matrix;
    const std::size_t width = matrix.cols() / parts;
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
      for (std::size_t j = 0; j < matrix.cols(); ++j) {
        result(i, j) = matrix(i, (parts - 1 - j / width) * width + j % width);
      }
    }
    return result;
  };
  SyntheticKernel backwards = kernel;
  backwards.compressed.values = reversed_groups(kernel.compressed.values, 4);
  backwards.compressed.nibbles = reversed_groups(kernel.compressed.nibbles, 4);
  backwards.b_columns = reversed_groups(kernel.b_columns, 4);
  kernel.data.d = stored(split_k(backwards, 4));
  expect_cause(kernel.diagnose(), "reduction-order", {"4 slices", "'serial-reversed'"});
  kernel.declared.order.reduction = Reduction::kSerialReversed;
  EXPECT_TRUE(kernel.diagnose().bit_exact());
}

TEST(CrosscheckKernel, NamesAnotherAccumulatorType) {
  SyntheticKernel kernel("A100", kDense, 32, 24, 128);
  const auto half = mma::parse_instruction("m16n8k16.f16.f16.f16.f16");
  const base::Matrix<Word> d = kernel.compute(half, mma::instruction_rules(kernel.target, half));
  for (std::size_t i = 0; i < d.size(); ++i) {
    kernel.data.d.words[i] = numerics::from_double(numerics::to_double(d.data()[i], DataType::kF16), DataType::kF32);
  }
  expect_cause(kernel.diagnose(), "accumulator", {"accumulates in f16 instead of f32"});
}

TEST(CrosscheckKernel, NamesTheArithmeticOfAnotherArchitecture) {
  SyntheticKernel kernel("A100", kDense, 32, 24, 256);
  kernel.data.d = stored(kernel.compute(kernel.declared.instruction,
                                        mma::instruction_rules(mma::find_target("H100"), kernel.declared.instruction)));
  expect_cause(kernel.diagnose(), "architecture", {"hopper"});
}

TEST(CrosscheckKernel, NamesTheStepOfAnotherInstructionAndTheSparseGrouping) {
  SyntheticKernel dense("H100", kDense, 32, 24, 256);
  const auto shallow = mma::parse_instruction("m16n8k8.f32.f16.f16.f32");
  dense.data.d = stored(dense.compute(shallow, mma::instruction_rules(dense.target, shallow)));
  expect_cause(dense.diagnose(), "instruction", {"m16n8k8"});

  SyntheticKernel sparse("H100", kSparse, 32, 24, 256);
  sparse.data.d = stored(sparse.compute(
      sparse.declared.instruction,
      mma::instruction_rules(sparse.target, sparse.declared.instruction, mma::SparseGrouping::kLogical)));
  const KernelDiagnosis diagnosis = sparse.diagnose();
  ASSERT_FALSE(diagnosis.fitting.empty());
  // H2 of k32 and H1 of k16 are the same steps of eight products.
  EXPECT_TRUE(diagnosis.fitting.front().cause == "sparse-grouping" || diagnosis.fitting.front().cause == "instruction")
      << diagnosis.fitting.front().text;
}

TEST(CrosscheckKernel, NamesATransposedOperandOrResult) {
  SyntheticKernel kernel("A100", kDense, 32, 24, 128);
  const StoredMatrix right = std::exchange(kernel.data.b, StoredMatrix{128, 24, false, stored(kernel.b_columns).words});
  expect_cause(kernel.diagnose(), "operand-layout", {"B is taken as column-major"});
  kernel.data.b = right;
  kernel.data.d = {32, 24, false, stored(kernel.compute().transposed()).words};
  expect_cause(kernel.diagnose(), "operand-layout", {"D is stored transposed"});
}

TEST(CrosscheckKernel, NamesAnotherRounding) {
  SyntheticKernel kernel("A100", kDense, 32, 24, 128);
  mma::StepRules rules = kernel.declared.rules;
  rules.rounding = mma::OutputRounding::kNearestEven;
  kernel.data.d = stored(kernel.compute(kernel.declared.instruction, rules));
  expect_cause(kernel.diagnose(), "rounding", {"to nearest even instead of toward zero"});
}

TEST(CrosscheckKernel, NamesAKernelWithoutTensorCores) {
  SyntheticKernel kernel("A100", kDense, 16, 8, 128);
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < 128; ++k) {
        sum = std::fma(static_cast<float>(numerics::to_double(kernel.a(i, k), DataType::kF16)),
                       static_cast<float>(numerics::to_double(kernel.b_columns(j, k), DataType::kF16)), sum);
      }
      kernel.data.d.words[i * 8 + j] = numerics::from_double(sum, DataType::kF32);
    }
  }
  expect_cause(kernel.diagnose(), "no-tensor-core", {"fused multiply-adds"});
}

TEST(CrosscheckKernel, NamesCInTheEpilogueOfAHalfPrecisionResult) {
  SyntheticKernel kernel("A100", kDense, 32, 24, 128, true);
  const base::Matrix<Word> c = std::exchange(kernel.c, {});
  const base::Matrix<Word> sums = kernel.compute();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto sum = static_cast<float>(numerics::to_double(sums.data()[i], DataType::kF32) +
                                        numerics::to_double(c.data()[i], DataType::kF32));
    kernel.data.d.words[i] = numerics::from_double(sum, DataType::kF16);
  }
  kernel.data.d_type = DataType::kF16;
  expect_cause(kernel.diagnose(), "c-place", {"epilogue"});
}

TEST(CrosscheckKernel, NamesTheWayOfPruning) {
  SyntheticKernel kernel("A100", kDense, 32, 24, 128);
  kernel.declared.instruction = mma::parse_instruction(kSparse);
  kernel.declared.rules = mma::instruction_rules(kernel.target, kernel.declared.instruction);
  kernel.declared.reading.pruning = Pruning::kMagnitude;
  // D is still that of the dense kernel over all of A.
  expect_cause(kernel.diagnose(), "pruning", {"not pruned"});
}

TEST(CrosscheckKernel, NamesTwoFaultsAtOnce) {
  SyntheticKernel kernel("A100", kDense, 32, 24, 256);
  kernel.data.d = stored(split_k(kernel, 4));
  kernel.data.b = {256, 24, false, stored(kernel.b_columns).words};
  expect_cause(kernel.diagnose(), "operand-layout+split-k", {"B is taken", "split-K of 4 slices"});
}

TEST(CrosscheckKernel, SaysWhereNothingFitsAndWhatComesNearest) {
  SyntheticKernel kernel("A100", kDense, 32, 24, 256);
  kernel.data.d = stored(split_k(kernel, 4));
  const base::RandomStream stream(3);
  for (std::size_t i = 0; i < kernel.data.d.words.size(); i += 6) {
    kernel.data.d.words[i] = static_cast<Word>(stream.bits(i)) & 0x3FFFFFFFU;
  }
  const KernelDiagnosis diagnosis = kernel.diagnose();
  EXPECT_TRUE(diagnosis.fitting.empty());
  ASSERT_TRUE(diagnosis.nearest);
  EXPECT_EQ(diagnosis.nearest->cause, "split-k");
  EXPECT_EQ(diagnosis.nearest->mismatches, 32U * 24U / 6U);
  EXPECT_GT(diagnosis.comparison.mismatches, diagnosis.nearest->mismatches);
  KernelCase shown;
  shown.name = "noisy";
  shown.target = kernel.target;
  shown.data = kernel.data;
  shown.declared = kernel.declared;
  const std::string text = kernel_text(shown, diagnosis);
  EXPECT_NE(text.find("no cause found"), std::string::npos) << text;
  EXPECT_NE(text.find("partial: [split-k] explains 594 of the 722"), std::string::npos) << text;
  EXPECT_NE(text.find("128 remain\nwhat remains: "), std::string::npos) << text;
  EXPECT_NE(text.find("try: the same with --k-order, --instruction or a --kernel file that says so"),
            std::string::npos);
}

TEST(UlpDistance, CountsStepsThroughZeroAndKnowsSpecials) {
  EXPECT_EQ(ulp_distance(0x3F800000, 0x3F800001, DataType::kF32), 1U);
  EXPECT_EQ(ulp_distance(0x00000001, 0x80000001, DataType::kF32), 3U);
  EXPECT_EQ(ulp_distance(0x00000000, 0x80000000, DataType::kF32), 1U);
  EXPECT_EQ(ulp_distance(0x7F800000, 0x3F800000, DataType::kF32), std::nullopt);
  EXPECT_EQ(ulp_distance(0x7F800000, 0x7F800000, DataType::kF32), 0U);
  EXPECT_EQ(ulp_distance(0xFFFFFFFF, 5, DataType::kS32), 6U);
}

TEST(CompareWords, SortsDistancesIntoPowersOfTwo) {
  base::Matrix<Word> x(1, 6);
  base::Matrix<Word> y(1, 6);
  const Word distances[] = {0, 1, 2, 3, 4, 5};
  for (std::size_t i = 0; i < 6; ++i) {
    x(0, i) = 0x3F800000;
    y(0, i) = 0x3F800000 + distances[i];
  }
  const WordComparison comparison = compare_words(x, y, DataType::kF32);
  EXPECT_EQ(comparison.mismatches, 5U);
  ASSERT_EQ(comparison.histogram.size(), 5U);
  EXPECT_EQ(comparison.histogram[2].elements, 1U);  // 2
  EXPECT_EQ(comparison.histogram[3].from, 3U);      // 3..4
  EXPECT_EQ(comparison.histogram[3].to, 4U);
  EXPECT_EQ(comparison.histogram[3].elements, 2U);
  EXPECT_EQ(comparison.histogram[4].from, 5U);  // 5..8
  EXPECT_EQ(comparison.histogram[4].elements, 1U);
}

}  // namespace
}  // namespace sptc::check::kernel
