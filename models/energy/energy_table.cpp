// SPDX-License-Identifier: Apache-2.0
#include "models/energy/energy_table.h"

#include "models/base/error.h"

#include <string>

namespace sptc::energy {

double EnergyTable::energy_pj(Event event, numerics::DataType type) const {
  if (!info(event).by_type) {
    return event_pj[index_of(event)];
  }
  const auto found = typed_pj.find(type);
  if (found == typed_pj.end()) {
    throw base::InputError("the energy file has no energies of " + std::string(numerics::name(type)) + " operands");
  }
  return found->second[index_of(event)];
}

void EventCounts::add(Event event, double count, double switching) {
  base::ensure(count >= 0 && switching >= 0, "energy: a count or its switching is negative");
  count_[index_of(event)] += count;
  switched_[index_of(event)] += count * switching;
}

EventCounts& EventCounts::operator+=(const EventCounts& other) {
  base::ensure(type_ == other.type_, "energy: events of different types do not add up");
  for (std::size_t i = 0; i < kEventCount; ++i) {
    count_[i] += other.count_[i];
    switched_[i] += other.switched_[i];
  }
  return *this;
}

EventCounts EventCounts::scaled(double factor) const {
  EventCounts result(type_);
  for (std::size_t i = 0; i < kEventCount; ++i) {
    result.count_[i] = count_[i] * factor;
    result.switched_[i] = switched_[i] * factor;
  }
  return result;
}

DynamicEnergy dynamic_energy(const EventCounts& counts, const EnergyTable& table, double core_volts) {
  const double ratio = core_volts / table.supply_volts;
  DynamicEnergy result;
  for (const EventInfo& row : kEvents) {
    const double count = counts.count(row.event);
    if (count <= 0) {
      continue;
    }
    const double fixed = table.fixed_share[index_of(row.event)];
    const double weight = fixed * count + (1 - fixed) * counts.switched(row.event);
    const double pj = table.energy_pj(row.event, counts.type());
    // Capacitances are charged, E = C V^2.
    result.event_pj[index_of(row.event)] = weight * (row.core_supply ? pj * ratio * ratio : pj);
  }
  return result;
}

}  // namespace sptc::energy
