// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/area.h"
#include "models/energy/event.h"
#include "models/numerics/data_type.h"

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace sptc::energy {

/// What a constant of an energy table may be over what the table says. Amounts that depend on the
/// constant are multiplied by it. So is what hangs on other factors that are `under` it: a process
/// node or a supply voltage moves many constants together.
struct CostFactor {
  double low = 1, high = 1;
  int under = -1;  ///< index of the factor above, which is smaller; -1: none
};

struct Bounds {
  double low = 0, high = 0;
};

/// Where the sum of `amounts`, one for each factor, may lie. Amounts may be negative: those of a
/// difference between two designs, which share every factor.
Bounds sum_bounds(std::span<const CostFactor> factors, std::span<const double> amounts);

/// Where sum(a) / sum(b) may lie, both with the same values of the factors. Amounts are not
/// negative, and some of each are positive.
Bounds ratio_bounds(std::span<const CostFactor> factors, std::span<const double> a, std::span<const double> b);

/// Parts of an energy beside those of kEvents: what flows whatever happens.
inline constexpr std::array<std::string_view, 4> kStaticParts{"leakage", "idle_sms", "constant", "board"};

inline constexpr std::size_t kEnergyParts = kEventCount + kStaticParts.size();

/// Names of the parts of an energy: kEvents, then kStaticParts.
inline constexpr std::array<std::string_view, kEnergyParts> kEnergyPartNames = [] {
  std::array<std::string_view, kEnergyParts> names;
  for (std::size_t i = 0; i < kEnergyParts; ++i) {
    names[i] = i < kEventCount ? kEvents[i].name : kStaticParts[i - kEventCount];
  }
  return names;
}();

/// The factor of each part.
using PartFactors = std::array<int, kEnergyParts>;

/// The factor of each of kAreaConstants.
using AreaFactors = std::array<int, kAreaConstants.size()>;

/// The factors of energies and areas of one chip.
struct CostFactors {
  std::vector<CostFactor> factors;
  std::map<numerics::DataType, PartFactors> energy;  ///< by type of the operands
  AreaFactors area{};

  /// Amounts by factor, of parts that have these factors.
  template <std::size_t kParts>
  std::vector<double> amounts(const std::array<double, kParts>& parts, const std::array<int, kParts>& factor_of) const {
    std::vector<double> by_factor(factors.size());
    for (std::size_t i = 0; i < kParts; ++i) {
      by_factor[static_cast<std::size_t>(factor_of[i])] += parts[i];
    }
    return by_factor;
  }
};

}  // namespace sptc::energy
