// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sptc::reference {

/// What an error bound must know about a block FMA: one step adds `products_per_step` products and
/// the accumulator, each truncated in magnitude to a multiple of 2^(emax - fraction_bits), where
/// emax is the largest exponent among them and at least `exponent_floor` (where there is one); the
/// exact sum is rounded once to the output: toward zero to f32, to nearest even to f16.
struct BlockFma {
  int products_per_step = 0;  ///< L
  int fraction_bits = 0;      ///< F
  std::optional<int> exponent_floor;
  /// Consecutive logical k that one step covers: L, or L * M/N where A is N:M sparse.
  int logical_k_per_step = 0;
  /// Low fraction bits of the output that every step leaves zero: 10 for the fp8 of Ada and Hopper,
  /// which keeps 13 of the 23 bits of f32.
  int cleared_output_bits = 0;
  numerics::DataType output = numerics::DataType::kF32;  ///< or f16
  /// fp8 instructions of depth 2L that run as two f16 steps from zero and an IEEE addition of the
  /// accumulator: Hopper and B200, mma/lowered_fp8.h.
  bool lowered_fp8 = false;
};

/// Inputs of one GEMM, as storage words. A is dense here: what an N:M matrix leaves out is zero.
struct GemmInputs {
  numerics::DataType type = numerics::DataType::kF16;
  const base::Matrix<numerics::Word>* a = nullptr;          ///< [m, k]
  const base::Matrix<numerics::Word>* b_columns = nullptr;  ///< [n, k]
  /// [m, k], non-zero where the hardware multiplies; null: everywhere. Only its positions can bring
  /// NaN or infinity into D: an element of B that no index selects is never multiplied.
  const base::Matrix<std::uint8_t>* selected = nullptr;
};

/// What an element of D must be.
enum class Expectation : std::uint8_t {
  kWithinBound,  ///< finite, at most `bound` away from `value`
  kNan,
  kPositiveInfinity,
  kNegativeInfinity,
  kUndecided,  ///< a partial sum comes near the largest number of the output: whether it overflows
               ///< depends on the rounding errors
};

/// The reference of D: value, proved bound and expectation of each element, [m, n].
struct Reference {
  base::Matrix<double> value;
  base::Matrix<double> bound;
  base::Matrix<Expectation> expectation;
};

/// Rows [row, row+rows) x columns [col, col+cols) of D.
struct Block {
  std::size_t row = 0, rows = 0, col = 0, cols = 0;
};

/// D = A B in double precision (Eigen) from the decoded inputs, and for each element the bound of a
/// block FMA's error, derived in gemm_reference.cpp. Integers: the exact sum wrapped to 32 bits,
/// bound 0. Blocks of about 64 x 64 keep the working set in cache. Throws InternalError where
/// shapes disagree or the output is neither f32 nor f16.
Reference multiply(const GemmInputs& inputs, const BlockFma& arithmetic, const Block& block);

}  // namespace sptc::reference
