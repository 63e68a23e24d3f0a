// SPDX-License-Identifier: Apache-2.0
//
// The error of a block FMA with truncation
// ----------------------------------------
// A step takes L products p_1..p_L and the accumulator c (f32 or f16), and lets
//
//     c' = rd( sum_l T(p_l) + T(c) ),     T(x) = x cut toward zero to a multiple of 2^(emax - F),
//
// where emax is the largest exponent among the non-zero addends (for a product the sum of the two
// exponent fields, before any normalisation), at least the floor of the hardware. rd rounds toward
// zero to f32 (u = 1), or to nearest even to f16 (u = 1/2), and keeps f fraction bits: 23 of f32
// (13 for the fp8 of Ada and Hopper), 10 of f16. emin is the smallest exponent of the output (-126,
// -14). Let s be the exact sum of all products so far, d the same sum as computed here in double,
// and E a bound on |c - d|. For one step from (c, s, d, E) to (c', s', d', E'), with
// pow2_floor(x) = 2^floor(log2 x):
//
//   1. 2^emax <= Q = pow2_floor(max(|d| + E, S, R, 2^emin, 2^floor)).
//      - A normal accumulator has exponent floor(log2 |c|) and |c| <= |d| + E; a subnormal one has
//        emin.
//      - A product of normal operands is significand * 2^(ea + eb) with a significand in [1, 4), so
//        2^(ea + eb) <= |p| <= S, the sum of |p_l| of this step. (S as computed is not below any
//        |p_l|, although it is rounded: the addends are not negative and rounding is monotone.)
//      - A product with a subnormal operand keeps the exponent of the format: 2^(ea + eb) <= R,
//        2^(smallest exponent of the operand) times the largest power of two on the other side.
//   2. T changes each of the L + 1 addends by less than 2^(emax - F) <= Q 2^-F; their sum is exact:
//      truncation < (L + 1) Q 2^-F.
//   3. The sum before rounding is at most Y = |d'| + E + truncation in magnitude; rounding changes
//      it by at most u units in the last place: u pow2_floor(max(Y, 2^emin)) 2^-f. The unit of
//      subnormals is 2^(emin - f).
//   4. The double sums: the products are exact (at most 2 x 11 bits), L of them are summed and
//      added to d:  |(d' - d) - (s' - s)| <= 2^-52 (L S + Y)        (gamma_n <= 2 n u, u = 2^-53)
//
//   E' = E + truncation + rounding + 2^-52 (L S + Y), inflated by 2^-26 for the rounding of E
//   itself and of |d| + E.
//
// An fp8 instruction of Hopper or B200 that is lowered to f16 lets (mma/lowered_fp8.h)
//
//     t1 = step(half of the products, 0),  t2 = step(the others, t1),  c' = RN(t2 + c).
//
// Operands convert to f16 exactly; an e4m3 subnormal becomes a normal f16, so R counts f16
// subnormals only. Points 1 to 4, twice from (t, s, d, E) = (0, 0, 0, 0), give (d2, E2) with
// |t2 - d2| <= E2. The addition is IEEE 754's, to nearest with all fraction bits:
//
//     Y = |d + d2| + E + E2,   E' = E + E2 + pow2_floor(max(Y, 2^emin)) 2^-f / 2 + 2^-52 Y.
//
// The accumulator is in neither window: what the products leave is not cut by a large sum.
//
// With |c| <= sum |a||b| instead of step 1 (everything truncates toward zero) this is the a-priori
// bound of block FMA: E <= T ((L + 1) 2^-F + 2^-23) sum |a||b| to first order, T = ceil(K / L)
// steps. Running error analysis, which carries E along with the partial sums, replaces sum |a||b|
// by the partial sum, smaller by about sqrt(K) for operands of mixed sign: a bound that a single
// wrong product still violates at K = 4096.
//
// P. Blanchard, N. J. Higham, F. Lopez, T. Mary, S. Pranesh, "Mixed precision block fused
//   multiply-add: error analysis and application to GPU tensor cores", SIAM J. Sci. Comput. 42(3),
//   2020 (the block FMA model and its bound).
// M. Fasi, N. J. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores",
//   PeerJ CS 7:e330, 2021 (truncation, alignment to the largest exponent, round toward zero).
// N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., SIAM 2002, section 3.3
//   (running error analysis), lemma 3.1 (gamma_n).
#include "models/reference/gemm_reference.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <Eigen/Core>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace sptc::reference {
namespace {

using Panel = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kInflation = 1.0 + 0x1p-26;

/// 2^floor(log2 x) for a positive normal double: the value with its mantissa field cleared.
double pow2_floor(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7FF0'0000'0000'0000ULL);
}

/// Where logical k stands so that the products of a step stand side by side.
class StepOrder {
 public:
  explicit StepOrder(const BlockFma& arithmetic) {
    if (arithmetic.lowered_fp8) {
      half_ = static_cast<std::size_t>(arithmetic.logical_k_per_step);
      // The first step takes elements 0 and 1 of four as A stores them, or the groups of these.
      pair_ = 2 * half_ / static_cast<std::size_t>(arithmetic.products_per_step);
    }
  }

