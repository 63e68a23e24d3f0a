// SPDX-License-Identifier: Apache-2.0
//
// The error of a block FMA with truncation
// ----------------------------------------
// A step takes L products p_1..p_L and the accumulator c (f32), and lets
//
//     c' = RZ32( sum_l T(p_l) + T(c) ),     T(x) = x cut toward zero to a multiple of 2^(emax - F),
//
// with emax the largest exponent among the non-zero addends (for a product the sum of the two
// exponent fields, before any normalisation) and at least the floor of the hardware. Let s be the
// exact sum of all products so far, d the same sum as computed here in double, and E a bound on |c
// - d|. For one step from (c, s, d, E) to (c', s', d', E'):
//
//   1. 2^emax <= Q, Q = pow2_floor(max(|d| + E, S, R, 2^-126, 2^floor)), pow2_floor(x) =
//   2^floor(log2 x).
//      - An accumulator that is normal has exponent floor(log2 |c|) and |c| <= |d| + E; a subnormal
//      one has -126.
//      - A product of normal operands is significand * 2^(ea + eb) with a significand in [1, 4), so
//        2^(ea + eb) <= |p| <= S, the sum of |p_l| of this step. (S as computed is not below any
//        |p_l|, although it is rounded: the addends are not negative and rounding is monotone.)
//      - A product with a subnormal operand keeps the exponent of the format: 2^(ea + eb) <= R,
//      where R is 2^emin
//        times the largest power of two on the other side.
//   2. T changes each of the L + 1 addends by less than 2^(emax - F) <= Q 2^-F; their sum is exact:
//        truncation < (L + 1) Q 2^-F.
//   3. The sum before rounding is at most Y = |d'| + E + truncation in magnitude; rounding toward
//   zero changes it by
//      less than one unit in the last place: pow2_floor(max(Y, 2^-126)) 2^-f with f = 23 output
//      fraction bits (13 for the fp8 of Ada and Hopper), which is 2^-149 for
//      subnormals.
//   4. The double sums: the products are exact (at most 2 x 11 bits), L of them are summed and
//   added to d:
//        |(d' - d) - (s' - s)| <= 2^-52 (L S + Y)        (gamma_n <= 2 n u, u = 2^-53)
//
//   E' = E + truncation + rounding + 2^-52 (L S + Y), inflated by 2^-26 for the rounding of E
//   itself and of |d| + E.
//
// Without step 1 this is the a-priori bound of block FMA: with |c| <= sum |a||b| (everything
// truncates toward zero) and T = ceil(K / L) steps, E <= T ((L + 1) 2^-F + 2^-23) sum |a||b| to
// first order. Carrying E along with the actual partial sums (running error analysis) replaces sum
// |a||b| by the partial sum itself, which for operands of mixed sign is smaller by about sqrt(K): a
// bound that a single wrong product still violates at K = 4096.
//
// P. Blanchard, N. J. Higham, F. Lopez, T. Mary, S. Pranesh, "Mixed precision block fused
// multiply-add: error analysis
//   and application to GPU tensor cores", SIAM J. Sci. Comput. 42(3), 2020 (the block FMA model and
//   its bound).
// M. Fasi, N. J. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores",
// PeerJ CS 7:e330, 2021
//   (truncation, alignment to the largest exponent, round toward zero).
// N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., SIAM 2002, section 3.3
// (running error
//   analysis), lemma 3.1 (gamma_n).
#include "models/reference/gemm_reference.h"

#include "models/base/error.h"

