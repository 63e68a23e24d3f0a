// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sptc::run {

/// Adds the energy of whole operations up: energies times launches, powers over the time.
class EnergySum {
 public:
  /// `count` launches. Once a variant without energy was added there is no sum.
  void add(const VariantResult& figures, std::int64_t count);

  /// The sum over effective `flops`, where every variant had energy.
  std::optional<EnergyResult> result(double flops) const;

 private:
  EnergyResult sum_;
  double time_us_ = 0;
  bool complete_ = true;
};

}  // namespace sptc::run
