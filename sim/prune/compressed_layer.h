// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/compress.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::prune {

/// The form in which weights are written: with their zeros, as values and metadata in a layout, or as another package's
/// checkpoints hold them (sim/prune/checkpoint_layer.h).
enum class WeightLayout {
  kDense,
  kCanonical,  ///< row-major elements of 16 or 32 bits
  kPtx,        ///< registers of mma.sp of the largest depth, selector 0
  kCutlass,    ///< as CUTLASS 2.x stores them
  kSm90,       ///< as CUTLASS 3.x does, for tiles of 128 columns
  kSm90K64,    ///< for tiles of 64
  kSm100,
  kPyTorch,  ///< the places of kCutlass; under-full groups as PyTorch names them
  kPyTorchOld,
  kMarlin,
  kSparse24Bitmask,  ///< from here on: of checkpoints
  kMarlin24,
  kPackQuantized,
  kIntQuantized,
  kFloatQuantized,
  kNvfp4,
  kModelOptNvfp4,
};

/// The layout of a name of README.md. Throws InputError.
WeightLayout parse_weight_layout(std::string_view name);
std::string_view name(WeightLayout layout);

/// Whether weights are two tensors, values and metadata, and kFormsKey says how.
bool is_pair(WeightLayout layout);
bool is_nvfp4(WeightLayout layout);

/// How the weight of a layer stands in a file, beside its tensors.
struct CompressedForm {
  numerics::DataType type = numerics::DataType::kF16;  ///< that of s8 also of codes of fewer bits
  WeightLayout layout = WeightLayout::kCanonical;
  std::int64_t rows = 0, k = 0;
  bool k_first = false;           ///< the dense tensor is [k, rows]
  int bits = 8;                   ///< of a code
  std::int64_t scale_groups = 1;  ///< of marlin-24: a scale for each row, or for each row and 128 columns
};

/// The type of elements of `type` in tensor files; those of 4 bits are the low bits of a byte each. Throws InputError
/// for a type without compressed form.
std::string_view stored_dtype(numerics::DataType type);
/// A tensor of that type without bytes. Throws InputError where its size does not fit 64 bits.
io::TensorEntry entry_of(std::string name, std::string_view dtype, std::vector<std::int64_t> shape);
/// The tensor of `entry`, zeros.
io::Tensor blank_tensor(const io::TensorEntry& entry);
/// [rows, k] as I64.
io::Tensor shape_tensor(const io::TensorEntry& entry, const CompressedForm& form);
/// Throws InputError, with `whose` behind it, where `tensor` has not the type and bytes of `entry`.
void require_entry(const io::Tensor& tensor, const io::TensorEntry& entry, std::string_view whose = "");

/// The low bytes of `words`, as many as an element of `entry` has.
io::Tensor tensor_of_words(const io::TensorEntry& entry, const base::Matrix<numerics::Word>& words);
/// The elements of a tensor of up to 32 bits, zero-extended, in rows of its first extent.
base::Matrix<numerics::Word> words_of_tensor(const io::Tensor& tensor);

/// What follows the name of a layer in those of its two tensors.
inline constexpr const char *kValuesEnding = ".values", *kMetadataEnding = ".metadata";

/// The two tensors of a layout that is_pair(), values first, or those of kSparse24Bitmask, without bytes or offsets.
/// Throws InputError where the extents do not fill the layout.
std::vector<io::TensorEntry> compressed_entries(const std::string& name, const CompressedForm& form);

/// `dense` [rows, k] as `form` holds it: at the pattern of the hardware, or 2:4. Throws InputError where it has another
/// pattern.
sparsity::CompressedMatrix compress_layer(const base::Matrix<numerics::Word>& dense, const CompressedForm& form);

/// The tensors of `matrix`.
std::vector<io::Tensor> compressed_tensors(const std::string& name, const sparsity::CompressedMatrix& matrix,
                                           const CompressedForm& form);
/// The matrix of values and metadata. Throws InputError where they do not fit `form`.
sparsity::CompressedMatrix compressed_matrix(const io::Tensor& values, const io::Tensor& metadata,
                                             const CompressedForm& form);

/// What a file of compressed layers says of them in its "__metadata__", under kFormsKey.
inline constexpr std::string_view kFormsKey = "sptcsim-compressed/0.1";
nlohmann::ordered_json json_of(const CompressedForm& form);
/// Throws InputError at `file`.
CompressedForm form_of(const nlohmann::json& value, const std::string& file, const std::string& name);

}  // namespace sptc::prune
