// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace sptc::check::vectors {

/// A .npy array as raw bit patterns, row-major, each element zero-extended.
struct BitArray {
  std::vector<std::size_t> shape;
  int element_bytes = 0;
  std::vector<std::uint64_t> bits;

  std::uint64_t at(std::size_t i, std::size_t j, std::size_t k) const {
    return bits[(i * shape[1] + j) * shape[2] + k];
  }
  /// The same elements under another shape of as many.
  BitArray reshaped(std::vector<std::size_t> new_shape) const;
};

/// Zeros.
BitArray make_bit_array(std::vector<std::size_t> shape, int element_bytes);

/// Reads any .npy array of elements of 1 to 8 bytes, whatever type it declares. Throws InputError.
BitArray read_bit_array(const std::filesystem::path& path);

/// Writes .npy version 1, unsigned integers. Throws InputError.
void write_bit_array(const std::filesystem::path& path, const BitArray& array);

}  // namespace sptc::check::vectors
