// SPDX-License-Identifier: Apache-2.0
//
// Another order of the same sum
// -----------------------------
// Terms and partial sums of any order are at most S = sum |a||b| + |C| + |bias|. A step of L products aligns L + 1
// addends and rounds once: each loses less than a unit of the accumulator, 2^-b S, with b the lesser of its mantissa
// bits and of the fraction bits of the alignment. T steps lose less than T (L + 2) 2^-b S; slices and their reduction
// add a step each. Two D, of which each has such an error, differ by at most twice that, and by a unit of D's type for
// the last conversion: sums that are rounded to a short D between slices may be off by more. Integer sums are exact.
// (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., chapter 4; models/reference has the bound
// of one known order.)
#include "sim/check/kernel/error_bounds.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "sim/io/text_file.h"

#include <Eigen/Core>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Word;
using Magnitudes = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

float magnitude_of(Word word, DataType type) {
  const double value = std::fabs(numerics::to_double(word, type));
  return std::isfinite(value) ? static_cast<float>(value) : 0;
}

/// Sums of |a||b|, and of large operands a bound on them: the lengths of the vectors (Cauchy and Schwarz).
Magnitudes magnitudes_of(const KernelModel& model, const KernelOperands& operands) {
  constexpr double kMostMacs = 1U << 31;
  const base::Matrix<Word>& b_words = operands.b_columns;
  const auto index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
  Magnitudes a = Magnitudes::Zero(index(operands.a.rows()), index(b_words.cols()));
  Magnitudes b(index(b_words.rows()), index(b_words.cols()));
  for (std::size_t i = 0; i < operands.a.rows(); ++i) {
    const auto positions = positions_in_k(model, operands, i);
    for (std::size_t t = 0; t < positions.size(); ++t) {
      a(index(i), index(positions[t])) += magnitude_of(operands.a(i, t), model.instruction.a_type);
    }
  }
  for (std::size_t i = 0; i < b_words.size(); ++i) {
    b.data()[i] = magnitude_of(b_words.data()[i], model.instruction.b_type);
  }
  if (static_cast<double>(a.rows()) * static_cast<double>(b.size()) <= kMostMacs) {
    return a * b.transpose();
  }
  const Eigen::VectorXf a_lengths = a.rowwise().norm(), b_lengths = b.rowwise().norm();
  return a_lengths * b_lengths.transpose();
}

/// The error of one D relative to S: what is proved, and what it usually is, where errors have either sign.
std::pair<double, double> loss_of(const KernelModel& model, std::size_t depth) {
  const mma::StepRules& rules = model.rules;
  if (rules.is_integer()) {
    return {0, 0};
  }
  const double width = std::max(1, rules.products_per_step), length = std::max(1, model.instruction.compressed_k());
  const auto products = static_cast<double>(depth);
  // More slices than instructions no kernel has.
  const double steps = std::ceil(products / width) + std::ceil(products / length);
  const int bits =
      std::min(rules.fraction_bits, numerics::info(rules.output).format->mantissa_bits - rules.cleared_output_bits);
  const double losses = steps * (width + 2);
  return {losses * std::ldexp(1, -bits), std::sqrt(losses) * std::ldexp(1, -bits)};
}

/// Whether `text` is `mark` and a number, which goes to `value`.
template <typename Number>
bool is_number(std::string_view text, std::string_view mark, Number& value) {
  return text.starts_with(mark) && io::parse_whole(text.substr(mark.size()), value);
}

}  // namespace

