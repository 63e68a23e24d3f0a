// SPDX-License-Identifier: Apache-2.0
#include "models/energy/energy_table.h"

#include "tests/support/expect_input_error.h"

#include <set>

namespace sptc::energy {
namespace {

using numerics::DataType;

/// Event i costs i + 1 pJ in f16, half of it whatever the operands.
EnergyTable counting_table() {
  EnergyTable table;
  table.supply_volts = 1;
  for (std::size_t i = 0; i < kEventCount; ++i) {
    const double pj = static_cast<double>(i) + 1;
    (kEvents[i].by_type ? table.typed_pj[DataType::kF16][i] : table.event_pj[i]) = pj;
    table.fixed_share[i] = 0.5;
  }
  return table;
}

TEST(EnergyEvents, EveryEventStandsOnceAtItsOwnPlace) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kEventCount; ++i) {
    EXPECT_EQ(index_of(kEvents[i].event), i);
    EXPECT_TRUE(names.insert(kEvents[i].name).second) << kEvents[i].name;
  }
}

TEST(DynamicEnergy, AnEventCostsItsOwnEnergyAndNoOther) {
  const EnergyTable table = counting_table();
  for (const EventInfo& row : kEvents) {
    EventCounts counts(DataType::kF16);
    counts.add(row.event, 10);
    const DynamicEnergy energy = dynamic_energy(counts, table, 1);
    for (const EventInfo& other : kEvents) {
      const double expected = other.event == row.event ? 10 * (static_cast<double>(index_of(row.event)) + 1) : 0;
      EXPECT_DOUBLE_EQ(energy[other.event], expected) << row.name << " " << other.name;
    }
    EXPECT_DOUBLE_EQ(energy.total_pj(), energy[row.event]);
  }
}

TEST(DynamicEnergy, StillOperandsCostTheFixedShareOnly) {
  EventCounts counts(DataType::kF16);
  counts.add(Event::kMultiply, 8, 0);
  EXPECT_DOUBLE_EQ(dynamic_energy(counts, counting_table(), 1)[Event::kMultiply], 4);
}

TEST(DynamicEnergy, TheCoreFollowsTheSquareOfItsVoltageAndHbmDoesNot) {
  EventCounts counts(DataType::kF16);
  counts.add(Event::kMultiply, 1);
  counts.add(Event::kHbmAccess, 1);
  const EnergyTable table = counting_table();
  const DynamicEnergy nominal = dynamic_energy(counts, table, 1);
  const DynamicEnergy low = dynamic_energy(counts, table, 0.7);
  EXPECT_NEAR(low[Event::kMultiply], 0.49 * nominal[Event::kMultiply], 1e-12);
  EXPECT_DOUBLE_EQ(low[Event::kHbmAccess], nominal[Event::kHbmAccess]);
}

TEST(DynamicEnergy, ATypeWithoutEnergiesIsRefusedByName) {
  EventCounts counts(DataType::kE4m3);
  counts.add(Event::kMultiply, 1);
  support::expect_input_error([&] { dynamic_energy(counts, counting_table(), 1); }, {"e4m3"});
}

}  // namespace
}  // namespace sptc::energy
