// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"

#include <cstddef>
#include <span>

namespace sptc::base {

/// A dense row-major matrix whose elements somebody else owns and keeps.
template <typename T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, std::size_t rows, std::size_t cols) : data_(data), rows_(rows), cols_(cols) {}
  MatrixView(Matrix<T>& matrix)  // NOLINT(google-explicit-constructor)
      : MatrixView(matrix.data(), matrix.rows(), matrix.cols()) {}

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }

  T& operator()(std::size_t row, std::size_t col) const { return data_[row * cols_ + col]; }
  std::span<T> row(std::size_t index) const { return {data_ + index * cols_, cols_}; }
  /// The elements of rows [begin, end), which stand side by side.
  std::span<T> rows_between(std::size_t begin, std::size_t end) const {
    return {data_ + begin * cols_, (end - begin) * cols_};
  }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
};

}  // namespace sptc::base