#include <Eigen/Core>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace sptc::reference {
namespace {

using Panel = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kSmallestNormal = 0x1p-126;  // of f32
constexpr double kOverflow =
    0x1.fffffep127;  // the largest finite f32; RZ turns what reaches 2^128 into infinity
constexpr double kInflation = 1.0 + 0x1p-26;

/// 2^floor(log2 x) for a positive normal double: the value with its mantissa field cleared.
double pow2_floor(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7FF0'0000'0000'0000ULL);
}

/// Decoded rows of one operand. Non-finite elements are zero here and flagged: D has them decided
/// apart.
struct Operand {
  Panel values;                   ///< [rows, k]
  std::vector<double> top;        ///< per row: 2^(largest exponent field), 0 for a row of zeros
  std::vector<double> subnormal;  ///< per row: 2^emin where the row holds a subnormal, else 0
  std::vector<bool> special;      ///< per row: holds NaN or infinity
};

Operand decode(const Matrix<numerics::Word>& words, std::size_t first, std::size_t count,
               numerics::DataType type) {
  const numerics::DataTypeInfo& row_of_table = numerics::info(type);
  Operand result{Panel(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(words.cols())),
                 std::vector<double>(count), std::vector<double>(count), std::vector<bool>(count)};
  for (std::size_t r = 0; r < count; ++r) {
    const auto row = words.row(first + r);
    int top = std::numeric_limits<int>::min();
    for (std::size_t k = 0; k < row.size(); ++k) {
      double value = numerics::to_double(row[k], type);
      if (!std::isfinite(value)) {
        result.special[r] = true;
        value = 0;
      }
      result.values(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(k)) = value;
      if (value != 0 && row_of_table.is_float()) {
        const int exponent = std::ilogb(value);
        top = std::max(top, std::max(exponent, row_of_table.format->min_exponent()));
        if (exponent < row_of_table.format->min_exponent()) {
          result.subnormal[r] = std::ldexp(1.0, row_of_table.format->min_exponent());
        }
      }
    }
    result.top[r] = top == std::numeric_limits<int>::min() ? 0 : std::ldexp(1.0, top);
  }
  return result;
}

/// Carries (d, E) of every element of a block through the steps.
class RunningBound {
 public:
  RunningBound(const Operand& a, const Operand& b, const BlockFma& arithmetic)
      : truncation_((arithmetic.products_per_step + 1) *
                    std::ldexp(1.0, -arithmetic.fraction_bits)),
        rounding_(std::ldexp(1.0, -arithmetic.output_fraction_bits)),
        reference_sum_(0x1p-52 * arithmetic.products_per_step),
        d_(Panel::Zero(a.values.rows(), b.values.rows())),
        error_(d_),
        largest_(d_),
        magnitude_(d_),
        exponent_floor_(d_) {
    const double floor =
        std::max(kSmallestNormal, std::ldexp(1.0, arithmetic.exponent_floor.value_or(-126)));
    for (Eigen::Index i = 0; i < d_.rows(); ++i) {
      for (Eigen::Index j = 0; j < d_.cols(); ++j) {
        const auto r = static_cast<std::size_t>(i);
        const auto c = static_cast<std::size_t>(j);
        exponent_floor_(i, j) =
            std::max({floor, a.subnormal[r] * b.top[c], a.top[r] * b.subnormal[c]});
      }
    }
  }

  /// One step: `products` is sum p_l, `magnitudes` sum |p_l|, both [m, n].
  void step(const Panel& products, const Panel& magnitudes) {
    const Eigen::Index count = d_.size();
    const double* p = products.data();
    const double* s = magnitudes.data();
    const double* floor = exponent_floor_.data();
    double* d = d_.data();
    double* e = error_.data();
    double* largest = largest_.data();
    double* total = magnitude_.data();
    for (Eigen::Index i = 0; i < count; ++i) {
      const double q = pow2_floor(std::max(std::max(std::fabs(d[i]) + e[i], s[i]), floor[i]));
      d[i] += p[i];
      const double cut = e[i] + truncation_ * q;
      const double y = std::fabs(d[i]) + cut;
      const double rounding = rounding_ * pow2_floor(std::max(y, kSmallestNormal));
      e[i] = (cut + rounding + reference_sum_ * s[i] + 0x1p-52 * y) * kInflation;
      largest[i] = std::max(largest[i], y);
      total[i] += s[i];
    }
  }

  const Panel& d() const { return d_; }
  const Panel& error() const { return error_; }
  const Panel& largest() const {
    return largest_;
  }  ///< over the steps, of what may reach the rounding
  const Panel& magnitude() const { return magnitude_; }  ///< sum |a||b|

