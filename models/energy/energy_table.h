// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/event.h"
#include "models/numerics/data_type.h"

#include <array>
#include <map>
#include <numeric>

namespace sptc::energy {

/// Picojoules of one event at the table's supply voltage, when the operands are N(0,1) values (s8:
/// 32 N(0,1)), the distribution that one unit of switching stands for.
struct EnergyTable {
  double supply_volts = 0;  ///< at which the energies hold
  std::array<double, kEventCount> event_pj{};
  /// Share of an event's energy that does not depend on its operands: clock, decoders, word lines,
  /// precharge.
  std::array<double, kEventCount> fixed_share{};
  /// Energies by operand type of the events that have one for each; event_pj is not read for them.
  std::map<numerics::DataType, std::array<double, kEventCount>> typed_pj;

  /// Throws InputError where `type` has no energies.
  double energy_pj(Event event, numerics::DataType type) const;
};

/// Events of one kernel. `switched` weighs each with its switching: 1 where the operands are as
/// random as the table's, 0 where no wire moves.
class EventCounts {
 public:
  explicit EventCounts(numerics::DataType type) : type_(type) {}

  /// `count` more events with this switching. Both are not negative.
  void add(Event event, double count, double switching = 1);

  EventCounts& operator+=(const EventCounts& other);
  EventCounts scaled(double factor) const;

  numerics::DataType type() const { return type_; }
  double count(Event event) const { return count_[index_of(event)]; }
  double switched(Event event) const { return switched_[index_of(event)]; }

 private:
  numerics::DataType type_;
  std::array<double, kEventCount> count_{};
  std::array<double, kEventCount> switched_{};
};

/// Energy by event. The sum of the parts is the whole by construction.
struct DynamicEnergy {
  std::array<double, kEventCount> event_pj{};

  double total_pj() const { return std::accumulate(event_pj.begin(), event_pj.end(), 0.0); }
  double operator[](Event event) const { return event_pj[index_of(event)]; }
};

/// Energy of the events with the core at `core_volts`: energies on the core supply follow the
/// square of its voltage.
DynamicEnergy dynamic_energy(const EventCounts& counts, const EnergyTable& table, double core_volts);

}  // namespace sptc::energy
