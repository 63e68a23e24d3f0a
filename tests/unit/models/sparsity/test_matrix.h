// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "models/base/matrix.h"
#include "models/numerics/codec.h"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace sptc::sparsity {

/// A matrix of `type` with these values.
inline base::Matrix<numerics::Word> words(std::initializer_list<std::initializer_list<double>> rows,
                                          numerics::DataType type) {
  base::Matrix<numerics::Word> matrix(rows.size(), rows.begin()->size());
  std::size_t r = 0;
  for (const auto& row : rows) {
    std::size_t c = 0;
    for (const double value : row) {
      matrix(r, c++) = numerics::from_double(value, type);
    }
    ++r;
  }
  return matrix;
}

inline base::Matrix<std::uint8_t> nibbles(std::initializer_list<std::initializer_list<std::uint8_t>> rows) {
  base::Matrix<std::uint8_t> matrix(rows.size(), rows.begin()->size());
  std::size_t r = 0;
  for (const auto& row : rows) {
    std::size_t c = 0;
    for (const std::uint8_t value : row) {
      matrix(r, c++) = value;
    }
    ++r;
  }
  return matrix;
}

/// The sentence of the InputError that `action` throws; empty where it throws none.
template <typename Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const base::InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace sptc::sparsity
