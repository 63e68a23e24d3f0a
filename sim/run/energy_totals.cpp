// SPDX-License-Identifier: Apache-2.0
#include "sim/run/energy_totals.h"

#include "models/base/error.h"

#include <algorithm>

namespace sptc::run {

void EnergySum::add(const VariantResult& figures, std::int64_t count) {
  if (!figures.energy) {
    complete_ = false;
    return;
  }
  const EnergyResult& energy = *figures.energy;
  const auto launches = static_cast<double>(count);
  if (sum_.parts_uj.empty()) {
    for (const auto& [part, unused] : energy.parts_uj) {
      sum_.parts_uj.emplace_back(part, 0);
    }
  }
  base::ensure(sum_.parts_uj.size() == energy.parts_uj.size(),
               "energy: variants differ in their parts");
  for (std::size_t i = 0; i < sum_.parts_uj.size(); ++i) {
    sum_.parts_uj[i].second += launches * energy.parts_uj[i].second;
  }
  sum_.total_uj += launches * energy.total_uj;
  // Every launch is cheapest, and dearest, with the same constants.
  sum_.bounds_uj.low += launches * energy.bounds_uj.low;
  sum_.bounds_uj.high += launches * energy.bounds_uj.high;
  sum_.factors = energy.factors;
  sum_.by_factor_uj.resize(energy.by_factor_uj.size());
  for (std::size_t i = 0; i < energy.by_factor_uj.size(); ++i) {
    sum_.by_factor_uj[i] += launches * energy.by_factor_uj[i];
  }
  sum_.peak_power_w = std::max(sum_.peak_power_w, energy.peak_power_w);
  sum_.limited = sum_.limited || energy.limited;
  sum_.limit_exceeded = sum_.limit_exceeded || energy.limit_exceeded;
  time_us_ += launches * figures.timing.time_us;
}

std::optional<EnergyResult> EnergySum::result(double flops) const {
  if (!complete_ || time_us_ <= 0) {
    return std::nullopt;
  }
  EnergyResult total = sum_;
  total.power_w = total.total_uj / time_us_;
  total.pj_per_flop = total.total_uj * 1e6 / flops;
  return total;
}

}  // namespace sptc::run
