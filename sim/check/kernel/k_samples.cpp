// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/k_samples.h"

#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <Eigen/Dense>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sptc::check::kernel {

std::vector<double> row_in_k(const WrongKernel& kernel, std::size_t row) {
  std::vector<double> values(kernel.data.k, 0);
  const std::vector<std::size_t> positions = positions_in_k(kernel.model, kernel.operands, row);
  for (std::size_t t = 0; t < positions.size(); ++t) {
    values[positions[t]] += numerics::to_double(kernel.operands.a(row, t), kernel.model.instruction.a_type);
  }
  return values;
}

std::vector<double> column_in_k(const WrongKernel& kernel, std::size_t column) {
  std::vector<double> values;
  for (const numerics::Word word : kernel.operands.b_columns.row(column)) {
    values.push_back(numerics::to_double(word, kernel.model.instruction.b_type));
  }
  return values;
}

KSample::KSample(const WrongKernel& kernel, std::size_t row, std::size_t column)
    : epilogue_(&kernel.model.epilogue),
      unit_(unit_of(kernel.model.instruction)),
      a_(row_in_k(kernel, row)),
      b_(column_in_k(kernel, column)),
      prefix_{0},
      observed_(kernel.observed_value(row, column)) {
  const KernelData& data = kernel.data;
  const mma::StepRules& rules = kernel.model.rules;
  if (!kernel.operands.c.empty()) {
    c_ = numerics::to_double(kernel.operands.c(row, column), data.c_type);
  }
  if (!kernel.operands.bias.empty()) {
    bias_ = kernel.operands.bias(row, column);
  }
  double largest = std::fabs(c_);
  for (std::size_t k = 0; k < a_.size(); k += unit_) {
    double sum = 0;
    for (std::size_t i = k; i < std::min(k + unit_, a_.size()); ++i) {
      sum += a_[i] * b_[i];
    }
    prefix_.push_back(prefix_.back() + sum);
    largest = std::max({largest, std::fabs(prefix_.back()), std::fabs(sum)});
  }
  const auto mantissa_bits = [](numerics::DataType type) {
    const auto& format = numerics::info(type).format;
    return format ? format->mantissa_bits : 31;
  };
  const double computed = kernel.computed_value(row, column);
  const double steps = 1 + static_cast<double>(data.k) / std::max(1, rules.products_per_step);
  const int bits = rules.is_integer() ? 40 : std::min(rules.fraction_bits, mantissa_bits(rules.output));
  const double scale = std::fabs(epilogue_value(*epilogue_, 1, 0, 0)) + 1e-300;
  off_ = std::fabs(observed_ - computed);
  tolerance_ = steps * std::ldexp(largest * scale, -bits) +
               std::ldexp(std::fabs(observed_) + std::fabs(computed), -mantissa_bits(data.d_type)) + 1e-300;
  is_finite_ = std::isfinite(prefix_.back()) && std::isfinite(observed_) && std::isfinite(computed) &&
               std::isfinite(c_) && std::isfinite(bias_);
}

double KSample::sum_of(const KMap& map) const {
  double sum = 0;
  for (const KPart& part : map) {
    if (part.a < 0 || part.b < 0) {
      continue;
    }
    const auto a = static_cast<std::size_t>(part.a), b = static_cast<std::size_t>(part.b);
    if (a == b) {
      sum += prefix_[a + part.count] - prefix_[a];
      continue;
    }
    for (std::size_t i = 0; i < part.count * unit_; ++i) {
      sum += a_[a * unit_ + i] * b_[b * unit_ + i];
    }
  }
  return sum;
}

double KSample::missing_sum() const {
  const double none = epilogue_value(*epilogue_, 0, c_, bias_);
  const double slope = epilogue_value(*epilogue_, 1, 0, 0) - epilogue_value(*epilogue_, 0, 0, 0);
  return (observed_ - none) / slope - prefix_.back();
}

bool KSample::may_be(double sum) const {
  return std::fabs(epilogue_value(*epilogue_, sum, c_, bias_) - observed_) <= tolerance_;
}

std::vector<KSample> k_samples(const WrongKernel& kernel,
                               const std::vector<std::pair<std::size_t, std::size_t>>& places) {
  constexpr double kLeast = 4;
  std::vector<KSample> samples;
  for (const auto& [row, column] : places) {
    samples.emplace_back(kernel, row, column);
  }
  std::erase_if(samples, [](const KSample& sample) { return sample.certainty() <= kLeast; });
  return samples;
}

KPart part_of_k(std::size_t begin, std::size_t end) {
  return {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(begin), end - begin};
}

KPart zeros_of_k(std::size_t count) {
  return {-1, -1, count};
}

KMaps::KMaps(const Trial& at)
    : at_(at),
      kernel_(at.kernel()),
      unit_(unit_of(kernel_.model.instruction)),
      units_(kernel_.data.k / unit_),
      samples_(k_samples(kernel_, at.strongest())) {
  constexpr std::size_t kSamples = 8;
  std::ranges::stable_sort(samples_, std::ranges::greater{}, &KSample::certainty);
  samples_.erase(samples_.begin() + static_cast<std::ptrdiff_t>(std::min(kSamples, samples_.size())), samples_.end());
}

