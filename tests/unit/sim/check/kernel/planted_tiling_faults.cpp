// SPDX-License-Identifier: Apache-2.0
//
// Faults of how a kernel cuts K and D: k-tiles, lines and tiles.
#include "tests/unit/sim/check/kernel/planted_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace sptc::check::kernel {
namespace {

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

TEST(PlantedFaults, OfMissingAndDoubledKAreNamed) {
  expect_named("two missing k-tiles of a CTA", "missing-k",
               {"rows 0 to 63 x columns 32 to 95", "lacks k 32 to 63, k 192 to 223"},
               with_moved_k(half, {0, 63, 32, 95}, 32, true, true, [](int t) { return t == 1 || t == 6 ? -1 : t; }));
  const auto stale = [](bool of_a, bool of_b, int stages, std::initializer_list<int> tiles) {
    return with_moved_k(half, {0, 63, 32, 95}, 32, of_a, of_b,
                        [&](int t) { return std::ranges::find(tiles, t) != tiles.end() ? t - stages : t; });
  };
  expect_named(
      "three stale stages of A", "duplicated-k-tile",
      {"rows 0 to 63 x columns 32 to 95", "A is stale at k 96 to 127, k 160 to 191, k 224 to 255", "64 k before"},
      stale(true, false, 2, {3, 5, 7}));
  expect_named("stages of B that are overwritten too early", "duplicated-k-tile",
               {"B is overwritten at k 32 to 63, k 128 to 159", "what belongs 64 k further on"},
               stale(false, true, -2, {1, 4}));
  expect_named("an address that is not advanced", "duplicated-k-tile", {"tile t of 16 k of A and B", "tile t - t % 4"},
               with_moved_k(half, {0, 127, 0, 95}, 16, true, true, [](int t) { return t - t % 4; }));
  expect_named("two stale stages of A and B", "duplicated-k-tile",
               {"A and B are stale at k 96 to 127, k 192 to 223", "96 k"}, stale(true, true, 3, {3, 6}));
  expect_named("missing k-tile of a CTA", "missing-k", {"rows 64 to 127 x columns 32 to 63", "k 96 to 127"},
               without_k(half, {64, 127, 32, 63}, 32, 3));
  expect_named("missing k-tile of a CTA, sparse", "missing-k",
               {"rows 32 to 63 x columns 48 to 95", "lacks k 64 to 127"}, without_k(sparse, {32, 63, 48, 95}, 64, 1));
  expect_named("missing tail of K", "missing-k", {"all 96 rows", "lacks k 304 to 319"},
               without_k(narrow, {0, 95, 0, 63}, 16, 19));
  expect_named("missing k in integers", "missing-k", {"rows 0 to 63 x columns 64 to 127", "k 128 to 191"},
               without_k({"A100", kBytes, 128, 128, 512}, {0, 63, 64, 127}, 64, 2));
  expect_named("missing half of K, tf32", "missing-k", {"rows 16 to 31", "lacks k 64 to 127"},
               without_k({"A100", kTf32Sparse, 64, 32, 128}, {16, 31, 0, 31}, 32, 2, 2));
  expect_named("missing first k with C", "missing-k", {"rows 32 to 63 x columns 0 to 31", "k 0 to 31"},
               without_k(with_c, {32, 63, 0, 31}, 32, 0));
  expect_named("a k-tile twice", "doubled-k", {"all 64 rows", "D has k 96 to 127 twice"}, with_k_twice(square, 32, 3));
  expect_named("a first k-tile twice, sparse", "doubled-k", {"all 128 rows", "D has k 0 to 63 twice"},
               with_k_twice(sparse, 64, 0));
  expect_named("a slice of split-K twice", "doubled-k", {"D has slice 1 of the 4 slices of K twice"}, [] {
    Plant plant(half);
    SyntheticKernel& kernel = plant.kernel;
    kernel.declared.order.slices = 4;
    KernelModel model = kernel.declared;
    model.order.repeated_slice = 1;
    kernel.data.d = stored(execute(kernel.data, model, arrange(kernel.data, model, Selection::all(kernel.data))));
    return kernel.diagnose();
  }());
  expect_named("missing k in fp8", "missing-k", {"columns 16 to 31", "k 128 to 255"},
               without_k({"L40S", kFp8, 64, 64, 512}, {0, 63, 16, 31}, 128, 1));
}

TEST(PlantedFaults, OfKTilesAreNamed) {
  expect_named("stale k-tile of A", "duplicated-k-tile", {"rows 0 to 63", "k 64 to 95", "A again k 32 to 63"},
               with_moved_k(half, {0, 63, 0, 95}, 32, true, false, [](int t) { return t == 2 ? 1 : t; }));
  expect_named("stale k-tile of B", "duplicated-k-tile", {"columns 64 to 95", "k 128 to 191", "B again k 64 to 127"},
               with_moved_k(sparse, {0, 127, 64, 95}, 64, false, true, [](int t) { return t == 2 ? 1 : t; }));
  expect_named("stale k-tiles of both", "duplicated-k-tile", {"A and B again k 0 to 31"},
               with_moved_k(half, {64, 127, 0, 95}, 32, true, true, [](int t) { return t == 7 ? 0 : t; }));
  expect_named("exchanged k-tiles of A", "exchanged-k-tiles", {"all 64 rows", "k 64 to 95", "k 96 to 127"},
               with_moved_k(with_c, {0, 63, 0, 63}, 32, true, false, [](int t) {
                 return t == 2 ? 3 : t == 3 ? 2 : t;
               }));
  expect_named("A one k-tile late", "permuted-k-tiles", {"tile t of 32 k of B", "t - 1"},
               with_moved_k(half, {0, 127, 0, 95}, 32, true, false, [](int t) { return (t + 7) % 8; }));
  expect_named("k-tiles of B swapped in pairs", "permuted-k-tiles", {"64 k of A", "t ^ 1", "columns 0 to 47"},
               with_moved_k(sparse, {0, 127, 0, 47}, 64, false, true, [](int t) { return t ^ 1; }));
  expect_named("K summed from another tile on", "k-order", {"from k 96 on"},
               with_moved_k(half, {0, 127, 0, 95}, 32, true, true, [](int t) { return (t + 3) % 8; }));
}

// Tiles of 64 in a K of 240: A of the next row, B of the next column.
TEST(PlantedFaults, OfKBeyondItsEndIsNamed) {
  constexpr std::size_t kEnd = 256;
  Plant plant({"A100", kHalf, 64, 48, 240});
  SyntheticKernel& kernel = plant.kernel;
  kernel.data.b = {240, 48, true, {kernel.b_columns.data(), kernel.b_columns.data() + kernel.b_columns.size()}};
  kernel.declared.reading.b_column_major = true;
  SyntheticKernel other = kernel;
  const auto goes_on = [](base::Matrix<Word>& operand) {
    base::Matrix<Word> longer(operand.rows(), kEnd);
    for (std::size_t i = 0; i < longer.rows(); ++i) {
      for (std::size_t k = 0; k < kEnd; ++k) {
        const std::size_t at = i * operand.cols() + k;
        longer(i, k) = at < operand.size() ? operand.data()[at] : 0;
      }
    }
    operand = longer;
  };
  goes_on(other.a);
  goes_on(other.b_columns);
  plant.replace(other, plant.everywhere());
  expect_named("loads without a predicate", "overrun-k", {"the last k-tile goes on 16 k beyond K"}, kernel.diagnose());
}

TEST(PlantedFaults, OfLinesAreNamed) {
  expect_named("another leading dimension of B", "leading-dimension",
               {"leading dimension of B is taken for 104 instead of 96"},
               with_operands(half, {0, 127, 0, 95}, [](SyntheticKernel& kernel) {
                 const base::Matrix<Word> b = kernel.b_columns.transposed();
                 for (std::size_t j = 0; j < kernel.data.n; ++j) {
                   for (std::size_t k = 0; k < kernel.data.k; ++k) {
                     const std::size_t at = k * 104 + j;
                     kernel.b_columns(j, k) = at < b.size() ? b.data()[at] : 0;
                   }
                 }
               }));
  expect_named("another leading dimension of C", "leading-dimension", {"of C is taken for 32 instead of 64"},
               with_operands(with_c, {0, 63, 0, 63}, [](SyntheticKernel& kernel) {
                 const base::Matrix<Word> c = kernel.c;
                 for (std::size_t i = 0; i < c.size(); ++i) {
                   kernel.c.data()[i] = c.data()[i / 64 * 32 + i % 64];
                 }
               }));
  // Zeros that a longer leading dimension would read beyond C are no sign of it.
  expect_named("no C in the last rows", "epilogue", {"rows 48 to 63", "C is not added"},
               with_operands(with_c, {48, 63, 0, 63}, [](SyntheticKernel& kernel) {
                 kernel.c = base::Matrix<Word>(kernel.c.rows(), kernel.c.cols());
               }));
  // Rows are stored one after the other, and what no row reaches holds what was there before.
  const auto stored_with_pitch = [](std::size_t pitch) {
    Plant plant(half);
    std::vector<Word> memory(plant.d.size(), 0x7FC00001);
    for (std::size_t i = 0; i < half.m; ++i) {
      for (std::size_t j = 0; j < half.n && i * pitch + j < memory.size(); ++j) {
        memory[i * pitch + j] = plant.d(i, j);
      }
    }
    plant.kernel.data.d.words = memory;
    return plant.kernel.diagnose();
  };
  expect_named("padded leading dimension of D", "leading-dimension", {"of D is taken for 104 instead of 96"},
               stored_with_pitch(104));
  expect_named("short leading dimension of D", "leading-dimension", {"of D is taken for 48 instead of 96"},
               stored_with_pitch(48));
  expect_named("columns twice", "duplicated-columns", {"column i - 8", "columns 40 to 47"},
               with_moved_lines({"A100", kBrainSparse, 64, 64, 128}, false,
                                [](std::size_t j) { return j >= 40 && j < 48 ? j - 8 : j; }));
  expect_named("rows exchanged", "permuted-rows", {"rows 5 and 77 are exchanged"},
               with_moved_lines(half, true, [](std::size_t i) { return swapped(i, 5, 77); }));
  expect_named("rows of fragments exchanged", "permuted-rows", {"row i ^ 8", "all 128 rows"},
               with_moved_lines(sparse, true, [](std::size_t i) { return i ^ 8; }));
  expect_named("a row twice", "duplicated-rows", {"row 33 holds row 32"},
               with_moved_lines(narrow, true, [](std::size_t i) { return i == 33 ? 32 : i; }));
  expect_named("a row everywhere in a tile", "duplicated-rows", {"rows 17 to 31 all hold row 16"},
               with_moved_lines(half, true, [](std::size_t i) { return i > 16 && i < 32 ? 16 : i; }));
  expect_named(
      "rows of another CTA", "duplicated-rows", {"row i - 64", "rows 64 to 127"},
      with_moved_lines({"A100", kBytesSparse, 128, 64, 256}, true, [](std::size_t i) { return i >= 64 ? i - 64 : i; }));
}

TEST(PlantedFaults, OfOrdersWithinFragmentsAreNamed) {
  const Place all{0, 63, 0, 63};
  const Shape bytes{"A100", kBytes, 64, 64, 128}, brain{"B200", kBrainSparse, 64, 64, 128};
  expect_named("pairs of bytes of B transposed", "transposed-fragments", {"pairs of bytes of B", "along its lines"},
               with_moved_elements(bytes, all, &SyntheticKernel::b_columns, [](std::size_t n, std::size_t k) {
                 return std::pair(n / 16 * 16 + k % 8 * 2 + n % 2, k / 8 * 8 + n / 2 % 8);
               }));
  expect_named("blocks of A transposed", "transposed-fragments", {"32 x 32 blocks of A are transposed"},
               with_moved_elements(square, all, &SyntheticKernel::a, [](std::size_t m, std::size_t k) {
                 return std::pair(m / 32 * 32 + k % 32, k / 32 * 32 + m % 32);
               }));
  expect_named("bytes reversed", "permuted-fragments", {"A: every 4 k run backwards"},
               with_moved_elements(bytes, all, &SyntheticKernel::a,
                                   [](std::size_t m, std::size_t k) { return std::pair(m, k ^ 3); }));
  expect_named("registers of B in another order", "permuted-fragments", {"B: of every 16 k", "0, 4, 1, 5"},
               with_moved_elements(square, all, &SyntheticKernel::b_columns, [](std::size_t n, std::size_t k) {
                 constexpr std::size_t kOrder[] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
                 return std::pair(n, k / 16 * 16 + kOrder[k % 16]);
               }));
  expect_named("metadata a stage early, the last twice", "metadata-words",
               {"64 bits too far on, the last of them twice"},
               with_moved_nibbles(sparse, {0, 127, 0, 95}, [](std::size_t row, std::size_t group) {
                 return std::pair(row, group < 48 ? group + 16 : group);
               }));
  expect_named("metadata that was not loaded", "metadata-words", {"rows 32 to 63", "0x4 in every group"},
               with_operands(sparse, {32, 63, 0, 95}, [](SyntheticKernel& kernel) {
                 std::fill_n(kernel.compressed.nibbles.data(), kernel.compressed.nibbles.size(), std::uint8_t{0x4});
               }));
  expect_named("chunks of kept values exchanged", "permuted-fragments",
               {"the values of A: of every 16 elements along k both halves"},
               with_operands(brain, all, [](SyntheticKernel& kernel) {
                 kernel.compressed.values = moved_elements(
                     kernel.compressed.values, [](std::size_t m, std::size_t k) { return std::pair(m, k ^ 8); });
               }));
}

TEST(PlantedFaults, OfStoresAreNamed) {
  const auto with_stores = [](const Shape& shape, const Source& source) {
    Plant plant(shape);
    plant.d = moved_elements(plant.d, source);
    plant.kernel.data.d = stored(plant.d);
    return plant.kernel.diagnose();
  };
  expect_named("blocks of D transposed", "transposed-tile", {"16 x 16 blocks of D are transposed"},
               with_stores(half, [](std::size_t i, std::size_t j) {
                 return std::pair(i / 16 * 16 + j % 16, j / 16 * 16 + i % 16);
               }));
  expect_named("a swizzle of D that stays", "swizzle", {"chunks of 8 columns", "(i % 4)"},
               with_stores(half, [](std::size_t i, std::size_t j) { return std::pair(i, j ^ (i % 4 * 8)); }));
  expect_named(
      "the first of two registers twice", "duplicated-columns", {"odd rows", "hold the first"},
      with_stores(half, [](std::size_t i, std::size_t j) { return std::pair(i, i % 2 == 1 ? j / 2 * 2 : j); }));
  expect_named("another raster", "moved-tile", {"tiles of 32 x 32", "order of columns"},
               with_stores(half, [](std::size_t i, std::size_t j) {
                 const std::size_t cta = i / 32 * 3 + j / 32;
                 return std::pair(cta % 4 * 32 + i % 32, cta / 4 * 32 + j % 32);
               }));
}

TEST(PlantedFaults, OfTilesAreNamed) {
  expect_named("columns exchanged", "permuted-columns", {"columns 3 and 60 are exchanged"},
               with_moved_lines(narrow, false, [](std::size_t j) { return swapped(j, 3, 60); }));
  expect_named("columns of fragments exchanged", "permuted-columns", {"column i ^ 1"},
               with_moved_lines(half, false, [](std::size_t j) { return j ^ 1; }));
  expect_named("a CTA that does not run", "zero-region", {"rows 64 to 127 x columns 0 to 31", "tile [1, 0]"},
               with_word(half, {64, 127, 0, 31}, 0));
  expect_named("a last row of CTAs that does not run", "zero-region", {"rows 64 to 95 x all 64 columns"},
               with_word(narrow, {64, 95, 0, 63}, 0));
  expect_named("a tile of poison", "unwritten-region", {"rows 0 to 31 x columns 32 to 63", "0xffffffff"},
               with_word(with_c, {0, 31, 32, 63}, 0xFFFFFFFF));
  expect_named("tiles exchanged", "moved-tile",
               {"rows 0 to 63 x columns 32 to 63", "rows 64 to 127 x columns 64 to 95"}, [] {
                 Plant plant(half);
                 for (std::size_t i = 0; i < 64; ++i) {
                   for (std::size_t j = 0; j < 32; ++j) {
                     std::swap(plant.d(i, 32 + j), plant.d(64 + i, 64 + j));
                   }
                 }
                 plant.kernel.data.d = stored(plant.d);
                 return plant.kernel.diagnose();
               }());
  expect_named("a tile transposed", "transposed-tile", {"rows 32 to 47 x columns 16 to 31"}, [] {
    Plant plant(sparse);
    const base::Matrix<Word> right = plant.d;
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t j = 0; j < 16; ++j) {
        plant.set(32 + i, 16 + j, right(32 + j, 16 + i));
      }
    }
    return plant.kernel.diagnose();
  }());
}

}  // namespace
}  // namespace sptc::check::kernel
