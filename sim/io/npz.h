// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/output_file.h"
#include "sim/io/tensor_file.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sptc::io {

/// The arrays of a `.npz` file, a ZIP archive of `.npy` files as NumPy writes it, named as NumPy
/// names them. Throws InputError, also for a wrong checksum.
std::vector<Tensor> read_npz(const std::filesystem::path& path);

/// The bytes of a `.npz` file of `tensors`, stored. Throws InputError beyond the 4 GiB that a ZIP
/// archive without extensions can count.
std::string npz_bytes(std::span<const Tensor> tensors);

/// The same file, array by array, of which one at a time is in memory.
class NpzWriter {
 public:
  /// Throws InputError where no file can be made beside `path`.
  explicit NpzWriter(const std::filesystem::path& path) : file_(path) {}

  /// Throws InputError where the array cannot be written, and beyond 4 GiB.
  void add(const Tensor& tensor);
  /// Gives the file its name. Throws InputError.
  void commit();

 private:
  OutputFile file_;
  std::string directory_;
  std::size_t count_ = 0;
};

}  // namespace sptc::io
