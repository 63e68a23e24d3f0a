// SPDX-License-Identifier: Apache-2.0
//
// Faults that a kernel may have in one tile of D.
#pragma once

#include "tests/unit/sim/check/kernel/planted_kernel.h"

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::check::kernel {

/// A fault of a tile, and the word for it.
struct Fault {
  std::string_view cause;
  std::function<void(Plant& plant, const SyntheticKernel& right, const Place& place)> plant;
};

/// The fault of a kernel that computes a tile with changed operands.
inline Fault of_operands(std::string_view cause, std::function<void(SyntheticKernel&)> change) {
  return {cause, [change = std::move(change)](Plant& plant, const SyntheticKernel& right, const Place& place) {
            SyntheticKernel other = right;
            change(other);
            plant.replace(other, place);
          }};
}

inline Fault zero_tile() {
  return {"zero-region", [](Plant& plant, const SyntheticKernel&, const Place& place) {
            for (std::size_t i = place.row; i <= place.last_row; ++i) {
              for (std::size_t j = place.column; j <= place.last_column; ++j) {
                plant.set(i, j, 0);
              }
            }
          }};
}

inline Fault twice_as_large() {
  return {"scale", [](Plant& plant, const SyntheticKernel&, const Place& place) {
            for (std::size_t i = place.row; i <= place.last_row; ++i) {
              for (std::size_t j = place.column; j <= place.last_column; ++j) {
                const double value = numerics::to_double(plant.d(i, j), DataType::kF32);
                plant.set(i, j, numerics::from_double(2 * value, DataType::kF32));
              }
            }
          }};
}

/// The metadata of k 96 to 127 is that of k 64 to 95.
inline void make_stale(SyntheticKernel& kernel) {
  kernel.compressed.nibbles = moved_elements(kernel.compressed.nibbles, [](std::size_t i, std::size_t g) {
    return std::pair(i, g >= 24 && g < 32 ? g - 8 : g);
  });
}

inline Fault stale_metadata() {
  return of_operands("metadata-words", make_stale);
}

inline Fault missing_k() {
  return of_operands("missing-k", [](SyntheticKernel& kernel) {
    move_k(kernel, 32, true, true, [](int t) { return t == 3 ? -1 : t; });
  });
}

/// D[i, j] of the tile is what belongs to `source(i, j)`, counted from its first element.
inline Fault of_places(std::string_view cause, const Source& source) {
  return {cause, [source](Plant& plant, const SyntheticKernel& right, const Place& place) {
            const base::Matrix<Word> d = right.compute();
            for (std::size_t i = place.row; i <= place.last_row; ++i) {
              for (std::size_t j = place.column; j <= place.last_column; ++j) {
                const auto [row, column] = source(i - place.row, j - place.column);
                plant.set(i, j, d(place.row + row, place.column + column));
              }
            }
          }};
}

inline std::vector<Fault> faults_of_tiles() {
  return {
      zero_tile(),
      of_places("permuted-rows", [](std::size_t i, std::size_t j) { return std::pair(i ^ 8, j); }),
      of_places("permuted-columns", [](std::size_t i, std::size_t j) { return std::pair(i, j ^ 4); }),
      of_places("transposed-tile", [](std::size_t i, std::size_t j) { return std::pair(j, i); }),
      {"bit-of-d",
       [](Plant& plant, const SyntheticKernel&, const Place& place) {
         plant.set(place.row + 5, place.column + 9, plant.d(place.row + 5, place.column + 9) ^ 0x02000000);
       }},
      of_operands("metadata-rows",
                  [](SyntheticKernel& kernel) {
                    kernel.compressed.nibbles = moved_elements(
                        kernel.compressed.nibbles, [](std::size_t i, std::size_t g) { return std::pair(i ^ 8, g); });
                  }),
      of_operands("value-rows",
                  [](SyntheticKernel& kernel) {
                    kernel.compressed.values = moved_elements(
                        kernel.compressed.values, [](std::size_t i, std::size_t k) { return std::pair(i ^ 1, k); });
                  }),
      twice_as_large(),
      stale_metadata(),
      missing_k(),
      of_operands(
          "duplicated-k-tile",
          [](SyntheticKernel& kernel) { move_k(kernel, 32, false, true, [](int t) { return t == 5 ? 4 : t; }); }),
      of_operands("swizzle", [](SyntheticKernel& kernel) {
        kernel.b_columns = moved_elements(
            kernel.b_columns, [](std::size_t j, std::size_t k) { return std::pair(j, (k / 8 ^ (j & 7)) * 8 + k % 8); });
      })};
}

}  // namespace sptc::check::kernel
