// SPDX-License-Identifier: Apache-2.0
#include "sim/report/scaled.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

namespace sptc::report {
namespace {

/// `value` of the unit `first` of `units`, each of which is a thousand of the one before it.
std::string scaled(double value, std::span<const std::string_view> units, std::size_t first) {
  constexpr double kStep = 1000;
  constexpr double kRoundsUp = 999.5;
  std::size_t unit = first;
  while (std::abs(value) >= kRoundsUp && unit + 1 < units.size()) {
    value /= kStep;
    ++unit;
  }
  while (std::abs(value) < kRoundsUp / kStep && value != 0 && unit > 0) {
    value *= kStep;
    --unit;
  }
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

}  // namespace

std::string scaled_time(double us) {
  static constexpr std::array<std::string_view, 4> kUnits{"ns", "us", "ms", "s"};
  return scaled(us, kUnits, 1);
}

std::string scaled_energy(double uj) {
  static constexpr std::array<std::string_view, 5> kUnits{"nJ", "uJ", "mJ", "J", "kJ"};
  return scaled(uj, kUnits, 1);
}

}  // namespace sptc::report