  /// Whole instructions where they are lowered: rows end with zeros.
  std::size_t padded(std::size_t k) const {
    const std::size_t depth = 2 * half_;
    return half_ == 0 ? k : (k + depth - 1) / depth * depth;
  }
  std::size_t place(std::size_t k) const {
    if (half_ == 0) {
      return k;
    }
    const std::size_t within = k % (2 * half_);
    const std::size_t step = within / pair_ % 2;
    return k - within + step * half_ + within / (2 * pair_) * pair_ + within % pair_;
  }

 private:
  std::size_t half_ = 0;  // logical k of one of two steps; 0: not lowered
  std::size_t pair_ = 0;  // neighbours in k that go to the same step
};

/// Decoded rows of one operand. Non-finite elements are zero here and flagged: D has them decided
/// apart.
struct Operand {
  Panel values;                   ///< [rows, k], in the order of the steps
  std::vector<double> top;        ///< per row: 2^(largest exponent field), 0 for a row of zeros
  std::vector<double> subnormal;  ///< per row: 2^emin where the row holds a subnormal, else 0
  std::vector<bool> special;      ///< per row: holds NaN or infinity
};

Operand decode(const base::Matrix<numerics::Word>& words, std::size_t first, std::size_t count, numerics::DataType type,
               const BlockFma& arithmetic) {
  const StepOrder order(arithmetic);
  const bool is_float = numerics::info(type).is_float();
  const numerics::DataType multiplied = arithmetic.lowered_fp8 ? numerics::DataType::kF16 : type;
  const int min_exponent = is_float ? numerics::info(multiplied).format->min_exponent() : 0;
  Operand result{Panel::Zero(static_cast<Eigen::Index>(count), static_cast<Eigen::Index>(order.padded(words.cols()))),
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
      result.values(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(order.place(k))) = value;
      if (value != 0 && is_float) {
        const int exponent = std::ilogb(value);
        top = std::max(top, std::max(exponent, min_exponent));
        if (exponent < min_exponent) {
          result.subnormal[r] = std::ldexp(1.0, min_exponent);
        }
      }
    }
    result.top[r] = top == std::numeric_limits<int>::min() ? 0 : std::ldexp(1.0, top);
  }
  return result;
}

/// (d, E) of every element of a block, [m, n].
struct BoundedSum {
  BoundedSum(Eigen::Index rows, Eigen::Index cols) : value(Panel::Zero(rows, cols)), error(Panel::Zero(rows, cols)) {}
  void clear() {
    value.setZero();
    error.setZero();
  }

  Panel value;  ///< d
  Panel error;  ///< E
};

