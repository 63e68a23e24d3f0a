// SPDX-License-Identifier: Apache-2.0
//
// Kernels with a planted fault each, as real kernels have them: the diagnosis must name the fault
// and its place.
#include "models/mma/dot_step.h"
#include "tests/unit/sim/check/kernel/planted_kernel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace sptc::check::kernel {
namespace {

TEST(PlantedFaults, OfMetadataAreNamed) {
  expect_named("-0.0 taken for a non-zero", "negative-zero", {"-0.0"}, with_negative_zeros(sparse));
  expect_named(
      "metadata rows exchanged", "metadata-rows", {"row i ^ 8", "rows 32 to 47"},
      with_moved_nibbles(sparse, {32, 47, 0, 95}, [](std::size_t i, std::size_t g) { return std::pair(i ^ 8, g); }));
  expect_named("metadata of one row for another", "metadata-rows", {"rows 6 and 9 are exchanged"},
               with_moved_nibbles({"L40S", kFp8Sparse, 64, 48, 256}, {0, 63, 0, 47},
                                  [](std::size_t i, std::size_t g) { return std::pair(swapped(i, 6, 9), g); }));
  expect_named(
      "metadata words swapped in pairs in a tile", "metadata-words", {"rows 64 to 95", "pairs of 16 bits"},
      with_moved_nibbles(sparse, {64, 95, 0, 95}, [](std::size_t i, std::size_t g) { return std::pair(i, g ^ 4); }));
  expect_named("metadata of a k-tile late", "metadata-words", {"32 bits late", "columns 0 to 47"},
               with_moved_nibbles(sparse, {0, 127, 0, 47},
                                  [](std::size_t i, std::size_t g) { return std::pair(i, g < 8 ? g : g - 8); }));
  expect_named(
      "metadata of the second of two instructions for both", "metadata-words",
      {"has the second of each pair of 32 bits twice"},
      with_moved_nibbles(sparse, {0, 127, 0, 95}, [](std::size_t i, std::size_t g) { return std::pair(i, g | 8); }));
  expect_named("metadata of one stage stale", "metadata-words",
               {"rows 0 to 63", "in place of the metadata of k 96 to 127 that of k 64 to 95"},
               with_moved_nibbles(sparse, {0, 63, 0, 95}, [](std::size_t i, std::size_t g) {
                 return std::pair(i, g >= 24 && g < 32 ? g - 8 : g);
               }));
  expect_named("metadata rows exchanged in one stage", "metadata-rows",
               {"rows 64 to 127", "in k 64 to 127 line i of the metadata is line i ^ 8"},
               with_moved_nibbles(sparse, {64, 127, 0, 95}, [](std::size_t i, std::size_t g) {
                 return std::pair(g >= 16 && g < 32 ? i ^ 8 : i, g);
               }));
  expect_named("values of one stage stale under fresh metadata", "duplicated-k-tile",
               {"rows 0 to 63", "in place of the values of A of k 96 to 127 again those of k 64 to 95"},
               with_operands(sparse, {0, 63, 0, 95}, [](SyntheticKernel& kernel) {
                 kernel.compressed.values = moved_elements(kernel.compressed.values, [](std::size_t i, std::size_t t) {
                   return std::pair(i, t >= 48 && t < 64 ? t - 16 : t);
                 });
               }));
  expect_named("values of one row for another", "value-rows", {"of the values of A rows 6 and 9 are exchanged"},
               with_operands(sparse, {0, 127, 0, 95}, [](SyntheticKernel& kernel) {
                 kernel.compressed.values = moved_elements(kernel.compressed.values, [](std::size_t i, std::size_t t) {
                   return std::pair(swapped(i, 6, 9), t);
                 });
               }));
  expect_named("metadata of PyTorch's old encoder", "metadata-encoder", {"old order"},
               with_old_encoder({"A100", kBrainSparse, 64, 48, 256}));
}

TEST(PlantedFaults, OfEpiloguesAreNamed) {
  expect_named("fp8 scales of groups of rows", "scale",
               {"rows 0 to 31 of D are 0.5 times", "rows 32 to 63 of D are 4 times"},
               with_factors({"L40S", kFp8, 64, 64, 256}, [](std::size_t i, std::size_t) { return i < 32 ? 0.5 : 4; }));
  expect_named("scales of columns", "scale", {"columns 0 to 15 of D are 2 times"},
               with_factors({"L40S", kFp8, 64, 32, 256}, [](std::size_t, std::size_t j) { return j < 16 ? 2 : 0.25; }));
  expect_named("sums rounded to f16", "d-type", {"rounded to f16"},
               with_epilogue(half, {}, {}, {.through = DataType::kF16}));
  expect_named("D rounded toward zero", "d-type", {"toward zero"},
               with_epilogue(narrow, {}, {}, {.narrowing = Narrowing::kTowardZero}));
  expect_named("no bias", "epilogue", {"bias is not added"},
               with_epilogue(half, {}, some_bias(128), {.bias_times = 0}));
  expect_named("no ReLU", "epilogue", {"no ReLU"},
               with_epilogue(narrow, {.activation = Activation::kRelu}, some_bias(96), {}));
  expect_named("beta ignored", "epilogue", {"beta is taken for 1 instead of 0.5"},
               with_epilogue(with_c, {.beta = 0.5F}, {}, {}));
  expect_named("alpha applied to C", "epilogue", {"alpha multiplies C, too"},
               with_epilogue(with_c, {.alpha = 0.75F, .beta = 0.5F}, {}, {.alpha = 0.75F, .beta = 0.375F}));
  expect_named("bias of the row before", "epilogue", {"row i takes the bias of row i - 1, around the end"},
               with_epilogue(half, {}, some_bias(128), {.bias_shift = -1}));
  expect_named("alpha times the bias", "epilogue", {"added before alpha multiplies"},
               with_epilogue(half, {.alpha = 0.75F}, some_bias(128), {.alpha = 0.75F, .bias_before_alpha = true}));
  expect_named("sums kept in f16 between k-tiles", "rounded-k-tiles", {"rounded to f16 every 64 k"}, [] {
    Plant plant(narrow);
    const SyntheticKernel& kernel = plant.kernel;
    for (std::size_t i = 0; i < narrow.m; ++i) {
      for (std::size_t j = 0; j < narrow.n; ++j) {
        Word sum = 0;
        for (std::size_t k = 0; k < narrow.k; k += 64) {
          const Word start = numerics::from_double(numerics::to_double(sum, DataType::kF16), DataType::kF32);
          sum = plant.narrowed(mma::dense_dot(kernel.a.row(i).subspan(k, 64), kernel.b_columns.row(j).subspan(k, 64),
                                              start, kernel.declared.instruction, kernel.declared.rules));
        }
        plant.d(i, j) = sum;
      }
    }
    plant.kernel.data.d = stored(plant.d);
    return plant.kernel.diagnose();
  }());
  expect_named("a bias with the wrong sign", "epilogue", {"the bias is subtracted"},
               with_epilogue(half, {}, some_bias(128), {.bias_times = -1}));
  expect_named("bias added in f16", "epilogue", {"the sum and the bias are rounded to f16, then added"},
               with_epilogue(narrow, {}, some_bias(96), {.through = DataType::kF16, .bias_through = DataType::kF16}));
  expect_named("alpha and beta exchanged", "epilogue", {"alpha and beta are exchanged"},
               with_epilogue(with_c, {.alpha = 0.75F, .beta = 0.25F}, {}, {.alpha = 0.25F, .beta = 0.75F}));
  expect_named("scale of fp8 A off", "scale", {"scale of A is not applied"},
               with_epilogue({"L40S", kFp8, 64, 64, 256}, {.scale_a = 0.0371F}, {}, {}));
}

/// D of `shape` after `change` of its words, with C in D's place where it has one.
KernelDiagnosis with_changed_d(const Shape& shape, const Epilogue& declared,
                               const std::function<void(Plant& plant)>& change) {
  Plant plant(shape);
  plant.kernel.declared.epilogue = declared;
  change(plant);
  plant.kernel.data.d = stored(plant.d);
  return plant.kernel.diagnose();
}

TEST(PlantedFaults, OfSingleWordsOfDAreNamed) {
  constexpr Word kDue = 0x7FFFFFFF, kOther = 0x7FC00000, kNegativeZero = 0x80000000;
  const auto with_a = [](Word word, Word in_d) {
    return with_changed_d(half, {}, [=](Plant& plant) {
      for (std::size_t k = 0; k < half.k; ++k) {
        plant.kernel.a(10, k) = word;
      }
      plant.kernel.store_operands();
      plant.store(plant.kernel.compute());
      for (std::size_t j = 0; j < half.n; ++j) {
        plant.d(10, j) = in_d;
      }
    });
  };
  static_assert(kDue != kOther);
  expect_named("NaN with other bits", "nan-bits", {"row 10"}, with_a(0x7E00, kOther));
  expect_named("zeros of the other sign", "zero-sign", {"row 10"}, with_a(0, kNegativeZero));
  expect_named("a clamp", "epilogue", {"D is clamped to at most 6"}, with_changed_d(half, {}, [](Plant& plant) {
                 for (std::size_t i = 0; i < plant.d.size(); ++i) {
                   Word& word = plant.d.data()[i];
                   word = numerics::to_double(word, DataType::kF32) > 6 ? 0x40C00000 : word;
                 }
               }));
  expect_named("a tile that was not stored over C", "unwritten-region", {"D still holds C", "rows 32 to 63"},
               with_changed_d(with_c, {}, [](Plant& plant) {
                 for (std::size_t i = 32; i < 64; ++i) {
                   std::ranges::copy(plant.kernel.c.row(i).first(32), plant.d.row(i).begin());
                 }
               }));
}

TEST(PlantedFaults, OfOperandsThatAreRoundedAreNamed) {
  const Shape tf32{"A100", "m16n8k8.f32.tf32.tf32.f32", 64, 64, 128};
  for (const bool of_b : {true, false}) {
    expect_named("tf32 that is rounded", "operand-rounding", {of_b ? "A and B are" : "A is", "rna"}, [&] {
      Plant plant(tf32);
      SyntheticKernel& kernel = plant.kernel;
      const base::RandomStream stream = base::RandomStream(4).fork("low");
      std::size_t at = 0;
      for (base::Matrix<Word>* words : {&kernel.a, &kernel.b_columns}) {
        for (std::size_t i = 0; i < words->size(); ++i) {
          words->data()[i] |= static_cast<Word>(stream.below(at++, 0x2000));
        }
      }
      kernel.store_operands();
      SyntheticKernel other = kernel;
      for (base::Matrix<Word>* words : {&other.a, of_b ? &other.b_columns : &other.a}) {
        for (std::size_t i = 0; i < words->size(); ++i) {
          words->data()[i] = (words->data()[i] + 0x1000) & ~Word{0x1FFF};
        }
      }
      plant.store(other.compute());
      return kernel.diagnose();
    }());
  }
}

TEST(PlantedFaults, OfLinesOfCAreNamed) {
  const auto with_moved_c = [](const Source& source) {
    return with_operands(with_c, {0, 63, 0, 63},
                         [&](SyntheticKernel& kernel) { kernel.c = moved_elements(kernel.c, source); });
  };
  expect_named("C of other rows", "c-lines", {"of C row i holds row i + 8"},
               with_moved_c([](std::size_t i, std::size_t j) { return std::pair(i < 56 ? i + 8 : i, j); }));
  expect_named("columns of C exchanged", "c-lines", {"of C column i holds column i ^ 1"},
               with_moved_c([](std::size_t i, std::size_t j) { return std::pair(i, j ^ 1); }));
}

TEST(PlantedFaults, OfAddendsAreNamed) {
  constexpr float kScale = 0.0371F;
  expect_named("no C", "epilogue", {"C is not added"}, with_epilogue(with_c, {}, {}, {.c_times = 0}));
  for (const DataType type : {DataType::kF16, DataType::kBf16}) {
    const std::string text = fmt::format("C is rounded to {} before it is added", numerics::name(type));
    const auto rounded = [type](SyntheticKernel& kernel) {
      for (std::size_t i = 0; i < kernel.c.size(); ++i) {
        const double value = numerics::to_double(kernel.c.data()[i], DataType::kF32);
        const Word narrow = numerics::from_double(value, type);
        kernel.c.data()[i] = numerics::from_double(numerics::to_double(narrow, type), DataType::kF32);
      }
    };
    expect_named("C rounded", "c-type", {text}, with_operands(with_c, {0, 63, 0, 63}, rounded));
    expect_named("C rounded in a CTA", "c-type", {text, "rows 32 to 63 x columns 0 to 31"},
                 with_operands(with_c, {32, 63, 0, 31}, rounded));
  }
  expect_named("a bias of columns", "epilogue", {"the bias runs along n instead of m"},
               with_epilogue(square, {}, some_bias(64), {.bias_of_columns = true}));
  expect_named("bias after ReLU", "epilogue", {"the bias is added after the activation"},
               with_epilogue(half, {.activation = Activation::kRelu}, some_bias(128),
                             {.bias_after_activation = true, .activation = Activation::kRelu}));
  expect_named("alpha applied twice", "epilogue", {"alpha is applied twice"},
               with_epilogue(half, {.alpha = 0.7F}, {}, {.alpha = 0.7F * 0.7F}));
  expect_named("alpha ignored", "epilogue", {"alpha is taken for 1 instead of 0.75"},
               with_epilogue(half, {.alpha = 0.75F}, {}, {}));
  expect_named("another alpha", "scale", {"alpha is 0.7 instead of 0.3"},
               with_epilogue(half, {.alpha = 0.3F}, {}, {.alpha = 0.7F}));
  const auto in_half =
      static_cast<float>(numerics::to_double(numerics::from_double(0.7F, DataType::kF16), DataType::kF16));
  expect_named("alpha in half precision", "epilogue", {"alpha is rounded to f16"},
               with_epilogue(half, {.alpha = 0.7F}, {}, {.alpha = in_half}));
  expect_named("bias of another CTA", "epilogue", {"row i takes the bias of row i + 32, around the end"},
               with_epilogue(half, {}, some_bias(128), {.bias_shift = 32}));
  expect_named("scale of fp8 A twice", "scale", {"scale of A is applied twice"},
               with_epilogue({"L40S", kFp8, 64, 64, 256}, {.scale_a = kScale}, {}, {.scale_a = kScale * kScale}));
}

TEST(PlantedFaults, OfFragmentsAreNamed) {
  expect_named("fp8 twice too large in a CTA", "scale", {"rows 32 to 63 x columns 0 to 31", "2 times"},
               with_factors({"L40S", kFp8Sparse, 64, 64, 256},
                            [](std::size_t i, std::size_t j) { return i >= 32 && j < 32 ? 2 : 1; }));
  expect_named(
      "ldmatrix of B without .trans", "transposed-fragments", {"8 x 8 blocks of B"},
      with_moved_elements(square, {0, 63, 0, 63}, &SyntheticKernel::b_columns, [](std::size_t i, std::size_t k) {
        return std::pair(i / 8 * 8 + k % 8, k / 8 * 8 + i % 8);
      }));
  expect_named(
      "B loaded with the addresses of A", "permuted-fragments",
      {"16 x 16 block of B the quarters off the diagonal", "with the addresses of A"},
      with_moved_elements(square, {0, 63, 0, 63}, &SyntheticKernel::b_columns, [](std::size_t j, std::size_t k) {
        const bool moves = j / 8 % 2 != k / 8 % 2;
        return moves ? std::pair(j ^ 8, k ^ 8) : std::pair(j, k);
      }));
  expect_named("a swizzle of A that is not undone", "swizzle",
               {"128-byte swizzle of A", "rows 1 to 7, 9 to 15, 17 to 23 and 25 to 31 x all 64 columns"},
               with_moved_elements(square, {0, 31, 0, 63}, &SyntheticKernel::a, [](std::size_t i, std::size_t k) {
                 return std::pair(i, (k / 8 ^ i % 8) * 8 + k % 8);
               }));
  expect_named(
      "a swizzle of row-major B that is not undone", "swizzle", {"64-byte swizzle of B", "where a line is of one k"},
      with_moved_elements(square, {0, 63, 0, 63}, &SyntheticKernel::b_columns, [](std::size_t j, std::size_t k) {
        return std::pair((j / 8 ^ (k / 2 & 3)) * 8 + j % 8, k);
      }));
  expect_named("halves of A exchanged in a stage", "permuted-fragments",
               {"rows 32 to 63", "in k 96 to 127 line i of A is line i ^ 8"},
               with_moved_elements(square, {32, 63, 0, 63}, &SyntheticKernel::a,
                                   [](std::size_t i, std::size_t k) { return std::pair(k / 32 == 3 ? i ^ 8 : i, k); }));
  expect_named(
      "columns of B one on in a stage, sparse", "permuted-fragments",
      {"in k 64 to 127 line i of B is line i + 1 within 8 lines"},
      with_moved_elements(sparse, {0, 127, 0, 95}, &SyntheticKernel::b_columns, [](std::size_t j, std::size_t k) {
        return std::pair(k / 64 == 1 ? j / 8 * 8 + (j + 1) % 8 : j, k);
      }));
  expect_named("an accumulator that is not cleared", "uncleared-accumulator",
               {"rows 32 to 63 x columns 0 to 31", "sums of rows 0 to 31 x columns 32 to 63"}, [] {
                 Plant plant(square);
                 SyntheticKernel other = plant.kernel;
                 other.c = base::Matrix<Word>(64, 64);
                 for (std::size_t i = 0; i < 32; ++i) {
                   for (std::size_t j = 0; j < 32; ++j) {
                     other.c(32 + i, j) = plant.d(i, 32 + j);
                   }
                 }
                 plant.replace(other, {32, 63, 0, 31});
                 return plant.kernel.diagnose();
               }());
  expect_named("a warp along K that adds nothing", "missing-k", {"k-tile 1 of every 2 tiles of 32 k"},
               with_moved_k(square, {0, 63, 32, 63}, 32, true, true, [](int t) { return t % 2 == 1 ? -1 : t; }));
}

TEST(PlantedFaults, OfOperandsAreNamed) {
  expect_named("metadata in Sparse-Marlin's order", "metadata-layout", {"Sparse-Marlin"}, [] {
    Plant plant(sparse);
    const sparsity::CompressedMatrix& a = plant.kernel.compressed;
    const auto reordered = sparsity::pack_metadata(a.nibbles, {a.type, sparsity::MetadataOrder::kMarlin});
    std::copy_n(reordered.data(), reordered.size(), plant.kernel.data.metadata->array.bits.begin());
    return plant.kernel.diagnose();
  }());
  expect_named("A read 8 elements on in a CTA", "pointer-offset", {"A is read 8 elements too far on", "rows 0 to 31"},
               with_moved_elements(square, {0, 31, 0, 63}, &SyntheticKernel::a, [](std::size_t i, std::size_t k) {
                 const std::size_t index = std::min<std::size_t>(i * 256 + k + 8, 64 * 256 - 1);
                 return std::pair(index / 256, index % 256);
               }));
  expect_named("values read one element on in a CTA", "pointer-offset",
               {"the values of A are read 1 element too far on", "rows 0 to 63"},
               with_operands(sparse, {0, 63, 0, 95}, [](SyntheticKernel& kernel) {
                 kernel.compressed.values = moved_elements(kernel.compressed.values, [](std::size_t i, std::size_t t) {
                   const std::size_t index = std::min<std::size_t>(i * 128 + t + 1, 128 * 128 - 1);
                   return std::pair(index / 128, index % 128);
                 });
               }));
  expect_named("rows of A exchanged under C", "permuted-rows", {"of A rows 7 and 41 are exchanged"},
               with_moved_elements(with_c, {0, 63, 0, 63}, &SyntheticKernel::a,
                                   [](std::size_t i, std::size_t k) { return std::pair(swapped(i, 7, 41), k); }));
  expect_named(
      "columns of B twice under C", "duplicated-columns", {"of B column i holds column i - 8"},
      with_moved_elements(with_c, {0, 63, 0, 63}, &SyntheticKernel::b_columns,
                          [](std::size_t j, std::size_t k) { return std::pair(j >= 8 && j < 16 ? j - 8 : j, k); }));
  expect_named("s8 taken for u8", "operand-type", {"B is taken for u8"}, [] {
    Plant plant({"A100", kBytes, 64, 48, 256});
    SyntheticKernel other = plant.kernel;
    other.declared.instruction.b_type = DataType::kU8;
    other.declared.rules = mma::instruction_rules(other.target, other.declared.instruction);
    plant.replace(other, plant.everywhere());
    return plant.kernel.diagnose();
  }());
  expect_named("e4m3 taken for e5m2", "operand-type", {"A is taken for e5m2"}, [] {
    Plant plant({"L40S", kFp8Sparse, 64, 48, 256});
    SyntheticKernel other = plant.kernel;
    other.declared.instruction.a_type = DataType::kE5m2;
    other.declared.rules = mma::instruction_rules(other.target, other.declared.instruction);
    plant.replace(other, plant.everywhere());
    return plant.kernel.diagnose();
  }());
}

}  // namespace
}  // namespace sptc::check::kernel
