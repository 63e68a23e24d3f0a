// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix_fwd.h"
#include "models/numerics/data_type.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::io {

/// A named array: little-endian elements, row-major, packed.
struct Tensor {
  std::string name;
  std::string dtype;  ///< F16 BF16 F32 F64 I8 U8 I16 U16 I32 U32 I64 U64 F8_E4M3 F8_E5M2 BOOL, as
                      ///< safetensors spells them; another name where a file has one
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  std::int64_t elements() const;
};

/// The tensors of one `.safetensors` file, or the one array of a `.npy` file (versions 1 to 3, C or
/// Fortran order; named after the file). Everything the header says is checked against the file
/// before memory is taken: offsets in range, no overlap, no holes, sizes that match shape and type.
/// Throws InputError.
class TensorFile {
 public:
  static TensorFile open(const std::filesystem::path& path);

  /// The same from streams of `size` bytes; `file` is for messages.
  static TensorFile read_safetensors(std::istream& stream, std::uint64_t size, const std::string& file);
  static TensorFile read_npy(std::istream& stream, std::uint64_t size, const std::string& file);

  const std::vector<Tensor>& tensors() const { return tensors_; }

  /// The tensor called `name`. Throws InputError with the nearest name.
  const Tensor& tensor(std::string_view name) const;

 private:
  std::string file_;
  std::vector<Tensor> tensors_;
};

/// Elements of `tensor` as doubles (integers beyond 2^53 are rounded).
std::vector<double> as_doubles(const Tensor& tensor);

/// `tensor` as a matrix [shape[0], product of the rest] (a scalar is 1 x 1) of `target` words, each
/// element converted by value (numerics::from_double). A U16 tensor asked for as f16 or bf16 is
/// taken as raw bits instead: NumPy has no bfloat16, so such files carry the bits. Throws
/// InputError where an integer target cannot hold a value.
base::Matrix<numerics::Word> as_matrix(const Tensor& tensor, numerics::DataType target);

/// The inverse of as_matrix: f16, bf16, s8 and s32 as they are, tf32 and f32 as F32.
Tensor make_tensor(std::string name, const base::Matrix<numerics::Word>& matrix, numerics::DataType type);

/// Writes `.npy` version 1; bf16 as its bits in uint16 (see as_matrix).
void write_npy(const std::filesystem::path& path, const base::Matrix<numerics::Word>& matrix, numerics::DataType type);

/// Writes `tensors` in their order. Names must differ.
void write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors);

}  // namespace sptc::io
