// SPDX-License-Identifier: Apache-2.0
#include "sim/python/arrays.h"

#include "models/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sptc::python {
namespace {

/// Where the elements of a matrix stand: element (i, j) at data[i * row_stride + j * col_stride].
struct Layout {
  std::size_t rows = 0, cols = 0;
  std::int64_t row_stride = 0, col_stride = 0;  ///< in elements

  Layout transposed() const { return {cols, rows, col_stride, row_stride}; }
};

Layout layout_of(const Bits& array, std::string_view what) {
  if (array.ndim() != 2) {
    throw base::InputError(fmt::format("{} must have two axes, not {}", what, array.ndim()));
  }
  return {array.shape(0), array.shape(1), array.stride(0), array.stride(1)};
}

/// Edge of the squares that a transposing copy moves: source and target stay in the cache.
constexpr std::size_t kTile = 32;

template <typename To, typename From>
void copy_elements(const From* data, const Layout& from, base::Matrix<To>& to) {
  const auto rows = static_cast<std::int64_t>(from.rows);
  const auto cols = static_cast<std::int64_t>(from.cols);
  if (from.col_stride == 1) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const From* const source = data + i * from.row_stride;
      std::copy(source, source + cols, to.row(static_cast<std::size_t>(i)).begin());
    }
    return;
  }
  constexpr auto kStep = static_cast<std::int64_t>(kTile);
  for (std::int64_t top = 0; top < rows; top += kStep) {
    for (std::int64_t left = 0; left < cols; left += kStep) {
      for (std::int64_t i = top; i < std::min(rows, top + kStep); ++i) {
        To* const target = to.row(static_cast<std::size_t>(i)).data();
        for (std::int64_t j = left; j < std::min(cols, left + kStep); ++j) {
          target[j] = data[i * from.row_stride + j * from.col_stride];
        }
      }
    }
  }
}

/// `call` with a typed pointer to the elements of `array`.
template <typename Array, typename Call>
void with_elements(const Array& array, Call call) {
  switch (array.itemsize()) {
    case 1:
      return call(static_cast<const std::uint8_t*>(array.data()));
    case 2:
      return call(static_cast<const std::uint16_t*>(array.data()));
    case 4:
      return call(static_cast<const std::uint32_t*>(array.data()));
    case 8:
      return call(static_cast<const std::uint64_t*>(array.data()));
    default:
      throw base::InputError(fmt::format("elements of {} bytes are no operands", array.itemsize()));
  }
}

template <typename To>
base::Matrix<To> matrix_of(const Bits& array, const Layout& layout) {
  base::Matrix<To> matrix(layout.rows, layout.cols);
  if (!matrix.empty()) {
    with_elements(array, [&](const auto* data) {
      if constexpr (sizeof(*data) <= sizeof(To)) {
        copy_elements(data, layout, matrix);
      } else {
        base::ensure(false, "arrays: an element is wider than its word");
      }
    });
  }
  return matrix;
}

template <typename From>
void write_elements(std::span<const From> words, const Output& output) {
  base::ensure(words.size() == output.size(), "arrays: an output has another size than the result");
  if (words.empty()) {
    return;
  }
  with_elements(output, [&](const auto* data) {
    using To = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    To* const target = static_cast<To*>(output.data());
    std::transform(words.begin(), words.end(), target,
                   [](From word) { return static_cast<To>(word); });
  });
}

}  // namespace

base::Matrix<numerics::Word> words_of(const Bits& array, std::string_view what) {
  return matrix_of<numerics::Word>(array, layout_of(array, what));
}

base::Matrix<numerics::Word> transposed_words_of(const Bits& array, std::string_view what) {
  return matrix_of<numerics::Word>(array, layout_of(array, what).transposed());
}

base::Matrix<std::uint64_t> wide_words_of(const Bits& array, std::string_view what) {
  return matrix_of<std::uint64_t>(array, layout_of(array, what));
}

base::Matrix<std::uint64_t> transposed_wide_words_of(const Bits& array, std::string_view what) {
  return matrix_of<std::uint64_t>(array, layout_of(array, what).transposed());
}

compare::vectors::BitArray bit_array_of(const Bits& array) {
  std::vector<std::size_t> shape(array.ndim());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] = array.shape(axis);
  }
  compare::vectors::BitArray result =
      compare::vectors::make_bit_array(std::move(shape), static_cast<int>(array.itemsize()));
  if (!result.bits.empty()) {
    with_elements(array, [&](const auto* data) {
      std::copy(data, data + result.bits.size(), result.bits.begin());
    });
  }
  return result;
}

void write_words(std::span<const numerics::Word> words, const Output& output) {
  write_elements(words, output);
}

void write_words(std::span<const std::uint64_t> words, const Output& output) {
  write_elements(words, output);
}

}  // namespace sptc::python
