// SPDX-License-Identifier: Apache-2.0
#include "sim/run/measured_gain.h"

#include "models/base/error.h"

#include <cmath>

namespace sptc::run {
namespace {

bool within_twice(std::int64_t a, std::int64_t b) {
  return a <= 2 * b && b <= 2 * a;
}

}  // namespace

bool MeasuredPair::is_like(const base::GemmShape& other, numerics::DataType type,
                           std::string_view sparsity) const {
  return type == dtype && sparsity == pattern && within_twice(other.m, shape.m) &&
         within_twice(other.n, shape.n) && within_twice(other.k, shape.k);
}

double MeasuredPair::gain_error() const {
  return std::abs(simulated_gain() / gain() - 1);
}

bool MeasuredGain::is_known() const {
  constexpr std::size_t kFewest = 10;
  return pairs.size() >= kFewest;
}

double MeasuredGain::mean_error_percent() const {
  base::ensure(!pairs.empty(), "a mean of no pairs");
  constexpr double kPercent = 100;
  double sum = 0;
  for (const MeasuredPair& pair : pairs) {
    sum += pair.gain_error();
  }
  return kPercent * sum / static_cast<double>(pairs.size());
}

}  // namespace sptc::run
