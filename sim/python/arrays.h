// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/numerics/operand_view.h"
#include "sim/check/vectors/bit_array.h"

#include <cstddef>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string_view>
#include <variant>
#include <vector>

namespace sptc::python {

// Arrays of the caller as raw bits. sptcsim/_arrays.py has checked their element types and views
// them as unsigned integers, so C++ looks at sizes and strides alone.

/// An array that is read: elements of 1, 2, 4 or 8 bytes, any strides.
using Bits = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
/// An array that a function fills: row-major, no gaps.
using Output = nanobind::ndarray<nanobind::device::cpu, nanobind::c_contig>;

/// A matrix [rows, columns]: each element zero-extended. Throws InputError, with `what` in front,
/// unless there are two axes.
base::Matrix<numerics::Word> words_of(const Bits& array, std::string_view what);
/// The same with elements of 64 bits.
base::Matrix<std::uint64_t> wide_words_of(const Bits& array, std::string_view what, bool transposed = false);

/// A matrix as an operand of the batched engine: the array of the caller, which must outlive it, or
/// a copy where that has gaps between the elements of a row.
struct OperandArray {
  numerics::OperandView view;
  std::variant<std::monostate, base::Matrix<std::uint8_t>, base::Matrix<std::uint16_t>, base::Matrix<numerics::Word>>
      copy;
};
/// `array` [rows, columns]. Errors: as for words_of(). `threads` share the copying.
OperandArray rows_of(const Bits& array, std::string_view what, int threads);
OperandArray columns_of(const Bits& array, std::string_view what, int threads);

check::vectors::BitArray bit_array_of(const Bits& array);

/// The low bytes of `words`, in row-major order, into an array of as many elements.
template <typename Word>
void write_words(std::span<const Word> words, const Output& output);
template <typename Word>
void write_words(const base::Matrix<Word>& words, const Output& output) {
  write_words(std::span<const Word>(words.data(), words.size()), output);
}

}  // namespace sptc::python
