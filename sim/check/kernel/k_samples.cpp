// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/k_samples.h"

#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "models/sparsity/metadata_register.h"
#include "models/sparsity/pattern.h"

#include <Eigen/Dense>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace sptc::check::kernel {
namespace {

constexpr std::size_t kSamples = 8;
constexpr std::size_t kMostTiles = 128;
constexpr int kMostTimes = 3;  // that a tile may be there

int mantissa_bits(numerics::DataType type) {
  const auto& format = numerics::info(type).format;
  return format ? format->mantissa_bits : 31;
}

/// Units of `width` columns of `from` by `map`; `empty` where it has zeros.
template <typename T>
base::Matrix<T> units_of(const base::Matrix<T>& from, const std::vector<std::int64_t>& map,
                         std::size_t width, T empty) {
  base::Matrix<T> result(from.rows(), map.size() * width, empty);
  for (std::size_t row = 0; row < from.rows(); ++row) {
    const auto source = from.row(row).begin();
    auto target = result.row(row).begin();
    for (const std::int64_t unit : map) {
      if (unit >= 0) {
        std::copy_n(source + unit * static_cast<std::int64_t>(width), width, target);
      }
      target += static_cast<std::ptrdiff_t>(width);
    }
  }
  return result;
}

using Places = std::vector<std::pair<std::size_t, std::size_t>>;

std::vector<KSample> useful_samples(const Trial& trial, const Places& places) {
  std::vector<KSample> samples;
  for (const auto& [row, column] : places) {
    samples.emplace_back(trial.kernel(), row, column);
  }
  std::erase_if(samples, [](const KSample& sample) { return !sample.is_useful(); });
  return samples;
}

/// About `wanted` wrong elements of the region, spread over it.
Places spread_places(const Trial& trial, std::size_t wanted) {
  Places wrong, spread;
  for (const std::size_t row : trial.selection().rows) {
    for (const std::size_t column : trial.selection().columns) {
      if (trial.kernel().wrong(row, column) != 0) {
        wrong.emplace_back(row, column);
      }
    }
  }
  const std::size_t count = std::min(wanted, wrong.size());
  for (std::size_t i = 0; i < count; ++i) {
    spread.push_back(wrong[i * wrong.size() / count]);
  }
  return spread;
}

}  // namespace

KMap KMap::identity(std::size_t units) {
  KMap map;
  map.a.resize(units);
  std::iota(map.a.begin(), map.a.end(), std::int64_t{0});
  map.b = map.a;
  return map;
}

std::vector<double> row_in_k(const WrongKernel& kernel, std::size_t row) {
  std::vector<double> values(kernel.data.k, 0);
  const std::vector<std::size_t> positions = positions_in_k(kernel.model, kernel.operands, row);
  for (std::size_t t = 0; t < positions.size(); ++t) {
    values[positions[t]] +=
        numerics::to_double(kernel.operands.a(row, t), kernel.model.instruction.a_type);
  }
  return values;
}

std::size_t unit_of(const mma::MmaInstruction& instruction) {
  return instruction.sparse
             ? static_cast<std::size_t>(sparsity::hardware_pattern(instruction.a_type).group)
             : 1;
}

void rearrange(KernelOperands& operands, const KMap& map, const mma::MmaInstruction& instruction) {
  const auto kept = static_cast<std::size_t>(
      instruction.sparse ? sparsity::hardware_pattern(instruction.a_type).kept : 1);
  operands.a = units_of(operands.a, map.a, kept, numerics::Word{0});
  if (instruction.sparse) {
    operands.nibbles = units_of(operands.nibbles, map.a, 1, sparsity::kEmptyGroupNibble);
  }
  operands.b_columns = units_of(operands.b_columns, map.b, unit_of(instruction), numerics::Word{0});
}

KTiles::KTiles(const WrongKernel& kernel)
    : kernel_(kernel), unit_(unit_of(kernel.model.instruction)), units_(kernel.data.k / unit_) {}