std::optional<std::uint64_t> ulp_distance(Word x, Word y, DataType type) {
  if (x == y) {
    return 0;
  }
  const auto& format = numerics::info(type).format;
  const auto is_finite = [&](Word word) {
    return numerics::unpack(word, *format).kind == numerics::Unpacked::Class::kFinite;
  };
  if (format && (!is_finite(x) || !is_finite(y))) {
    return std::nullopt;
  }
  // The place of a number among those of its format.
  const auto ordinal = [&](Word word) -> std::int64_t {
    if (!format) {
      return numerics::to_integer(word, type);
    }
    const int sign_bit = format->storage_bits() - 1;
    const std::int64_t magnitude = word & ((Word{1} << sign_bit) - 1);
    return (word >> sign_bit & 1) != 0 ? -magnitude - 1 : magnitude;
  };
  const std::int64_t apart = ordinal(x) - ordinal(y);
  return static_cast<std::uint64_t>(apart < 0 ? -apart : apart);
}

WordComparison compare_words(const base::Matrix<Word>& computed, const base::Matrix<Word>& observed, DataType type) {
  base::ensure(computed.rows() == observed.rows() && computed.cols() == observed.cols(),
               "compare_words: other extents");
  constexpr double kSpecialLog2 = 33;  // larger than of any distance of finite 32-bit words
  WordComparison result;
  result.elements = computed.size();
  double sum = 0;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const auto distance = ulp_distance(computed.data()[i], observed.data()[i], type);
    result.mismatches += computed.data()[i] != observed.data()[i] ? 1 : 0;
    if (!distance) {
      ++result.special;
      sum += kSpecialLog2;
      continue;
    }
    sum += std::log2(1.0 + static_cast<double>(*distance));
    // 0: 0; 1: 1; 2: 2; 3..4: 3; 5..8: 4.
    const std::size_t bucket = *distance <= 1 ? *distance : 1 + static_cast<std::size_t>(std::bit_width(*distance - 1));
    while (result.histogram.size() <= bucket) {
      const std::size_t next = result.histogram.size();
      const std::uint64_t to = next <= 1 ? next : std::uint64_t{1} << (next - 1);
      result.histogram.push_back({next <= 1 ? to : (to >> 1) + 1, to, 0});
    }
    ++result.histogram[bucket].elements;
  }
  result.mean_log2_ulps = result.elements == 0 ? 0 : sum / static_cast<double>(result.elements);
  return result;
}

Tolerance parse_tolerance(const std::string& what, const std::string& text) {
  std::uint64_t ulps = 0;
  double relative = 0;
  if (is_number(text, "ulps:", ulps)) {
    return {.ulps = ulps};
  }
  if (is_number(text, "rel:", relative) && relative >= 0 && std::isfinite(relative)) {
    return {.relative = relative};
  }
  throw base::InputError(fmt::format("{} must be ulps:N or rel:X, not '{}'", what, io::printable(text)));
}

ErrorBounds::ErrorBounds(const KernelData& data, const KernelModel& model, const KernelOperands& operands,
                         const Tolerance& tolerance)
    : type_(data.d_type),
      tolerance_(tolerance),
      magnitude_(data.m, data.n),
      root_of_depth_(std::sqrt(static_cast<double>(data.k))) {
  const auto [most, usual] = loss_of(model, operands.a.cols());
  proved_ = 2 * most;
  usual_ = 2 * usual;
  const Magnitudes products = magnitudes_of(model, operands);
  const Epilogue& epilogue = model.epilogue;
  // The sums of k positive f32 are less than k units too small.
  const float inflation = 1 + std::ldexp(static_cast<float>(data.k + 8), -23);
  const float scale = std::fabs(epilogue.alpha * epilogue.scale_a * epilogue.scale_b) * inflation;
  for (std::size_t i = 0; i < magnitude_.size(); ++i) {
    float sum = scale * products.data()[i];
    if (!operands.c.empty()) {
      sum += std::fabs(epilogue.beta) * magnitude_of(operands.c.data()[i], data.c_type);
    }
    if (!operands.bias.empty()) {
      sum += std::fabs(operands.bias.data()[i]);
    }
    magnitude_.data()[i] = sum * std::fabs(epilogue.scale_d);
  }
}

