// SPDX-License-Identifier: Apache-2.0
//
// Another order of the same sum
// -----------------------------
// Terms and partial sums of any order are at most S = sum |a||b| + |C| + |bias|. A step of L
// products aligns L + 1 addends and rounds once: each loses less than a unit of the accumulator,
// 2^-b S, with b the lesser of its mantissa bits and of the fraction bits of the alignment. T steps
// lose less than T (L + 2) 2^-b S; slices and their reduction add a step each. Two D, of which each
// has such an error, differ by at most twice that, and by a unit of D's type for the last
// conversion: sums that are rounded to a short D between slices may be off by more. Integer sums
// are exact. (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., chapter 4;
// models/reference has the bound of one known order.)
#include "sim/check/kernel/error_bounds.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "sim/check/kernel/word_comparison.h"
#include "sim/io/text_file.h"

#include <Eigen/Core>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <system_error>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Word;
using Magnitudes = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Larger products are bounded by the lengths of their vectors (Cauchy and Schwarz).
constexpr double kMostMacs = 1U << 31;

float magnitude_of(Word word, DataType type) {
  const double value = std::fabs(numerics::to_double(word, type));
  return std::isfinite(value) ? static_cast<float>(value) : 0;
}

/// |A| at its places in K.
Magnitudes magnitudes_of_a(const KernelData& data, const KernelModel& model,
                           const KernelOperands& operands) {
  Magnitudes result = Magnitudes::Zero(static_cast<Eigen::Index>(operands.a.rows()),
                                       static_cast<Eigen::Index>(data.k));
  for (std::size_t i = 0; i < operands.a.rows(); ++i) {
    const auto positions = positions_in_k(model, operands, i);
    for (std::size_t t = 0; t < positions.size(); ++t) {
      result(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(positions[t])) +=
          magnitude_of(operands.a(i, t), model.instruction.a_type);
    }
  }
  return result;
}

Magnitudes magnitudes_of_b(const KernelModel& model, const KernelOperands& operands) {
  const base::Matrix<Word>& b = operands.b_columns;
  Magnitudes result(static_cast<Eigen::Index>(b.rows()), static_cast<Eigen::Index>(b.cols()));
  for (std::size_t i = 0; i < b.size(); ++i) {
    result.data()[i] = magnitude_of(b.data()[i], model.instruction.b_type);
  }
  return result;
}

/// The error of one D relative to S.
double loss_of(const KernelModel& model, std::size_t depth) {
  const mma::StepRules& rules = model.rules;
  if (rules.is_integer()) {
    return 0;
  }
  const double width = std::max(1, rules.products_per_step);
  const double length = std::max(1, model.instruction.compressed_k());
  const auto products = static_cast<double>(depth);
  // More slices than instructions no kernel has.
  const double steps = std::ceil(products / width) + std::ceil(products / length);
  const int bits =
      std::min(rules.fraction_bits,
               numerics::info(rules.output).format->mantissa_bits - rules.cleared_output_bits);
  return steps * (width + 2) * std::ldexp(1, -bits);
}

