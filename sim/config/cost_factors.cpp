// SPDX-License-Identifier: Apache-2.0
#include "sim/config/cost_factors.h"

#include "models/base/error.h"
#include "sim/config/energy_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sptc::config {
namespace {

const EnergyParameter& number_at(const LoadedEnergy& energy, const std::string& pointer) {
  const auto found = std::find_if(energy.parameters.begin(), energy.parameters.end(),
                                  [&](const EnergyParameter& number) { return number.pointer == pointer; });
  base::ensure(found != energy.parameters.end(), "an energy file lacks a number of the fields");
  return *found;
}

/// Two of these are equal where the same is known of the same thing.
std::string key_of(const EnergyParameter& number, int under) {
  return fmt::format("{} {} {} {} {} {} {}", number.pointer, number.value, number.low, number.high, number.node_nm,
                     under, number.source);
}

/// What the board and what flows outside the SMs take together, of the chip that was read at rest:
/// the less is known of the one, the more of the other.
energy::Bounds rest_w(const LoadedEnergy& energy, const energy::PowerSpec& power) {
  const int sms = power.sms_at_rest > 0 ? power.sms_at_rest : power.sms;
  const EnergyParameter& constant = number_at(energy, "/static/constant_w");
  const EnergyParameter& leakage = number_at(energy, "/static/leakage_per_sm_w");
  const EnergyParameter& board = number_at(energy, "/static/board_idle_w");
  const double read_w = power.static_power.board_idle_w;
  const bool asked = read_w != board.value;  // then it has no range
  return {std::max(constant.low, (asked ? read_w : board.low) - sms * leakage.high),
          std::max(constant.high, (asked ? read_w : board.high) - sms * leakage.low)};
}

}  // namespace

int CostFactorList::add(const std::string& key, double low, double high, int under) {
  const auto [at, added] = known_.try_emplace(key, static_cast<int>(factors_.size()));
  if (added) {
    factors_.push_back({low, high, under});
  }
  return at->second;
}

int CostFactorList::add_number(const LoadedEnergy& energy, const std::string& pointer, const std::string& scaling,
                               int under) {
  const EnergyParameter& number = number_at(energy, pointer);
  if (number.node_nm > 0 && number.node_nm != energy.config.node_nm && !scaling.empty()) {
    const EnergyParameter& node = number_at(energy, fmt::format("/node_scaling/{}/{}", number.node_nm, scaling));
    under = add(key_of(node, under), node.low / node.value, node.high / node.value, under);
  }
  if (number.value <= 0) {
    return add(key_of(number, under), 1, 1, under);
  }
  return add(key_of(number, under), number.low / number.value, number.high / number.value, under);
}

int CostFactorList::add_working_sm(const LoadedEnergy& energy, int supply) {
  const std::string leakage_at = "/static/leakage_per_sm_w", clock_at = "/static/busy_sm_w";
  if (energy.config.power.static_power.busy_sm_w == 0) {
    return add_number(energy, leakage_at, "", supply);
  }
  const EnergyParameter& leakage = number_at(energy, leakage_at);
  const EnergyParameter& clock = number_at(energy, clock_at);
  const double value = leakage.value + clock.value;
  return add(key_of(leakage, supply) + " " + key_of(clock, supply), (leakage.low + clock.low) / value,
             (leakage.high + clock.high) / value, supply);
}

energy::PartFactors CostFactorList::add_energies(const LoadedEnergy& energy, numerics::DataType type,
                                                 const energy::PowerSpec& power) {
  const EnergyParameter& volts = number_at(energy, "/clock/boost_supply_v");
  const double low = volts.low / volts.value, high = volts.high / volts.value;
  const int supply = add(key_of(volts, -1), low * low, high * high, -1);
  energy::PartFactors factors{};
  std::size_t part = 0;
  for (const energy::EventInfo& event : energy::kEvents) {
    std::string pointer = fmt::format("/events/{}_{}", event.name, event.unit);
    if (event.by_type) {
      pointer += fmt::format("/{}", numerics::name(type));
    }
    factors[part++] = add_number(energy, pointer, scaling_name(event.scaling), event.core_supply ? supply : -1);
  }
  factors[part++] = add_working_sm(energy, supply);
  factors[part++] = add_number(energy, "/static/idle_sm_w", "", supply);
  const energy::Bounds rest = rest_w(energy, power);
  const double stated =
      power.static_power.constant_w + std::max(0.0, power.static_power.board_idle_w - chip_at_rest_w(power));
  const int at_rest = add(fmt::format("at rest {} {} {}", stated, rest.low, rest.high),
                          stated > 0 ? rest.low / stated : 1, stated > 0 ? rest.high / stated : 1, -1);
  factors[part++] = at_rest;
  factors[part++] = at_rest;
  return factors;
}

int CostFactorList::add_mixture(const std::vector<int>& factors) {
  if (std::ranges::all_of(factors, [&](int factor) { return factor == factors.front(); })) {
    return factors.front();
  }
  energy::CostFactor mixture;
  for (const int factor : factors) {
    double low = 1, high = 1;
    for (int at = factor; at >= 0;) {
      const energy::CostFactor& here = factors_[static_cast<std::size_t>(at)];
      low *= here.low;
      high *= here.high;
      at = here.under;
    }
    mixture = {std::min(mixture.low, low), std::max(mixture.high, high), -1};
  }
  return add(fmt::format("mixture of {}", fmt::join(factors, " ")), mixture.low, mixture.high, -1);
}

energy::AreaFactors CostFactorList::add_areas(const LoadedEnergy& energy) {
  energy::AreaFactors factors{};
  for (std::size_t i = 0; i < factors.size(); ++i) {
    factors[i] = add_number(energy, fmt::format("/area/{}", energy::kAreaConstants[i].key), "area", -1);
  }
  return factors;
}

energy::CostFactors cost_factors(const LoadedEnergy& energy, const energy::PowerSpec& power) {
  CostFactorList list;
  energy::CostFactors result;
  for (const auto& [type, unused] : energy.config.power.table.typed_pj) {
    result.energy[type] = list.add_energies(energy, type, power);
  }
  result.area = list.add_areas(energy);
  result.factors = list.factors();
  return result;
}

}  // namespace sptc::config