 private:
  double truncation_;
  double rounding_;
  double reference_sum_;
  Panel d_, error_, largest_, magnitude_, exponent_floor_;
};

/// NaN, infinity, or finite, by IEEE 754 reasoning over the products that the hardware forms.
Expectation classify(const GemmInputs& inputs, std::size_t i, std::size_t j) {
  bool positive = false;
  bool negative = false;
  for (std::size_t k = 0; k < inputs.a->cols(); ++k) {
    if (inputs.selected != nullptr && (*inputs.selected)(i, k) == 0) {
      continue;
    }
    const double product = numerics::to_double((*inputs.a)(i, k), inputs.type) *
                           numerics::to_double((*inputs.b_columns)(j, k), inputs.type);
    if (std::isnan(product)) {
      return Expectation::kNan;
    }
    positive = positive || product == std::numeric_limits<double>::infinity();
    negative = negative || product == -std::numeric_limits<double>::infinity();
  }
  if (positive && negative) {
    return Expectation::kNan;
  }
  if (positive || negative) {
    return positive ? Expectation::kPositiveInfinity : Expectation::kNegativeInfinity;
  }
  return Expectation::kWithinBound;
}

/// The sum of all products, wrapped to 32 bits. Exact: |sum| <= k 2^14, far below 2^53.
void multiply_integers(const Operand& a, const Operand& b, Reference& result) {
  const Panel sum = a.values * b.values.transpose();
  for (std::size_t i = 0; i < result.value.rows(); ++i) {
    for (std::size_t j = 0; j < result.value.cols(); ++j) {
      const auto exact = static_cast<std::int64_t>(
          sum(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)));
      result.value(i, j) = static_cast<std::int32_t>(static_cast<std::uint32_t>(exact));
    }
  }
}

void multiply_floats(const GemmInputs& inputs, const BlockFma& arithmetic, const Block& block,
                     const Operand& a, const Operand& b, Reference& result) {
  RunningBound running(a, b, arithmetic);
  const Panel b_rows = b.values.transpose();  // [k, n]
  const Eigen::Index depth = a.values.cols();
  Panel products(a.values.rows(), b.values.rows());
  Panel magnitudes(products);
  for (Eigen::Index k = 0; k < depth; k += arithmetic.logical_k_per_step) {
    const Eigen::Index length = std::min<Eigen::Index>(arithmetic.logical_k_per_step, depth - k);
    const auto a_step = a.values.middleCols(k, length);
    const auto b_step = b_rows.middleRows(k, length);
    products.noalias() = a_step * b_step;
    magnitudes.noalias() = a_step.cwiseAbs() * b_step.cwiseAbs();
    running.step(products, magnitudes);
  }
  for (std::size_t i = 0; i < block.rows; ++i) {
    for (std::size_t j = 0; j < block.cols; ++j) {
      const auto r = static_cast<Eigen::Index>(i);
      const auto c = static_cast<Eigen::Index>(j);
      Expectation expected = a.special[i] || b.special[j]
                                 ? classify(inputs, block.row + i, block.col + j)
                                 : Expectation::kWithinBound;
      // An overflow on the way can change any outcome but NaN.
      if (expected != Expectation::kNan && running.largest()(r, c) > kOverflow) {
        expected = Expectation::kUndecided;
      }
      result.value(i, j) = running.d()(r, c);
      result.bound(i, j) = running.magnitude()(r, c) == 0 ? 0 : running.error()(r, c);
      result.expectation(i, j) = expected;
    }
  }
}

}  // namespace

Reference multiply(const GemmInputs& inputs, const BlockFma& arithmetic, const Block& block) {
  ensure(inputs.a->cols() == inputs.b_columns->cols(), "reference: A and B differ in k");
  ensure(block.row + block.rows <= inputs.a->rows() &&
             block.col + block.cols <= inputs.b_columns->rows(),
         "reference: block outside D");
  const Operand a = decode(*inputs.a, block.row, block.rows, inputs.type);
  const Operand b = decode(*inputs.b_columns, block.col, block.cols, inputs.type);
  Reference result{Matrix<double>(block.rows, block.cols), Matrix<double>(block.rows, block.cols),
                   Matrix<Expectation>(block.rows, block.cols, Expectation::kWithinBound)};
  if (!numerics::info(inputs.type).is_float()) {
    multiply_integers(a, b, result);
    return result;
  }
  ensure(arithmetic.logical_k_per_step > 0 && arithmetic.products_per_step > 0,
         "reference: a step without products");
  ensure(arithmetic.fraction_bits > 0, "reference: an accumulator without fraction bits");
  multiply_floats(inputs, arithmetic, block, a, b, result);
  return result;
}

}  // namespace sptc::reference
