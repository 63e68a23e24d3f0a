// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/compress.h"
#include "sim/io/tensor_layout.h"
#include "sim/prune/compressed_layer.h"

#include <string>
#include <vector>

namespace sptc::prune {

/// The tensors of `sparse-24-bitmask` (compressed-tensors, Sparse24BitMaskTensor) of the weight `name`,
/// "<layer>.weight": "<layer>.compressed" [rows, k/2], the values that stay, row by row; "<layer>.bitmask" U8 [rows,
/// k/8], bit i of byte j for column 8j + i; "<layer>.shape" I64 [2, 1]. Throws InputError for types, names and extents
/// that it does not hold.
std::vector<io::TensorEntry> bitmask_entries(const std::string& name, const CompressedForm& form);

/// The tensors of `matrix`.
std::vector<io::Tensor> bitmask_tensors(const std::string& name, const sparsity::CompressedMatrix& matrix,
                                        const CompressedForm& form);

/// The matrix again: 2:4, also of float32. Throws InputError where the tensors do not go together, or a group of four
/// has not two bits.
sparsity::CompressedMatrix bitmask_matrix(const io::Tensor& compressed, const io::Tensor& bitmask,
                                          const CompressedForm& form);

/// `dense` [rows, k] of float32 at 2:4, which no tensor core executes and this layout holds. Under-full groups keep
/// their first places. Throws InputError where a group has three non-zeros.
sparsity::CompressedMatrix compress_float32(const base::Matrix<numerics::Word>& dense);

/// "<layer>" of a weight "<layer>.weight". Throws InputError for another name, which `layout` does not hold.
std::string layer_of_weight(const std::string& name, WeightLayout layout);

}  // namespace sptc::prune