/// Whether `text` is `mark` and a number, which goes to `value`.
template <typename Number>
bool is_number(std::string_view text, std::string_view mark, Number& value) {
  if (!text.starts_with(mark)) {
    return false;
  }
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + mark.size(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

Tolerance parse_tolerance(const std::string& what, const std::string& text) {
  Tolerance result;
  std::uint64_t ulps = 0;
  double relative = 0;
  if (is_number(text, "ulps:", ulps)) {
    result.ulps = ulps;
  } else if (is_number(text, "rel:", relative) && relative >= 0 && std::isfinite(relative)) {
    result.relative = relative;
  } else {
    throw base::InputError(
        fmt::format("{} must be ulps:N or rel:X, not '{}'", what, io::printable(text)));
  }
  return result;
}

ErrorBounds::ErrorBounds(const KernelData& data, const KernelModel& model,
                         const KernelOperands& operands, const Tolerance& tolerance)
    : type_(data.d_type), tolerance_(tolerance), magnitude_(data.m, data.n) {
  const Magnitudes a = magnitudes_of_a(data, model, operands);
  const Magnitudes b = magnitudes_of_b(model, operands);
  const bool is_small =
      static_cast<double>(data.m * data.n) * static_cast<double>(data.k) <= kMostMacs;
  Magnitudes products;
  if (is_small) {
    products.noalias() = a * b.transpose();
  } else {
    const Eigen::VectorXf a_lengths = a.rowwise().norm(), b_lengths = b.rowwise().norm();
    products = a_lengths * b_lengths.transpose();
  }
  const Epilogue& epilogue = model.epilogue;
  const float scale = std::fabs(epilogue.alpha * epilogue.scale_a * epilogue.scale_b);
  // The sums of k positive f32 are less than k units too small.
  const float inflation = 1 + std::ldexp(static_cast<float>(data.k + 8), -23);
  for (std::size_t i = 0; i < data.m; ++i) {
    for (std::size_t j = 0; j < data.n; ++j) {
      float sum =
          scale * inflation * products(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      if (!operands.c.empty()) {
        sum += std::fabs(epilogue.beta) * magnitude_of(operands.c(i, j), data.c_type);
      }
      if (!operands.bias.empty()) {
        sum += std::fabs(operands.bias(i, j));
      }
      magnitude_(i, j) = sum * std::fabs(epilogue.scale_d);
    }
  }
  proved_ = 2 * loss_of(model, operands.a.cols());
}

std::optional<double> ErrorBounds::in_bounds(std::size_t row, std::size_t column, Word x,
                                             Word y) const {
  if (x == y) {
    return 0.0;
  }
  const auto apart = ulp_distance(x, y, type_);
  if (!apart) {
    return std::nullopt;
  }
  if (tolerance_.ulps) {
    return static_cast<double>(*apart) / (static_cast<double>(*tolerance_.ulps) + 1e-9);
  }
  const double value = numerics::to_double(x, type_), other = numerics::to_double(y, type_);
  double bound = tolerance_.relative.value_or(proved_) * double{magnitude_(row, column)};
  if (const auto& format = numerics::info(type_).format; format && !tolerance_.relative) {
    const double largest =
        std::max({std::fabs(value), std::fabs(other), std::ldexp(1, format->min_exponent())});
    bound += std::ldexp(largest, -format->mantissa_bits);
  }
  return std::fabs(value - other) / (bound + std::numeric_limits<double>::min());
}

std::optional<double> ErrorBounds::backward_error(std::size_t row, std::size_t column, Word x,
                                                  Word y) const {
  if (!ulp_distance(x, y, type_)) {
    return std::nullopt;
  }
  const double apart = std::fabs(numerics::to_double(x, type_) - numerics::to_double(y, type_));
  return apart / (double{magnitude_(row, column)} + std::numeric_limits<double>::min());
}

void Population::add(std::optional<std::uint64_t> ulps, std::optional<double> relative) {
  ++elements;
  if (ulps) {
    least_ulps = std::min(least_ulps.value_or(*ulps), *ulps);
    most_ulps = std::max(most_ulps.value_or(*ulps), *ulps);
  }
  most_relative = std::max(most_relative, relative.value_or(0));
}

ErrorPopulations error_populations(const ErrorBounds& bounds, DataType type,
                                   const base::Matrix<Word>& computed,
                                   const base::Matrix<Word>& observed) {
  ErrorPopulations result;
  result.proved = bounds.proved();
  result.beyond_rounding = WrongElements(computed.rows(), computed.cols());
  for (std::size_t i = 0; i < computed.rows(); ++i) {
    for (std::size_t j = 0; j < computed.cols(); ++j) {
      const Word x = computed(i, j), y = observed(i, j);
      if (x == y) {
        continue;
      }
      const bool is_near = bounds.in_bounds(i, j, x, y).value_or(2) <= 1;
      (is_near ? result.rounding : result.beyond)
          .add(ulp_distance(x, y, type), bounds.backward_error(i, j, x, y));
      result.beyond_rounding(i, j) = is_near ? 0 : 1;
    }
  }
  return result;
}

}  // namespace sptc::check::kernel
