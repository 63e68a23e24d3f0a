// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/error_populations.h"

#include "models/base/shape.h"
#include "sim/compare/kernel/word_comparison.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sptc::compare::kernel {
namespace {

using numerics::DataType;
using numerics::Word;

/// The Euclidean length of each row.
std::vector<double> lengths(const base::Matrix<Word>& matrix, DataType type) {
  std::vector<double> result(matrix.rows());
  for (std::size_t row = 0; row < matrix.rows(); ++row) {
    double squares = 0;
    for (const Word word : matrix.row(row)) {
      const double value = numerics::to_double(word, type);
      squares += value * value;
    }
    result[row] = std::sqrt(squares);
  }
  return result;
}

class Bounds {
 public:
  explicit Bounds(const WrongKernel& kernel)
      : kernel_(kernel),
        a_(lengths(kernel.operands.a, kernel.model.instruction.a_type)),
        b_(lengths(kernel.operands.b_columns, kernel.model.instruction.b_type)) {
    const mma::StepRules& rules = kernel.model.rules;
    const auto depth = static_cast<std::int64_t>(kernel.operands.a.cols());
    const auto steps = base::ceil_div(depth, std::int64_t{rules.products_per_step});
    const int bits =
        rules.is_integer()
            ? 0
            : std::min(rules.fraction_bits, numerics::info(rules.output).format->mantissa_bits);
    lost_ = rules.is_integer()
                ? 0
                : static_cast<double>(steps * (rules.products_per_step + 2)) * std::ldexp(1, -bits);
  }

  /// By how much `x` and `y`, both of D[i, j], may differ.
  double of(std::size_t i, std::size_t j, double x, double y) const {
    const KernelData& data = kernel_.data;
    const Epilogue& epilogue = kernel_.model.epilogue;
    const double scale = std::fabs(double{epilogue.alpha} * epilogue.scale_a * epilogue.scale_b);
    double largest = scale * a_[i] * b_[j];
    if (!kernel_.operands.c.empty()) {
      largest +=
          std::fabs(epilogue.beta * numerics::to_double(kernel_.operands.c(i, j), data.c_type));
    }
    if (!kernel_.operands.bias.empty()) {
      largest += std::fabs(double{kernel_.operands.bias(i, j)});
    }
    const auto& format = numerics::info(data.d_type).format;
    const double unit_of_d =
        format ? std::ldexp(
                     std::max({std::fabs(x), std::fabs(y), std::ldexp(1, format->min_exponent())}),
                     -format->mantissa_bits)
               : 0;
    return 2 * lost_ * largest * std::fabs(double{epilogue.scale_d}) + unit_of_d;
  }

 private:
  const WrongKernel& kernel_;
  std::vector<double> a_, b_;
  double lost_ = 0;  ///< of the largest term, by all steps
};

}  // namespace

void Population::add(std::optional<std::uint64_t> ulps) {
  ++elements;
  if (ulps) {
    least_ulps = std::min(least_ulps.value_or(*ulps), *ulps);
    most_ulps = std::max(most_ulps.value_or(*ulps), *ulps);
  }
}

ErrorPopulations error_populations(const WrongKernel& kernel) {
  const DataType type = kernel.data.d_type;
  const Bounds bounds(kernel);
  ErrorPopulations result;
  result.beyond_rounding = WrongElements(kernel.wrong.rows(), kernel.wrong.cols());
  for (std::size_t i = 0; i < kernel.wrong.rows(); ++i) {
    for (std::size_t j = 0; j < kernel.wrong.cols(); ++j) {
      if (kernel.wrong(i, j) == 0) {
        continue;
      }
      const Word computed = kernel.computed(i, j), observed = kernel.observed()(i, j);
      const auto ulps = ulp_distance(computed, observed, type);
      const double x = numerics::to_double(computed, type), y = numerics::to_double(observed, type);
      if (std::fabs(x - y) <= bounds.of(i, j, x, y)) {
        result.rounding.add(ulps);
      } else {  // NaN too
        result.beyond.add(ulps);
        result.beyond_rounding(i, j) = 1;
      }
    }
  }
  return result;
}

}  // namespace sptc::compare::kernel
