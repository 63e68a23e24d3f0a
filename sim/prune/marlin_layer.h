// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/word.h"
#include "models/sparsity/compress.h"
#include "sim/io/tensor_layout.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::prune {

/// What `marlin-24` holds of a weight [rows, k]: codes of 4 or 8 bits, and a scale for each row or for each row and 128
/// columns.
struct MarlinForm {
  std::int64_t rows = 0, k = 0;
  int bits = 4;
  std::int64_t scale_groups = 1;
};

/// The tensors of the weight "<layer>.weight": "<layer>.weight_packed" I32 [k/32, rows * bits / 2], the codes plus
/// 2^(bits-1) of those that stay, in the fragments of Sparse-Marlin's kernel; "<layer>.scale_packed" F16 [groups,
/// rows]; "<layer>.meta" I16 [k/32, 2 rows], in the order of MetadataOrder::kMarlin. Sources: compressed-tensors 0.9.4,
/// marlin_24.py and permutations_24.py; IST-DASLab/Sparse-Marlin, marlin/__init__.py. Throws InputError for extents
/// that it does not hold.
std::vector<io::TensorEntry> marlin_entries(const std::string& layer, const MarlinForm& form);

/// The tensors of `matrix`, codes in words of s8, and of its `scale` F16 [rows, groups]. Throws InputError where a code
/// does not fit the bits.
std::vector<io::Tensor> marlin_tensors(const std::string& layer, const sparsity::CompressedMatrix& matrix,
                                       const io::Tensor& scale, const MarlinForm& form);

/// The matrix again. Throws InputError where extents do not go together.
sparsity::CompressedMatrix marlin_matrix(const io::Tensor& packed, const io::Tensor& meta, const MarlinForm& form);
/// The scale F16 [rows, groups], called `name`.
io::Tensor marlin_scale(const io::Tensor& packed, const std::string& name, const MarlinForm& form);

}  // namespace sptc::prune
