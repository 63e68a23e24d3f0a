// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sptc::reference {

/// What an error bound must know about a block FMA: one step adds `products_per_step` products and
/// the accumulator, each truncated in magnitude to a multiple of 2^(emax - fraction_bits), where
/// emax is the largest exponent among them and at least `exponent_floor` (where there is one); the
/// exact sum is rounded toward zero to f32.
struct BlockFma {
  int products_per_step = 0;  ///< L
  int fraction_bits = 0;      ///< F
  std::optional<int> exponent_floor;
  /// Consecutive logical k that one step covers: L, or L * M/N where A is N:M sparse.
  int logical_k_per_step = 0;
  /// Fraction bits that the rounded sum keeps: those of f32, or 13 for the fp8 of Ada and Hopper.
  int output_fraction_bits = 23;
};

/// Inputs of one GEMM, as storage words. A is dense here: what an N:M matrix leaves out is zero.
struct GemmInputs {
  numerics::DataType type = numerics::DataType::kF16;
  const Matrix<numerics::Word>* a = nullptr;          ///< [m, k]
  const Matrix<numerics::Word>* b_columns = nullptr;  ///< [n, k]
  /// [m, k], non-zero where the hardware multiplies; null: everywhere. Only its positions can bring
  /// NaN or infinity into D: an element of B that no index selects is never multiplied.
  const Matrix<std::uint8_t>* selected = nullptr;
};

/// What an element of D must be.
enum class Expectation : std::uint8_t {
  kWithinBound,  ///< finite, at most `bound` away from `value`
  kNan,
  kPositiveInfinity,
  kNegativeInfinity,
  kUndecided,  ///< a partial sum comes near 2^128: whether it overflows depends on the rounding
               ///< errors
};

/// The reference of D: value, proved bound and expectation of each element, [m, n].
struct Reference {
  Matrix<double> value;
  Matrix<double> bound;
  Matrix<Expectation> expectation;
};

/// Rows [row, row+rows) x columns [col, col+cols) of D.
struct Block {
  std::size_t row = 0, rows = 0, col = 0, cols = 0;
};

/// D = A B in double precision (Eigen) from the decoded inputs, and for each element the bound of a
/// block FMA's error, derived in gemm_reference.cpp. Integers: the exact sum wrapped to 32 bits,
/// bound 0. Blocks of about 64 x 64 keep the working set in cache. Throws InternalError where
/// shapes disagree.
Reference multiply(const GemmInputs& inputs, const BlockFma& arithmetic, const Block& block);

}  // namespace sptc::reference
