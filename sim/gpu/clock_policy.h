// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sptc::sim {

/// Which clock the SMs run at.
struct ClockPolicy {
  enum class Kind {
    kBoost,      ///< the boost clock of the architecture, whatever the load
    kFixed,      ///< `mhz`, as a locked application clock
    kSustained,  ///< falls with the load: see sustained_clock_ratio()
  };
  Kind kind = Kind::kBoost;
  double mhz = 0;  ///< kFixed

  static ClockPolicy fixed(double mhz) { return {Kind::kFixed, mhz}; }
  static ClockPolicy sustained() { return {Kind::kSustained, 0}; }
  /// "boost", "sustained" or "1200 MHz".
  std::string name() const;
};

}  // namespace sptc::sim
