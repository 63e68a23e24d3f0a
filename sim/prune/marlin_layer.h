// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/sparsity/compress.h"
#include "sim/io/tensor_layout.h"
#include "sim/prune/compressed_layer.h"

#include <string>
#include <vector>

namespace sptc::prune {

/// The tensors of the weight "<layer>.weight": "<layer>.weight_packed" I32 [k/32, rows * bits / 2], the codes plus
/// 2^(bits-1) of those that stay, in the fragments of Sparse-Marlin's kernel; "<layer>.scale_packed" F16 [groups,
/// rows]; "<layer>.meta" I16 [k/32, 2 rows], in the order of MetadataOrder::kMarlin. Sources: compressed-tensors 0.9.4,
/// marlin_24.py and permutations_24.py; IST-DASLab/Sparse-Marlin, marlin/__init__.py. Throws InputError for extents and
/// bits, other than 4 and 8, that it does not hold.
std::vector<io::TensorEntry> marlin_entries(const std::string& layer, const CompressedForm& form);

/// The tensors of `matrix`, codes in words of s8, and of its `scale` F16 [rows, groups]. Throws InputError where a code
/// does not fit the bits.
std::vector<io::Tensor> marlin_tensors(const std::string& layer, const sparsity::CompressedMatrix& matrix,
                                       const io::Tensor& scale, const CompressedForm& form);

/// The matrix again. Throws InputError where extents do not go together.
sparsity::CompressedMatrix marlin_matrix(const io::Tensor& packed, const io::Tensor& meta, const CompressedForm& form);
/// The scale F16 [rows, groups], called `name`.
io::Tensor marlin_scale(const io::Tensor& packed, const std::string& name, const CompressedForm& form);

}  // namespace sptc::prune