std::vector<std::size_t> KMaps::sizes() const {
  if (samples_.empty()) {
    return {};
  }
  std::set<std::size_t, std::greater<>> result;
  const auto depth = static_cast<std::size_t>(kernel_.model.instruction.shape.k);
  for (const std::size_t k : {std::size_t{256}, std::size_t{128}, std::size_t{64}, std::size_t{32}, std::size_t{16},
                              std::size_t{8}, depth, unit_}) {
    if (k % unit_ == 0 && k / unit_ < units_) {
      result.insert(k / unit_);
    }
  }
  return {result.begin(), result.end()};
}

std::string KMaps::range(std::size_t begin, std::size_t end) const {
  const std::size_t first = begin * unit_, last = std::min(end * unit_, kernel_.data.k) - 1;
  return first == last ? fmt::format("k {}", first) : fmt::format("k {} to {}", first, last);
}

KMap KMaps::moved(std::size_t tile, bool of_a, bool of_b,
                  const std::function<std::int64_t(std::int64_t)>& source) const {
  KMap map;
  for (std::size_t first = 0; first < units_; first += tile) {
    const std::int64_t from = source(static_cast<std::int64_t>(first / tile));
    const std::size_t width = std::min(tile, units_ - first);
    const std::size_t begin = from < 0 ? units_ : std::min(units_, static_cast<std::size_t>(from) * tile);
    const std::size_t there = std::min(width, units_ - begin);
    const auto part = [&](bool moves, std::size_t other, std::size_t own) {
      return static_cast<std::int64_t>(moves ? other : own);
    };
    map.push_back({part(of_a, begin, first), part(of_b, begin, first), there});
    map.push_back(
        {of_a ? -1 : part(false, 0, first + there), of_b ? -1 : part(false, 0, first + there), width - there});
  }
  return map;
}

std::vector<int> KMaps::times_of_tiles(std::size_t tile, int least, int most,
                                       const std::function<double(const KSample& sample, std::size_t t)>& adds) {
  constexpr std::size_t kMostTiles = 128;
  constexpr double kWhole = 0.1;
  const std::size_t count = (units_ + tile - 1) / tile;
  // A sum that an activation cuts off is no equation.
  if (count < 2 || count > kMostTiles || kernel_.model.epilogue.activation != Activation::kNone) {
    return {};
  }
  if (spread_.size() < 2 * count) {
    std::vector<std::pair<std::size_t, std::size_t>> wrong, spread;
    at_.selection().each([&](std::size_t row, std::size_t column) {
      if (kernel_.wrong(row, column) != 0) {
        wrong.emplace_back(row, column);
      }
    });
    const std::size_t wanted = std::min(4 * count, wrong.size());
    for (std::size_t i = 0; i < wanted; ++i) {
      spread.push_back(wrong[i * wrong.size() / wanted]);
    }
    spread_ = k_samples(kernel_, spread);
  }
  if (spread_.size() < 2 * count) {
    return {};
  }
  Eigen::MatrixXd parts(spread_.size(), count);
  Eigen::VectorXd off(spread_.size());
  for (std::size_t i = 0; i < spread_.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    for (std::size_t t = 0; t < count; ++t) {
      parts(row, static_cast<Eigen::Index>(t)) = adds(spread_[i], t);
    }
    off(row) = spread_[i].missing_sum();
  }
  std::vector<int> times;
  for (const double value : Eigen::VectorXd(parts.colPivHouseholderQr().solve(off))) {
    const double rounded = std::nearbyint(value);
    if (!(std::fabs(value - rounded) < kWhole) || rounded < least || rounded > most) {
      return {};
    }
    times.push_back(static_cast<int>(rounded));
  }
  return times;
}

std::string KMaps::tiles(const std::vector<std::size_t>& chosen, std::size_t tile) const {
  constexpr std::size_t kListed = 4;
  for (const std::size_t stride : {2U, 4U, 8U}) {
    if (chosen.size() > 1 && chosen[0] < stride && chosen.size() * stride == units_ / tile &&
        chosen[1] == chosen[0] + stride && chosen.back() == chosen[0] + (chosen.size() - 1) * stride) {
      return fmt::format("k-tile {} of every {} tiles of {} k", chosen[0], stride, tile * unit_);
    }
  }
  const Intervals parts = intervals_of(chosen);
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, parts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + range(parts[i].begin * tile, parts[i].end * tile);
  }
  return text + (parts.size() > kListed ? fmt::format(" and {} other parts", parts.size() - kListed) : "");
}

void KMaps::add(const char* cause, std::string text, KMap map) {
  proposals.list.push_back(
      {cause, std::move(text),
       [map = std::move(map), instruction = kernel_.model.instruction](KernelOperands& operands, const Selection&) {
         KernelOperands other = rearranged(operands, map, instruction);
         operands.a = std::move(other.a);
         operands.nibbles = std::move(other.nibbles);
         operands.b_columns = std::move(other.b_columns);
       }});
}

bool KMaps::is_likely(std::size_t tile, const KMap& map) {
  constexpr std::size_t kMostOfTile = 48;
  if (tile != tile_) {
    tile_ = tile;
    most_ = proposals.list.size() + kMostOfTile;
  }
  ++proposals.among;
  std::size_t refused = samples_.empty() || proposals.list.size() >= most_ ? 1 + samples_.size() : 0;
  for (std::size_t i = 0; i < samples_.size() && 2 * refused <= samples_.size(); ++i) {
    refused += samples_[i].may_be(samples_[i].sum_of(map)) ? 0 : 1;
  }
  return 2 * refused <= samples_.size();
}

}  // namespace sptc::check::kernel
