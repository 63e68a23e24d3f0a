// SPDX-License-Identifier: Apache-2.0
//
// Kernels with a planted fault each, as real kernels have them: the diagnosis must name the fault
// and its place.
#include "tests/unit/sim/compare/kernel/planted_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::compare::kernel {
namespace {

struct Fault {
  std::string name;
  std::string cause;               ///< that must be named
  std::vector<std::string> parts;  ///< of the text: what and where
  std::function<KernelDiagnosis()> diagnose;
};

const Shape half{"A100", kHalf, 128, 96, 256};
const Shape sparse{"A100", kHalfSparse, 128, 96, 256};
const Shape narrow{"H100", kHalf, 96, 64, 320, false, DataType::kF16};
const Shape with_c{"A100", kBrain, 64, 64, 192, true};
const Shape square{"A100", kHalf, 64, 64, 256};

/// D has the `doubled` tile of `tile` k twice, the second time behind the first.
KernelDiagnosis with_k_twice(const Shape& shape, std::size_t tile, std::size_t doubled) {
  Shape longer = shape;
  longer.k += tile;
  Plant plant(shape);
  SyntheticKernel other(longer.arch, longer.instruction, longer.m, longer.n, longer.k);
  const auto widen = [&](auto& to, const auto& from, std::size_t width) {
    for (std::size_t row = 0; row < to.rows(); ++row) {
      for (std::size_t at = 0; at < to.cols(); ++at) {
        to(row, at) = from(row, at < (doubled + 1) * width ? at : at - width);
      }
    }
  };
  widen(other.b_columns, plant.kernel.b_columns, tile);
  if (plant.kernel.declared.instruction.sparse) {
    const auto& pattern = other.compressed.pattern;
    const auto group = static_cast<std::size_t>(pattern.group);
    widen(other.compressed.values, plant.kernel.compressed.values,
          tile * static_cast<std::size_t>(pattern.kept) / group);
    widen(other.compressed.nibbles, plant.kernel.compressed.nibbles, tile / group);
  } else {
    widen(other.a, plant.kernel.a, tile);
  }
  plant.replace(other, plant.everywhere());
  return plant.kernel.diagnose();
}

std::vector<Fault> faults_of_k() {
  return {{"two missing k-tiles of a CTA",
           "missing-k",
           {"rows 0 to 63 x columns 32 to 95", "lacks k 32 to 63, k 192 to 223"},
           [] {
             return with_moved_k(half, {0, 63, 32, 95}, 32, true, true,
                                 [](int t) { return t == 1 || t == 6 ? -1 : t; });
           }},
          {"missing k-tile of a CTA",
           "missing-k",
           {"rows 64 to 127 x columns 32 to 63", "k 96 to 127"},
           [] {
             return without_k(half, {64, 127, 32, 63}, 32, 3);
           }},
          {"missing k-tile of a CTA, sparse",
           "missing-k",
           {"rows 32 to 63 x columns 48 to 95", "lacks k 64 to 127"},
           [] {
             return without_k(sparse, {32, 63, 48, 95}, 64, 1);
           }},
          {"missing tail of K",
           "missing-k",
           {"all 96 rows", "lacks k 304 to 319"},
           [] {
             return without_k(narrow, {0, 95, 0, 63}, 16, 19);
           }},
          {"missing k in integers",
           "missing-k",
           {"rows 0 to 63 x columns 64 to 127", "k 128 to 191"},
           [] {
             return without_k({"A100", kBytes, 128, 128, 512}, {0, 63, 64, 127}, 64, 2);
           }},
          {"missing half of K, tf32",
           "missing-k",
           {"rows 16 to 31", "lacks k 64 to 127"},
           [] {
             return without_k({"A100", kTf32Sparse, 64, 32, 128}, {16, 31, 0, 31}, 32, 2, 2);
           }},
          {"missing first k with C",
           "missing-k",
           {"rows 32 to 63 x columns 0 to 31", "k 0 to 31"},
           [] {
             return without_k(with_c, {32, 63, 0, 31}, 32, 0);
           }},
          {"a k-tile twice",
           "doubled-k",
           {"all 64 rows", "D has k 96 to 127 twice"},
           [] { return with_k_twice(square, 32, 3); }},
          {"a first k-tile twice, sparse",
           "doubled-k",
           {"all 128 rows", "D has k 0 to 63 twice"},
           [] { return with_k_twice(sparse, 64, 0); }},
          {"missing k in fp8", "missing-k", {"columns 16 to 31", "k 128 to 255"}, [] {
             return without_k({"L40S", kFp8, 64, 64, 512}, {0, 63, 16, 31}, 128, 1);
           }}};
}

std::vector<Fault> faults_of_k_tiles() {
  return {
      {"stale k-tile of A",
       "duplicated-k-tile",
       {"rows 0 to 63", "k 64 to 95", "A again k 32 to 63"},
       [] {
         return with_moved_k(half, {0, 63, 0, 95}, 32, true, false,
                             [](int t) { return t == 2 ? 1 : t; });
       }},
      {"stale k-tile of B",
       "duplicated-k-tile",
       {"columns 64 to 95", "k 128 to 191", "B again k 64 to 127"},
       [] {
         return with_moved_k(sparse, {0, 127, 64, 95}, 64, false, true,
                             [](int t) { return t == 2 ? 1 : t; });
       }},
      {"stale k-tiles of both",
       "duplicated-k-tile",
       {"A and B again k 0 to 31"},
       [] {
         return with_moved_k(half, {64, 127, 0, 95}, 32, true, true,
                             [](int t) { return t == 7 ? 0 : t; });
       }},
      {"exchanged k-tiles of A",
       "exchanged-k-tiles",
       {"all 64 rows", "k 64 to 95", "k 96 to 127"},
       [] {
         return with_moved_k(with_c, {0, 63, 0, 63}, 32, true, false, [](int t) {
           return t == 2 ? 3 : t == 3 ? 2 : t;
         });
       }},
      {"A one k-tile late",
       "permuted-k-tiles",
       {"tile t of 32 k of B", "t - 1"},
       [] {
         return with_moved_k(half, {0, 127, 0, 95}, 32, true, false,
                             [](int t) { return (t + 7) % 8; });
       }},
      {"k-tiles of B swapped in pairs",
       "permuted-k-tiles",
       {"64 k of A", "t ^ 1", "columns 0 to 47"},
       [] {
         return with_moved_k(sparse, {0, 127, 0, 47}, 64, false, true, [](int t) { return t ^ 1; });
       }},
      {"K summed from another tile on", "k-order", {"from k 96 on"}, [] {
         return with_moved_k(half, {0, 127, 0, 95}, 32, true, true,
                             [](int t) { return (t + 3) % 8; });
       }}};
}

std::vector<Fault> faults_of_lines() {
  return {{"another leading dimension of B",
           "leading-dimension",
           {"leading dimension of B is taken for 104 instead of 96"},
           [] {
             return with_operands(half, {0, 127, 0, 95}, [](SyntheticKernel& kernel) {
               const base::Matrix<Word> b = kernel.b_columns.transposed();
               for (std::size_t j = 0; j < kernel.data.n; ++j) {
                 for (std::size_t k = 0; k < kernel.data.k; ++k) {
                   const std::size_t at = k * 104 + j;
                   kernel.b_columns(j, k) = at < b.size() ? b.data()[at] : 0;
                 }
               }
             });
           }},
          {"columns twice",
           "duplicated-columns",
           {"column i - 8", "columns 40 to 47"},
           [] {
             return with_moved_lines({"A100", kBrainSparse, 64, 64, 128}, false,
                                     [](std::size_t j) { return j >= 40 && j < 48 ? j - 8 : j; });
           }},
          {"rows exchanged",
           "permuted-rows",
           {"rows 5 and 77 are exchanged"},
           [] {
             return with_moved_lines(half, true, [](std::size_t i) { return swapped(i, 5, 77); });
           }},
          {"rows of fragments exchanged",
           "permuted-rows",
           {"row i ^ 8", "all 128 rows"},
           [] { return with_moved_lines(sparse, true, [](std::size_t i) { return i ^ 8; }); }},
          {"a row twice",
           "duplicated-rows",
           {"row 33 holds row 32"},
           [] {
             return with_moved_lines(narrow, true, [](std::size_t i) { return i == 33 ? 32 : i; });
           }},
          {"a row everywhere in a tile",
           "duplicated-rows",
           {"rows 17 to 31 all hold row 16"},
           [] {
             return with_moved_lines(half, true,
                                     [](std::size_t i) { return i > 16 && i < 32 ? 16 : i; });
           }},
          {"rows of another CTA", "duplicated-rows", {"row i - 64", "rows 64 to 127"}, [] {
             return with_moved_lines({"A100", kBytesSparse, 128, 64, 256}, true,
                                     [](std::size_t i) { return i >= 64 ? i - 64 : i; });
           }}};
}

std::vector<Fault> faults_of_tiles() {
  return {{"columns exchanged",
           "permuted-columns",
           {"columns 3 and 60 are exchanged"},
           [] {
             return with_moved_lines(narrow, false,
                                     [](std::size_t j) { return swapped(j, 3, 60); });
           }},
          {"columns of fragments exchanged",
           "permuted-columns",
           {"column i ^ 1"},
           [] { return with_moved_lines(half, false, [](std::size_t j) { return j ^ 1; }); }},

          {"a CTA that does not run",
           "zero-region",
           {"rows 64 to 127 x columns 0 to 31", "tile [1, 0]"},
           [] {
             return with_word(half, {64, 127, 0, 31}, 0);
           }},
          {"a last row of CTAs that does not run",
           "zero-region",
           {"rows 64 to 95 x all 64 columns"},
           [] {
             return with_word(narrow, {64, 95, 0, 63}, 0);
           }},
          {"a tile of poison",
           "unwritten-region",
           {"rows 0 to 31 x columns 32 to 63", "0xffffffff"},
           [] {
             return with_word(with_c, {0, 31, 32, 63}, 0xFFFFFFFF);
           }},
          {"tiles exchanged",
           "moved-tile",
           {"rows 0 to 63 x columns 32 to 63", "rows 64 to 127 x columns 64 to 95"},
           [] {
             Plant plant(half);
             for (std::size_t i = 0; i < 64; ++i) {
               for (std::size_t j = 0; j < 32; ++j) {
                 std::swap(plant.d(i, 32 + j), plant.d(64 + i, 64 + j));
               }
             }
             plant.kernel.data.d = stored(plant.d);
             return plant.kernel.diagnose();
           }},
          {"a tile transposed", "transposed-tile", {"rows 32 to 47 x columns 16 to 31"}, [] {
             Plant plant(sparse);
             const base::Matrix<Word> right = plant.d;
             for (std::size_t i = 0; i < 16; ++i) {
               for (std::size_t j = 0; j < 16; ++j) {
                 plant.set(32 + i, 16 + j, right(32 + j, 16 + i));
               }
             }
             return plant.kernel.diagnose();
           }}};
}

std::vector<Fault> faults_of_metadata() {
  return {{"-0.0 taken for a non-zero",
           "negative-zero",
           {"-0.0"},
           [] { return with_negative_zeros(sparse); }},
          {"metadata rows exchanged",
           "metadata-rows",
           {"row i ^ 8", "rows 32 to 47"},
           [] {
             return with_operands(sparse, {32, 47, 0, 95}, [](SyntheticKernel& kernel) {
               move_rows(kernel.compressed.nibbles, [](std::size_t i) { return i ^ 8; });
             });
           }},
          {"metadata of one row for another",
           "metadata-rows",
           {"rows 6 and 9 are exchanged"},
           [] {
             return with_operands({"L40S", kFp8Sparse, 64, 48, 256}, {0, 63, 0, 47},
                                  [](SyntheticKernel& kernel) {
                                    move_rows(kernel.compressed.nibbles,
                                              [](std::size_t i) { return swapped(i, 6, 9); });
                                  });
           }},
          {"metadata words swapped in pairs in a tile",
           "metadata-words",
           {"rows 64 to 95", "pairs of 16 bits"},
           [] {
             return with_operands(sparse, {64, 95, 0, 95}, [](SyntheticKernel& kernel) {
               const base::Matrix<std::uint8_t> before = kernel.compressed.nibbles;
               for (std::size_t i = 0; i < before.rows(); ++i) {
                 for (std::size_t g = 0; g < before.cols(); ++g) {
                   kernel.compressed.nibbles(i, g) = before(i, g ^ 4);
                 }
               }
             });
           }},
          {"metadata of a k-tile late",
           "metadata-words",
           {"32 bits late", "columns 0 to 47"},
           [] {
             return with_operands(sparse, {0, 127, 0, 47}, [](SyntheticKernel& kernel) {
               const base::Matrix<std::uint8_t> before = kernel.compressed.nibbles;
               for (std::size_t i = 0; i < before.rows(); ++i) {
                 for (std::size_t g = 8; g < before.cols(); ++g) {
                   kernel.compressed.nibbles(i, g) = before(i, g - 8);
                 }
               }
             });
           }},
          {"metadata of one stage stale",
           "metadata-words",
           {"rows 0 to 63", "in place of the metadata of k 96 to 127 that of k 64 to 95"},
           [] {
             return with_operands(sparse, {0, 63, 0, 95}, [](SyntheticKernel& kernel) {
               const base::Matrix<std::uint8_t> before = kernel.compressed.nibbles;
               for (std::size_t i = 0; i < before.rows(); ++i) {
                 for (std::size_t g = 24; g < 32; ++g) {
                   kernel.compressed.nibbles(i, g) = before(i, g - 8);
                 }
               }
             });
           }},
          {"metadata of PyTorch's old encoder", "metadata-encoder", {"old order"}, [] {
             return with_old_encoder({"A100", kBrainSparse, 64, 48, 256});
           }}};
}

std::vector<Fault> faults_of_epilogues() {
  return {{"fp8 scales of groups of rows",
           "scale",
           {"rows 0 to 31 of D are 0.5 times", "rows 32 to 63 of D are 4 times"},
           [] {
             return with_factors({"L40S", kFp8, 64, 64, 256},
                                 [](std::size_t i, std::size_t) { return i < 32 ? 0.5 : 4; });
           }},
          {"sums rounded to f16",
           "d-type",
           {"rounded to f16"},
           [] {
             Epilogue executed;
             executed.through = DataType::kF16;
             return with_epilogue(half, {}, {}, executed);
           }},
          {"D rounded toward zero",
           "d-type",
           {"toward zero"},
           [] {
             Epilogue executed;
             executed.narrowing = Narrowing::kTowardZero;
             return with_epilogue(narrow, {}, {}, executed);
           }},
          {"no bias",
           "epilogue",
           {"bias is not added"},
           [] {
             Epilogue executed;
             executed.bias_times = 0;
             return with_epilogue(half, {}, some_bias(128), executed);
           }},
          {"no ReLU",
           "epilogue",
           {"no ReLU"},
           [] {
             Epilogue declared;
             declared.activation = Activation::kRelu;
             return with_epilogue(narrow, declared, some_bias(96), {});
           }},
          {"beta ignored",
           "epilogue",
           {"beta is taken for 1 instead of 0.5"},
           [] {
             Epilogue declared;
             declared.beta = 0.5;
             return with_epilogue(with_c, declared, {}, {});
           }},
          {"alpha applied to C",
           "epilogue",
           {"alpha multiplies C, too"},
           [] {
             Epilogue declared, executed;
             declared.alpha = executed.alpha = 0.75;
             declared.beta = 0.5;
             executed.beta = 0.375;
             return with_epilogue(with_c, declared, {}, executed);
           }},
          {"bias of the row before",
           "epilogue",
           {"row i takes the bias of row i - 1, around the end"},
           [] {
             Epilogue executed;
             executed.bias_shift = -1;
             return with_epilogue(half, {}, some_bias(128), executed);
           }},
          {"alpha and beta exchanged",
           "epilogue",
           {"alpha and beta are exchanged"},
           [] {
             Epilogue declared;
             declared.alpha = 0.75;
             declared.beta = 0.25;
             Epilogue executed;
             executed.alpha = 0.25;
             executed.beta = 0.75;
             return with_epilogue(with_c, declared, {}, executed);
           }},
          {"scale of fp8 A off", "scale", {"scale of A is not applied"}, [] {
             Epilogue declared;
             declared.scale_a = 0.0371F;
             return with_epilogue({"L40S", kFp8, 64, 64, 256}, declared, {}, {});
           }}};
}

std::vector<Fault> faults_of_fragments() {
  return {
      {"fp8 twice too large in a CTA",
       "scale",
       {"rows 32 to 63 x columns 0 to 31", "2 times"},
       [] {
         return with_factors({"L40S", kFp8Sparse, 64, 64, 256}, [](std::size_t i, std::size_t j) {
           return i >= 32 && j < 32 ? 2 : 1;
         });
       }},
      {"ldmatrix of B without .trans",
       "transposed-fragments",
       {"8 x 8 blocks of B"},
       [] {
         return with_operands(square, {0, 63, 0, 63}, [](SyntheticKernel& kernel) {
           kernel.b_columns = moved_elements(kernel.b_columns, [](std::size_t i, std::size_t k) {
             return std::pair(i / 8 * 8 + k % 8, k / 8 * 8 + i % 8);
           });
         });
       }},
      {"a swizzle of A that is not undone",
       "swizzle",
       {"128-byte swizzle of A", "rows 1 to 7, 9 to 15, 17 to 23 and 25 to 31 x all 64 columns"},
       [] {
         return with_operands(square, {0, 31, 0, 63}, [](SyntheticKernel& kernel) {
           kernel.a = moved_elements(kernel.a, [](std::size_t i, std::size_t k) {
             return std::pair(i, (k / 8 ^ i % 8) * 8 + k % 8);
           });
         });
       }},
      {"a swizzle of row-major B that is not undone",
       "swizzle",
       {"64-byte swizzle of B", "where a line is of one k"},
       [] {
         return with_operands(square, {0, 63, 0, 63}, [](SyntheticKernel& kernel) {
           kernel.b_columns = moved_elements(kernel.b_columns, [](std::size_t j, std::size_t k) {
             return std::pair((j / 8 ^ (k / 2 & 3)) * 8 + j % 8, k);
           });
         });
       }},
      {"halves of A exchanged in a stage",
       "permuted-fragments",
       {"rows 32 to 63", "in k 96 to 127 line i of A is line i ^ 8"},
       [] {
         return with_operands(square, {32, 63, 0, 63}, [](SyntheticKernel& kernel) {
           kernel.a = moved_elements(kernel.a, [](std::size_t i, std::size_t k) {
             return std::pair(k / 32 == 3 ? i ^ 8 : i, k);
           });
         });
       }},
      {"columns of B one on in a stage, sparse",
       "permuted-fragments",
       {"in k 64 to 127 line i of B is line i + 1 within 8 lines"},
       [] {
         return with_operands(sparse, {0, 127, 0, 95}, [](SyntheticKernel& kernel) {
           kernel.b_columns = moved_elements(kernel.b_columns, [](std::size_t j, std::size_t k) {
             return std::pair(k / 64 == 1 ? j / 8 * 8 + (j + 1) % 8 : j, k);
           });
         });
       }},
      {"an accumulator that is not cleared",
       "uncleared-accumulator",
       {"rows 32 to 63 x columns 0 to 31", "sums of rows 0 to 31 x columns 32 to 63"},
       [] {
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
       }},
      {"a warp along K that adds nothing", "missing-k", {"k-tile 1 of every 2 tiles of 32 k"}, [] {
         return with_moved_k(square, {0, 63, 32, 63}, 32, true, true,
                             [](int t) { return t % 2 == 1 ? -1 : t; });
       }}};
}

std::vector<Fault> faults_of_operands() {
  return {
      {"metadata in Sparse-Marlin's order",
       "metadata-layout",
       {"Sparse-Marlin"},
       [] {
         Plant plant(sparse);
         const auto reordered = sparsity::to_reordered(
             sparsity::pack_canonical(plant.kernel.compressed), sparsity::RowOrder::kMarlin);
         std::ranges::copy(reordered.elements, plant.kernel.data.metadata->array.bits.begin());
         return plant.kernel.diagnose();
       }},

      {"rows of A exchanged under C",
       "permuted-rows",
       {"of A rows 7 and 41 are exchanged"},
       [] {
         return with_operands(with_c, {0, 63, 0, 63}, [](SyntheticKernel& kernel) {
           kernel.a = moved_elements(kernel.a, [](std::size_t i, std::size_t k) {
             return std::pair(swapped(i, 7, 41), k);
           });
         });
       }},
      {"columns of B twice under C",
       "duplicated-columns",
       {"of B column i holds column i - 8"},
       [] {
         return with_operands(with_c, {0, 63, 0, 63}, [](SyntheticKernel& kernel) {
           kernel.b_columns = moved_elements(kernel.b_columns, [](std::size_t j, std::size_t k) {
             return std::pair(j >= 8 && j < 16 ? j - 8 : j, k);
           });
         });
       }},
      {"s8 taken for u8",
       "operand-type",
       {"B is taken for u8"},
       [] {
         Plant plant({"A100", kBytes, 64, 48, 256});
         SyntheticKernel other = plant.kernel;
         other.declared.instruction.b_type = DataType::kU8;
         other.declared.rules = mma::instruction_rules(other.target, other.declared.instruction);
         plant.replace(other, plant.everywhere());
         return plant.kernel.diagnose();
       }},
      {"e4m3 taken for e5m2", "operand-type", {"A is taken for e5m2"}, [] {
         Plant plant({"L40S", kFp8Sparse, 64, 48, 256});
         SyntheticKernel other = plant.kernel;
         other.declared.instruction.a_type = DataType::kE5m2;
         other.declared.rules = mma::instruction_rules(other.target, other.declared.instruction);
         plant.replace(other, plant.everywhere());
         return plant.kernel.diagnose();
       }}};
}

std::vector<Fault> faults() {
  std::vector<Fault> all;
  for (const auto& some :
       {faults_of_k(), faults_of_k_tiles(), faults_of_lines(), faults_of_tiles(),
        faults_of_metadata(), faults_of_epilogues(), faults_of_fragments(), faults_of_operands()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST(PlantedFaults, AreNamedWithTheirPlaceAndNoneWrongly) {
  const std::vector<Fault> planted = faults();
  ASSERT_GE(planted.size(), 40U);
  for (const Fault& fault : planted) {
    const KernelDiagnosis diagnosis = fault.diagnose();
    EXPECT_FALSE(diagnosis.bit_exact()) << fault.name;
    if (diagnosis.fitting.empty()) {
      ADD_FAILURE() << fault.name << ": not named";
      continue;
    }
    const Explanation& named = diagnosis.fitting.front();
    const bool matches =
        named.cause == fault.cause && std::ranges::all_of(fault.parts, [&](const auto& part) {
          return named.text.find(part) != std::string::npos;
        });
    EXPECT_TRUE(matches) << fault.name << " is named " << told(diagnosis);
  }
}

}  // namespace
}  // namespace sptc::compare::kernel
