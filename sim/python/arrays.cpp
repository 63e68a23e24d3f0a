// SPDX-License-Identifier: Apache-2.0
#include "sim/python/arrays.h"

#include "models/base/error.h"
#include "models/batched/parallel.h"
#include "sim/io/text_file.h"

#include <algorithm>

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
    io::refuse("{} must have two axes, not {}", what, array.ndim());
  }
  Layout layout{array.shape(0), array.shape(1), array.stride(0), array.stride(1)};
  // NumPy gives an axis of one element any stride.
  layout.row_stride = layout.rows == 1 ? 1 : layout.row_stride;
  layout.col_stride = layout.cols == 1 ? 1 : layout.col_stride;
  return layout;
}

/// Edge of the squares that a transposing copy moves: a row of a square is a line of the cache.
template <typename T>
constexpr std::size_t kTile = 64 / sizeof(T);

/// A copy whose rows have no gaps. It is quick where the columns of `from` have none.
template <typename T>
base::Matrix<T> gathered(const T* data, const Layout& from, int threads) {
  base::Matrix<T> to(from.rows, from.cols);
  const std::size_t stripes = (from.rows + kTile<T> - 1) / kTile<T>;
  batched::for_row_ranges(stripes, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t top = begin * kTile<T>; top < std::min(end * kTile<T>, from.rows); top += kTile<T>) {
      for (std::size_t left = 0; left < from.cols; left += kTile<T>) {
        for (std::size_t j = left; j < std::min(left + kTile<T>, from.cols); ++j) {
          for (std::size_t i = top; i < std::min(top + kTile<T>, from.rows); ++i) {
            to(i, j) =
                data[static_cast<std::int64_t>(i) * from.row_stride + static_cast<std::int64_t>(j) * from.col_stride];
          }
        }
      }
    }
  });
  return to;
}

template <typename To, typename From>
base::Matrix<To> copied(const From* data, const Layout& from) {
  if (from.col_stride != 1) {
    const base::Matrix<From> rows = gathered(data, from, 1);
    if constexpr (std::is_same_v<To, From>) {
      return rows;
    } else {
      const auto stride = static_cast<std::int64_t>(from.cols);
      return copied<To>(rows.data(), {from.rows, from.cols, stride, 1});
    }
  }
  base::Matrix<To> to(from.rows, from.cols);
  for (std::size_t i = 0; i < from.rows; ++i) {
    std::copy_n(data + static_cast<std::int64_t>(i) * from.row_stride, from.cols, to.row(i).begin());
  }
  return to;
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
      io::refuse("elements of {} bytes are no operands", array.itemsize());
  }
}

template <typename To>
base::Matrix<To> matrix_of(const Bits& array, const Layout& layout) {
  base::Matrix<To> matrix;
  with_elements(array, [&](const auto* data) {
    if constexpr (sizeof(*data) <= sizeof(To)) {
      matrix = copied<To>(data, layout);
    } else {
      base::ensure(false, "arrays: an element is wider than its word");
    }
  });
  return matrix;
}

OperandArray operand_of(const Bits& array, const Layout& layout, int threads) {
  OperandArray operand;
  with_elements(array, [&](const auto* data) {
    using Element = std::remove_cvref_t<decltype(*data)>;
    if constexpr (numerics::StorageElement<Element>) {
      if (layout.col_stride == 1 && layout.row_stride >= 0) {
        operand.view = {data, layout.rows, layout.cols, static_cast<std::size_t>(layout.row_stride)};
      } else {
        operand.view = operand.copy.emplace<base::Matrix<Element>>(gathered(data, layout, threads));
      }
    } else {
      base::ensure(false, "arrays: an element is wider than its word");
    }
  });
  return operand;
}

}  // namespace

base::Matrix<numerics::Word> words_of(const Bits& array, std::string_view what) {
  return matrix_of<numerics::Word>(array, layout_of(array, what));
}

OperandArray rows_of(const Bits& array, std::string_view what, int threads) {
  return operand_of(array, layout_of(array, what), threads);
}

OperandArray columns_of(const Bits& array, std::string_view what, int threads) {
  return operand_of(array, layout_of(array, what).transposed(), threads);
}

base::Matrix<std::uint64_t> wide_words_of(const Bits& array, std::string_view what, bool transposed) {
  const Layout layout = layout_of(array, what);
  return matrix_of<std::uint64_t>(array, transposed ? layout.transposed() : layout);
}

check::vectors::BitArray bit_array_of(const Bits& array) {
  std::vector<std::size_t> shape(array.ndim());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] = array.shape(axis);
  }
  check::vectors::BitArray result =
      check::vectors::make_bit_array(std::move(shape), static_cast<int>(array.itemsize()));
  if (!result.bits.empty()) {
    with_elements(array, [&](const auto* data) { std::copy(data, data + result.bits.size(), result.bits.begin()); });
  }
  return result;
}

template <typename Word>
void write_words(std::span<const Word> words, const Output& output) {
  base::ensure(words.size() == output.size(), "arrays: an output has another size than the result");
  if (words.empty()) {
    return;
  }
  with_elements(output, [&](const auto* data) {
    using To = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    To* const target = static_cast<To*>(output.data());
    std::transform(words.begin(), words.end(), target, [](Word word) { return static_cast<To>(word); });
  });
}

template void write_words(std::span<const std::uint8_t>, const Output&);
template void write_words(std::span<const numerics::Word>, const Output&);
template void write_words(std::span<const std::uint64_t>, const Output&);

}  // namespace sptc::python
