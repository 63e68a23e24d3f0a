// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/compress.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <string>
#include <string_view>

namespace sptc::prune {

/// In which form weights are written: with their zeros, or as values and metadata in a layout.
enum class WeightLayout {
  kDense,
  kCanonical,  ///< row-major elements of 16 or 32 bits
  kPtx,        ///< registers of mma.sp of the largest depth, selector 0
  kCutlass,    ///< as CUTLASS 2.x stores them
  kPyTorch,    ///< the same places; under-full groups as PyTorch names them
  kPyTorchOld,
  kMarlin,
};

/// "dense", "canonical", "ptx", "cutlass", "pytorch", "pytorch-old", "marlin". Throws InputError.
WeightLayout parse_weight_layout(std::string_view name);
std::string_view name(WeightLayout layout);

/// What a compressed layer is, beside its two tensors.
struct CompressedForm {
  numerics::DataType type = numerics::DataType::kF16;
  WeightLayout layout = WeightLayout::kCanonical;
  std::int64_t rows = 0, k = 0;
  bool k_first = false;  ///< the dense tensor is [k, rows]
};

/// As tensor files have elements of `type`; those of 4 bits are the low bits of a byte each. Throws
/// InputError for a type without compressed form.
std::string_view stored_dtype(numerics::DataType type);

/// The low bytes of `words`, as many as an element of `entry` has.
io::Tensor tensor_of_words(const io::TensorEntry& entry, const base::Matrix<numerics::Word>& words);

/// Names of the two tensors of the layer `name`.
std::string values_name(const std::string& name);
std::string metadata_name(const std::string& name);

/// The two tensors, values first, without bytes or offsets. Throws InputError where the extents do
/// not fill the layout.
std::array<io::TensorEntry, 2> compressed_entries(const std::string& name,
                                                  const CompressedForm& form);

/// The two tensors of `matrix`.
std::array<io::Tensor, 2> compressed_tensors(const std::string& name,
                                             const sparsity::CompressedMatrix& matrix,
                                             const CompressedForm& form);
/// And back. Throws InputError where they do not fit `form`.
sparsity::CompressedMatrix compressed_matrix(const io::Tensor& values, const io::Tensor& metadata,
                                             const CompressedForm& form);

/// What a file of compressed layers says of them in its "__metadata__", under kFormsKey.
inline constexpr std::string_view kFormsKey = "sptcsim-compressed/0.1";
nlohmann::ordered_json json_of(const CompressedForm& form);
/// Throws InputError at `file`.
CompressedForm form_of(const nlohmann::json& value, const std::string& file,
                       const std::string& name);

}  // namespace sptc::prune
