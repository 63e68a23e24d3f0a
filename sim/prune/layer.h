// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/criterion.h"
#include "sim/io/tensor_file.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sptc::prune {

/// Which axes of the tensor of a layer are its rows and its k; the rest are taps of filters or, of `stacked` weights,
/// the rows of matrices whose number is the axis `rows`: those of experts.
struct LayerAxes {
  std::size_t rows = 0, k = 1;
  bool stacked = false;
};

/// Where the weights [rows, k] of a layer stand in its tensor. Filters [rows, k, r, s..] are a row for each of their
/// taps, so that a group lies along the channels of one tap.
struct LayerLayout {
  std::int64_t rows = 0, taps = 1, k = 0;
  std::int64_t row_stride = 0, tap_stride = 0, k_stride = 1;
  bool k_first = false;  ///< the tensor is [k, rows]
  bool stacked = false;  ///< as LayerAxes has it
  std::size_t k_axis = 1;

  std::int64_t matrix_rows() const { return rows * taps; }
};

/// Nothing for a tensor that does not have these axes, or whose taps do not follow each other.
std::optional<LayerLayout> layer_layout(std::span<const std::int64_t> shape, const LayerAxes& axes);

/// The type of the elements of a tensor file called `dtype` as weights; nothing where they are none.
std::optional<numerics::DataType> weight_type(std::string_view dtype);

/// Bytes of an element of `type` in a tensor file.
std::size_t stored_bytes(numerics::DataType type);

/// The weights of `tensor`. Throws InputError where one is NaN or infinite.
base::Matrix<float> load_weights(const io::Tensor& tensor, numerics::DataType type, const LayerLayout& layout);

/// Zeroes of the elements at `bytes` what `mask` leaves out; zeros that stay become positive.
void apply_mask(const sparsity::Mask& mask, const LayerLayout& layout, numerics::DataType type,
                std::span<std::byte> bytes);
/// Replaces the weights of `tensor`, each rounded to `type`.
void store_weights(const base::Matrix<float>& weights, const LayerLayout& layout, io::Tensor& tensor,
                   numerics::DataType type);

/// The bytes of `mask` in the order of the tensor.
void store_mask(const sparsity::Mask& mask, const LayerLayout& layout, std::span<std::byte> bytes);

/// Puts slice order[i] along `axis` in place i. Several orders behind each other: each is that of as many of the slices
/// of the axes before it.
void permute_axis(io::Tensor& tensor, std::size_t axis, std::span<const std::size_t> order);

/// The words [rows, k] of a layer of one tap, raw where `type` is that of its elements, else rounded to `target`.
base::Matrix<numerics::Word> words_of_layer(const io::Tensor& tensor, numerics::DataType type,
                                            const LayerLayout& layout, numerics::DataType target);

}  // namespace sptc::prune
