// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/event.h"
#include "sim/config/energy.h"

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::config {

/// One number of an energy file: where it stands, what it may be, and what it fills.
struct EnergyField {
  std::string section;  ///< JSON pointer of the object that holds it: "/events"
  std::string key;      ///< ends with the unit
  double max;           ///< allowed: above 0 (or 0, where `zero`), up to max
  bool zero = false;
  bool by_type = false;                                   ///< an object with one number per operand type
  std::optional<energy::Scaling> scaling = std::nullopt;  ///< nothing: not a matter of the process
  std::function<void(EnergyConfig&, numerics::DataType, double)> store;
  bool optional = false;  ///< a file may leave it out
};

/// Most of an energy over that of another type or event.
inline constexpr double kMaxScale = 100;

/// All numbers of a GPU's energy file: for every event exactly one energy and one fixed share.
const std::vector<EnergyField>& energy_fields();

/// Classes of "node_scaling", in the order of energy::Scaling; of what does not scale "".
inline constexpr std::array<std::string_view, 5> kScalingNames{"logic", "sram", "wire", "area", ""};
inline std::string scaling_name(energy::Scaling scaling) {
  return std::string(kScalingNames.at(static_cast<std::size_t>(scaling)));
}

}  // namespace sptc::config
