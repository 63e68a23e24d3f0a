// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/k_samples.h"

#include "models/sparsity/compress.h"

#include <algorithm>
#include <cmath>

namespace sptc::compare::kernel {
namespace {

constexpr std::size_t kSamples = 8;

int mantissa_bits(numerics::DataType type) {
  const auto& format = numerics::info(type).format;
  return format ? format->mantissa_bits : 31;
}

/// Row `row` of A at its places in K.
std::vector<double> logical_row(const WrongKernel& kernel, std::size_t row) {
  const mma::MmaInstruction& instruction = kernel.model.instruction;
  std::vector<double> values(kernel.data.k, 0);
  const auto words = kernel.operands.a.row(row);
  for (std::size_t t = 0; t < words.size(); ++t) {
    std::size_t k = t;
    if (instruction.sparse) {
      const auto pattern = sparsity::hardware_pattern(instruction.a_type);
      const auto kept = static_cast<std::size_t>(pattern.kept);
      k = t / kept * static_cast<std::size_t>(pattern.group) +
          static_cast<std::size_t>(sparsity::selected_position(
              kernel.operands.nibbles(row, t / kept), static_cast<int>(t % kept), pattern));
    }
    values[k] += numerics::to_double(words[t], instruction.a_type);
  }
  return values;
}

}  // namespace

KSample::KSample(const WrongKernel& kernel, std::size_t row, std::size_t column)
    : kernel_(&kernel), unit_(unit_of(kernel.model.instruction)), a_(logical_row(kernel, row)) {
  for (const numerics::Word word : kernel.operands.b_columns.row(column)) {
    b_.push_back(numerics::to_double(word, kernel.model.instruction.b_type));
  }
  if (!kernel.operands.c.empty()) {
    c_ = numerics::to_double(kernel.operands.c(row, column), kernel.data.c_type);
  }
  if (!kernel.operands.bias.empty()) {
    bias_ = kernel.operands.bias(row, column);
  }
  prefix_.push_back(0);
  double largest = std::fabs(c_);
  for (std::size_t unit = 0; unit < a_.size() / unit_; ++unit) {
    const double sum = products(unit, unit, 1);
    prefix_.push_back(prefix_.back() + sum);
    largest = std::max({largest, std::fabs(prefix_.back()), std::fabs(sum)});
  }
  observed_ = numerics::to_double(kernel.observed()(row, column), kernel.data.d_type);
  const mma::StepRules& rules = kernel.model.rules;
  const double steps =
      1 + static_cast<double>(kernel.data.k) / std::max(1, rules.products_per_step);
  const int bits =
      rules.is_integer() ? 40 : std::min(rules.fraction_bits, mantissa_bits(rules.output));
  const double scale = std::fabs(epilogue_value(kernel.model.epilogue, 1, 0, 0)) + 1e-300;
  const double computed = numerics::to_double(kernel.computed(row, column), kernel.data.d_type);
  tolerance_ =
      steps * std::ldexp(largest * scale, -bits) +
      std::ldexp(std::fabs(observed_) + std::fabs(computed), -mantissa_bits(kernel.data.d_type)) +
      1e-300;
  off_ = std::fabs(observed_ - computed);
  is_finite_ = std::isfinite(prefix_.back()) && std::isfinite(observed_) &&
               std::isfinite(computed) && std::isfinite(c_) && std::isfinite(bias_);
}

double KSample::products(std::size_t a, std::size_t b, std::size_t count) const {
  double sum = 0;
  const std::size_t first_a = a * unit_, first_b = b * unit_;
  const std::size_t last = std::min({count * unit_, a_.size() - std::min(a_.size(), first_a),
                                     b_.size() - std::min(b_.size(), first_b)});
  for (std::size_t i = 0; i < last; ++i) {
    sum += a_[first_a + i] * b_[first_b + i];
  }
  return sum;
}

double KSample::missing_sum() const {
  const Epilogue& epilogue = kernel_->model.epilogue;
  const double none = epilogue_value(epilogue, 0, c_, bias_);
  const double slope = epilogue_value(epilogue, 1, 0, 0) - epilogue_value(epilogue, 0, 0, 0);
  return (observed_ - none) / slope - prefix_.back();
}

bool KSample::may_be(double change) const {
  const double expected =
      epilogue_value(kernel_->model.epilogue, prefix_.back() + change, c_, bias_);
  return std::fabs(expected - observed_) <= tolerance_;
}

std::vector<KSample> k_samples(const RegionTrial& trial) {
  std::vector<KSample> samples;
  for (const auto& [row, column] : trial.strongest()) {
    samples.emplace_back(trial.kernel(), row, column);
  }
  std::erase_if(samples, [](const KSample& sample) { return !sample.is_useful(); });
  std::ranges::stable_sort(
      samples, [](const KSample& a, const KSample& b) { return a.certainty() > b.certainty(); });
  if (samples.size() > kSamples) {
    samples.erase(samples.begin() + kSamples, samples.end());
  }
  return samples;
}

}  // namespace sptc::compare::kernel