std::optional<double> ErrorBounds::in_bounds(std::size_t row, std::size_t column, Word x, Word y) const {
  const auto apart = ulp_distance(x, y, type_);
  if (!apart || *apart == 0) {
    return apart ? std::optional(0.0) : std::nullopt;
  }
  if (tolerance_.ulps) {
    return static_cast<double>(*apart) / (static_cast<double>(*tolerance_.ulps) + 1e-9);
  }
  const double value = numerics::to_double(x, type_), other = numerics::to_double(y, type_);
  const double magnitude = magnitude_(row, column);
  const double size = size_of(row, column, value, other);
  const double usual = std::min(std::max(of_magnitude_ * magnitude, of_size_ * size), most_of_size_ * size);
  double bound = tolerance_.relative ? *tolerance_.relative * magnitude : std::min(proved_ * magnitude, usual);
  if (const auto& format = numerics::info(type_).format; format && !tolerance_.relative) {
    const double largest = std::max({std::fabs(value), std::fabs(other), std::ldexp(1, format->min_exponent())});
    bound += std::ldexp(largest, -format->mantissa_bits);
  }
  return std::fabs(value - other) / (bound + std::numeric_limits<double>::min());
}

double ErrorBounds::size_of(std::size_t row, std::size_t column, double value, double other) const {
  // Sums of terms of either sign walk at random.
  return std::max({std::fabs(value), std::fabs(other), double{magnitude_(row, column)} / root_of_depth_,
                   std::numeric_limits<double>::min()});
}

void ErrorBounds::narrow(const base::Matrix<Word>& computed, const base::Matrix<Word>& observed) {
  constexpr double kFar = 64;  // other orders of many kinds of data stay below; a short type in between does not
  constexpr double kFarFromUsual = 8;
  if (tolerance_.is_given()) {
    return;
  }
  most_of_size_ = kFarFromUsual * usual_;
  constexpr std::size_t kLeast = 256, kMost = std::size_t{1} << 18;  // errors that tell what is usual
  std::vector<double> of_magnitude, of_size;
  const std::size_t step = 1 + computed.size() / kMost;
  for (std::size_t i = 0; type_ == DataType::kF32 && i < computed.size(); i += step) {
    const std::size_t row = i / computed.cols(), column = i % computed.cols();
    const Word x = computed.data()[i], y = observed.data()[i];
    if (x != y && ulp_distance(x, y, type_)) {
      const double value = numerics::to_double(x, type_), other = numerics::to_double(y, type_);
      of_magnitude.push_back(backward_error(row, column, x, y));
      of_size.push_back(std::fabs(value - other) / size_of(row, column, value, other));
    }
  }
  if (of_size.size() < kLeast) {
    return;
  }
  const auto median = [](std::vector<double>& values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
  };
  of_magnitude_ = kFar * median(of_magnitude);
  of_size_ = kFar * median(of_size);
}

double ErrorBounds::backward_error(std::size_t row, std::size_t column, Word x, Word y) const {
  const double apart = std::fabs(numerics::to_double(x, type_) - numerics::to_double(y, type_));
  return ulp_distance(x, y, type_) ? apart / (double{magnitude_(row, column)} + std::numeric_limits<double>::min()) : 0;
}

ErrorPopulations error_populations(const ErrorBounds& bounds, DataType type, const base::Matrix<Word>& computed,
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
      const bool is_near = bounds.are_near(i, j, x, y);
      Population& population = is_near ? result.rounding : result.beyond;
      ++population.elements;
      if (const auto ulps = ulp_distance(x, y, type)) {
        population.least_ulps = std::min(population.least_ulps.value_or(*ulps), *ulps);
        population.most_ulps = std::max(population.most_ulps.value_or(*ulps), *ulps);
      }
      population.most_relative = std::max(population.most_relative, bounds.backward_error(i, j, x, y));
      result.beyond_rounding(i, j) = is_near ? 0 : 1;
    }
  }
  return result;
}

}  // namespace sptc::check::kernel
