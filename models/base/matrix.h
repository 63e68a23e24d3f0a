// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sptc::base {

/// A dense row-major matrix that owns its elements.
template <typename T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols, T fill = T{}) : rows_(rows), cols_(cols), elements_(rows * cols, fill) {}

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }

  T& operator()(std::size_t row, std::size_t col) { return elements_[row * cols_ + col]; }
  const T& operator()(std::size_t row, std::size_t col) const { return elements_[row * cols_ + col]; }

  std::span<T> row(std::size_t index) { return {elements_.data() + index * cols_, cols_}; }
  std::span<const T> row(std::size_t index) const { return {elements_.data() + index * cols_, cols_}; }

  T* data() { return elements_.data(); }
  const T* data() const { return elements_.data(); }

  Matrix transposed() const {
    Matrix result(cols_, rows_);
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t c = 0; c < cols_; ++c) {
        result(c, r) = (*this)(r, c);
      }
    }
    return result;
  }

  bool operator==(const Matrix&) const = default;

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::vector<T> elements_;
};

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