/// Carries bounded sums through the steps.
class RunningBound {
 public:
  RunningBound(const Operand& a, const Operand& b, const BlockFma& arithmetic)
      : truncation_((arithmetic.products_per_step + 1) * std::ldexp(1.0, -arithmetic.fraction_bits)),
        reference_sum_(0x1p-52 * arithmetic.products_per_step),
        largest_(Panel::Zero(a.values.rows(), b.values.rows())),
        magnitude_(largest_),
        exponent_floor_(largest_) {
    const numerics::FloatFormat& output = *numerics::info(arithmetic.output).format;
    const double unit = std::ldexp(1.0, -output.mantissa_bits);
    const bool to_nearest = arithmetic.output == numerics::DataType::kF16;
    step_rounding_ = std::ldexp(to_nearest ? unit / 2 : unit, arithmetic.cleared_output_bits);
    addition_rounding_ = unit / 2;
    smallest_normal_ = std::ldexp(1.0, output.min_exponent());
    const double floor = arithmetic.exponent_floor
                             ? std::max(smallest_normal_, std::ldexp(1.0, *arithmetic.exponent_floor))
                             : smallest_normal_;
    for (Eigen::Index i = 0; i < largest_.rows(); ++i) {
      for (Eigen::Index j = 0; j < largest_.cols(); ++j) {
        const auto r = static_cast<std::size_t>(i);
        const auto c = static_cast<std::size_t>(j);
        exponent_floor_(i, j) = std::max({floor, a.subnormal[r] * b.top[c], a.top[r] * b.subnormal[c]});
      }
    }
  }

  /// One step: `products` is sum p_l, `magnitudes` sum |p_l|, both [m, n].
  void step(const Panel& products, const Panel& magnitudes, BoundedSum& sum) {
    const Eigen::Index count = largest_.size();
    const double* p = products.data();
    const double* s = magnitudes.data();
    const double* floor = exponent_floor_.data();
    double* d = sum.value.data();
    double* e = sum.error.data();
    double* largest = largest_.data();
    double* total = magnitude_.data();
    for (Eigen::Index i = 0; i < count; ++i) {
      const double q = pow2_floor(std::max(std::max(std::fabs(d[i]) + e[i], s[i]), floor[i]));
      d[i] += p[i];
      const double cut = e[i] + truncation_ * q;
      const double y = std::fabs(d[i]) + cut;
      const double rounding = step_rounding_ * pow2_floor(std::max(y, smallest_normal_));
      e[i] = (cut + rounding + reference_sum_ * s[i] + 0x1p-52 * y) * kInflation;
      largest[i] = std::max(largest[i], y);
      total[i] += s[i];
    }
  }

  /// The end of a lowered instruction: what its two steps left is added, to nearest.
  void add(const BoundedSum& result_of_steps, BoundedSum& sum) {
    const Eigen::Index count = largest_.size();
    const double* t = result_of_steps.value.data();
    const double* t_error = result_of_steps.error.data();
    double* d = sum.value.data();
    double* e = sum.error.data();
    double* largest = largest_.data();
    for (Eigen::Index i = 0; i < count; ++i) {
      d[i] += t[i];
      const double carried = e[i] + t_error[i];
      const double y = std::fabs(d[i]) + carried;
      const double rounding = addition_rounding_ * pow2_floor(std::max(y, smallest_normal_));
      e[i] = (carried + rounding + 0x1p-52 * y) * kInflation;
      largest[i] = std::max(largest[i], y);
    }
  }

  const Panel& largest() const { return largest_; }      ///< over the steps, of what may reach the rounding
  const Panel& magnitude() const { return magnitude_; }  ///< sum |a||b|

 private:
  double truncation_;
  double reference_sum_;
  double step_rounding_ = 0;      // relative to the power of two of what is rounded
  double addition_rounding_ = 0;  // likewise
  double smallest_normal_ = 0;    // of the output
  Panel largest_, magnitude_, exponent_floor_;
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
      const auto exact = static_cast<std::int64_t>(sum(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)));
      result.value(i, j) = static_cast<std::int32_t>(static_cast<std::uint32_t>(exact));
    }
  }
}

