// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace sptc::numerics {

template <typename T>
concept StorageElement = std::same_as<T, std::uint8_t> || std::same_as<T, std::uint16_t> || std::same_as<T, Word>;

/// A matrix of storage words that somebody else owns and keeps. An element takes 1, 2 or 4 bytes;
/// the elements of a row stand side by side, the rows `stride` elements apart.
class OperandView {
 public:
  OperandView() = default;
  template <StorageElement Element>
  OperandView(const Element* data, std::size_t rows, std::size_t cols, std::size_t stride)
      : data_(data), element_bytes_(sizeof(Element)), rows_(rows), cols_(cols), stride_(stride) {}
  template <StorageElement Element>
  OperandView(const base::Matrix<Element>& matrix)  // NOLINT(google-explicit-constructor)
      : OperandView(matrix.data(), matrix.rows(), matrix.cols(), matrix.cols()) {}
  /// No matrix where `matrix` is null.
  OperandView(const base::Matrix<Word>* matrix)  // NOLINT(google-explicit-constructor)
      : OperandView(matrix != nullptr ? OperandView(*matrix) : OperandView()) {}

  /// Whether there is a matrix, be it an empty one.
  explicit operator bool() const { return element_bytes_ != 0; }
  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::size_t element_bytes() const { return element_bytes_; }

  const std::byte* address(std::size_t row, std::size_t col) const {
    return static_cast<const std::byte*>(data_) + (row * stride_ + col) * element_bytes_;
  }
  Word operator()(std::size_t row, std::size_t col) const {
    Word word = 0;
    return *words(row, col, col + 1, &word);
  }
  /// Elements [begin, end) of a row: where they stand if they are words, else in `buffer`.
  const Word* words(std::size_t row, std::size_t begin, std::size_t end, Word* buffer) const {
    const void* elements = address(row, begin);
    switch (element_bytes_) {
      case 1:
        std::copy_n(static_cast<const std::uint8_t*>(elements), end - begin, buffer);
        return buffer;
      case 2:
        std::copy_n(static_cast<const std::uint16_t*>(elements), end - begin, buffer);
        return buffer;
      default:
        return static_cast<const Word*>(elements);
    }
  }
  /// Rows [begin, end).
  OperandView rows_between(std::size_t begin, std::size_t end) const {
    OperandView part = *this;
    part.data_ = address(begin, 0);
    part.rows_ = end - begin;
    return part;
  }

 private:
  const void* data_ = nullptr;
  std::size_t element_bytes_ = 0;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t stride_ = 0;
};

}  // namespace sptc::numerics