std::vector<std::size_t> KTiles::sizes() const {
  std::set<std::size_t, std::greater<>> result;
  const auto depth = static_cast<std::size_t>(kernel_.model.instruction.shape.k);
  for (const std::size_t k : {std::size_t{256}, std::size_t{128}, std::size_t{64}, std::size_t{32},
                              std::size_t{16}, std::size_t{8}, depth, unit_}) {
    if (k % unit_ == 0 && k / unit_ < units_) {
      result.insert(k / unit_);
    }
  }
  return {result.begin(), result.end()};
}

std::string KTiles::range(std::size_t begin, std::size_t end) const {
  const std::size_t first = begin * unit_, last = std::min(end * unit_, kernel_.data.k) - 1;
  return first == last ? fmt::format("k {}", first) : fmt::format("k {} to {}", first, last);
}

KMap KTiles::moved(std::size_t tile, bool of_a, bool of_b,
                   const std::function<std::int64_t(std::int64_t)>& source) const {
  KMap map = KMap::identity(units_);
  const auto width = static_cast<std::int64_t>(tile);
  const auto count = static_cast<std::int64_t>(units_);
  for (std::int64_t first = 0; first < count; first += width) {
    const std::int64_t from = source(first / width);
    for (std::int64_t at = first; at < std::min(first + width, count); ++at) {
      const std::int64_t value = from * width + at % width;
      const std::int64_t there = from >= 0 && value < count ? value : KMap::kZero;
      const auto unit = static_cast<std::size_t>(at);
      map.a[unit] = of_a ? there : at;
      map.b[unit] = of_b ? there : at;
    }
  }
  return map;
}

Hypothesis KTiles::summed_by(KMap map, const char* cause, std::string text) const {
  return {
      cause, std::move(text),
      [map = std::move(map), instruction = kernel_.model.instruction](
          KernelOperands& operands, const Selection&) { rearrange(operands, map, instruction); }};
}

KSample::KSample(const WrongKernel& kernel, std::size_t row, std::size_t column)
    : kernel_(&kernel), unit_(unit_of(kernel.model.instruction)), a_(row_in_k(kernel, row)) {
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

std::vector<KSample> k_samples(const Trial& trial) {
  std::vector<KSample> samples = useful_samples(trial, trial.strongest());
  std::ranges::stable_sort(
      samples, [](const KSample& a, const KSample& b) { return a.certainty() > b.certainty(); });
  if (samples.size() > kSamples) {
    samples.erase(samples.begin() + kSamples, samples.end());
  }
  return samples;
}

bool most_may_be(const std::vector<KSample>& samples,
                 const std::function<double(const KSample&)>& change) {
  std::size_t refused = 0;
  for (const KSample& sample : samples) {
    refused += sample.may_be(change(sample)) ? 0 : 1;
    if (2 * refused > samples.size()) {
      return false;
    }
  }
  return true;
}

std::optional<std::vector<int>> k_contributions(const Trial& trial, std::size_t tile) {
  const WrongKernel& kernel = trial.kernel();
  const std::size_t units = kernel.data.k / unit_of(kernel.model.instruction);
  const std::size_t count = (units + tile - 1) / tile;
  // A sum that an activation cuts off is no equation.
  if (count < 2 || count > kMostTiles || kernel.model.epilogue.activation != Activation::kNone) {
    return std::nullopt;
  }
  const std::vector<KSample> samples = useful_samples(trial, spread_places(trial, 4 * count));
  if (samples.size() < 2 * count) {
    return std::nullopt;
  }
  Eigen::MatrixXd parts(samples.size(), count);
  Eigen::VectorXd off(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    for (std::size_t t = 0; t < count; ++t) {
      parts(row, static_cast<Eigen::Index>(t)) =
          samples[i].prefix(std::min((t + 1) * tile, units)) - samples[i].prefix(t * tile);
    }
    off(row) = samples[i].missing_sum();
  }
  const Eigen::VectorXd solution = parts.colPivHouseholderQr().solve(off);
  std::vector<int> times;
  for (const double value : solution) {
    const double rounded = std::nearbyint(value);
    constexpr double kWhole = 0.1;
    if (!(std::fabs(value - rounded) < kWhole) || rounded < -1 || rounded >= kMostTimes) {
      return std::nullopt;
    }
    times.push_back(1 + static_cast<int>(rounded));
  }
  return times;
}

}  // namespace sptc::check::kernel
