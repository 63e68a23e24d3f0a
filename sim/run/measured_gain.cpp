// SPDX-License-Identifier: Apache-2.0
#include "sim/run/measured_gain.h"

#include "models/base/error.h"

#include <cmath>

namespace sptc::run {

double MeasuredPair::gain_error() const {
  const double measured = dense.measured_us / sparse.measured_us;
  const double simulated = dense.simulated_us / sparse.simulated_us;
  return std::abs(simulated / measured - 1);
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