void multiply_floats(const GemmInputs& inputs, const BlockFma& arithmetic, const Block& block, const Operand& a,
                     const Operand& b, Reference& result) {
  RunningBound running(a, b, arithmetic);
  const Panel b_rows = b.values.transpose();  // [k, n]
  const Eigen::Index depth = a.values.cols();
  Panel products(a.values.rows(), b.values.rows());
  Panel magnitudes(products);
  BoundedSum sum(a.values.rows(), b.values.rows());
  BoundedSum of_instruction(sum);
  bool is_first = true;  // of the two steps of a lowered instruction
  for (Eigen::Index k = 0; k < depth; k += arithmetic.logical_k_per_step) {
    const Eigen::Index length = std::min<Eigen::Index>(arithmetic.logical_k_per_step, depth - k);
    const auto a_step = a.values.middleCols(k, length);
    const auto b_step = b_rows.middleRows(k, length);
    products.noalias() = a_step * b_step;
    magnitudes.noalias() = a_step.cwiseAbs() * b_step.cwiseAbs();
    if (!arithmetic.lowered_fp8) {
      running.step(products, magnitudes, sum);
      continue;
    }
    running.step(products, magnitudes, of_instruction);
    if (!is_first) {
      running.add(of_instruction, sum);
      of_instruction.clear();
    }
    is_first = !is_first;
  }
  const double largest_finite =
      numerics::to_double(numerics::infinity(*numerics::info(arithmetic.output).format, false) - 1, arithmetic.output);
  for (std::size_t i = 0; i < block.rows; ++i) {
    for (std::size_t j = 0; j < block.cols; ++j) {
      const auto r = static_cast<Eigen::Index>(i);
      const auto c = static_cast<Eigen::Index>(j);
      Expectation expected =
          a.special[i] || b.special[j] ? classify(inputs, block.row + i, block.col + j) : Expectation::kWithinBound;
      // An overflow on the way can change any outcome but NaN.
      if (expected != Expectation::kNan && running.largest()(r, c) > largest_finite) {
        expected = Expectation::kUndecided;
      }
      result.value(i, j) = sum.value(r, c);
      result.bound(i, j) = running.magnitude()(r, c) == 0 ? 0 : sum.error(r, c);
      result.expectation(i, j) = expected;
    }
  }
}

}  // namespace

Reference multiply(const GemmInputs& inputs, const BlockFma& arithmetic, const Block& block) {
  base::ensure(inputs.a->cols() == inputs.b_columns->cols(), "reference: A and B differ in k");
  base::ensure(block.row + block.rows <= inputs.a->rows() && block.col + block.cols <= inputs.b_columns->rows(),
               "reference: block outside D");
  const bool is_float = numerics::info(inputs.type).is_float();
  base::ensure(
      !is_float || arithmetic.output == numerics::DataType::kF32 || arithmetic.output == numerics::DataType::kF16,
      "reference: an output without a bound");
  const Operand a = decode(*inputs.a, block.row, block.rows, inputs.type, arithmetic);
  const Operand b = decode(*inputs.b_columns, block.col, block.cols, inputs.type, arithmetic);
  Reference result{base::Matrix<double>(block.rows, block.cols), base::Matrix<double>(block.rows, block.cols),
                   base::Matrix<Expectation>(block.rows, block.cols, Expectation::kWithinBound)};
  if (!is_float) {
    multiply_integers(a, b, result);
    return result;
  }
  base::ensure(arithmetic.logical_k_per_step > 0 && arithmetic.products_per_step > 0,
               "reference: a step without products");
  base::ensure(arithmetic.fraction_bits > 0, "reference: an accumulator without fraction bits");
  multiply_floats(inputs, arithmetic, block, a, b, result);
  return result;
}

}  // namespace sptc::reference
