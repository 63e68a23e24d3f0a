// SPDX-License-Identifier: Apache-2.0
#include "sim/config/cost_factors.h"

#include "sim/config/architecture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sptc::config {
namespace {

using energy::Event;
using numerics::DataType;

constexpr double kBoostMhz = 1410;

/// One of every event, on half of the SMs for a microsecond.
energy::Work one_of_each(DataType type) {
  energy::EventCounts counts(type);
  for (const energy::EventInfo& event : energy::kEvents) {
    counts.add(event.event, 1e6);
  }
  return {counts, [](double) { return 1e-6; }, 54, 1};
}

std::array<double, energy::kEnergyParts> parts_of(const energy::PowerSpec& power, DataType type) {
  return power_at(power, one_of_each(type), kBoostMhz).energy.parts_pj();
}

class CostFactors : public testing::Test {
 protected:
  LoadedEnergy energy = load_energy("a100-sxm4-80gb");
  Architecture a100 = load_architecture("a100-sxm4-80gb");
  energy::PowerSpec power = power_spec(energy.config, a100.gpu, &a100.gpu);
};

/// The configuration of `energy` with another value (as in the file) for one of its numbers.
EnergyConfig with(const LoadedEnergy& energy, std::size_t number, double value) {
  EnergyConfig changed = energy.config;
  energy.parameters[number].store(changed, value * energy.parameters[number].scale);
  return changed;
}

/// The product of `end` of the factor and all above it.
double product(const std::vector<energy::CostFactor>& factors, int at, double energy::CostFactor::*end) {
  double result = 1;
  for (; at >= 0; at = factors[static_cast<std::size_t>(at)].under) {
    result *= factors[static_cast<std::size_t>(at)].*end;
  }
  return result;
}

TEST_F(CostFactors, EachEventCostsWhatTheModelSaysAtTheEndsOfItsRange) {
  for (const DataType type : {DataType::kF16, DataType::kS8}) {
    const energy::CostFactors factors = cost_factors(energy, power);
    const auto stated = parts_of(power, type);
    std::size_t compared = 0;
    for (std::size_t i = 0; i < energy.parameters.size(); ++i) {
      const EnergyParameter& number = energy.parameters[i];
      const std::string typed = "/" + std::string(numerics::name(type));
      for (std::size_t part = 0; part < energy::kEventCount; ++part) {
        const energy::EventInfo& event = energy::kEvents[part];
        const std::string pointer =
            "/events/" + std::string(event.name) + "_" + std::string(event.unit) + (event.by_type ? typed : "");
        if (number.pointer == pointer) {
          const auto low = parts_of(power_spec(with(energy, i, number.low), a100.gpu, &a100.gpu), type);
          const int factor = factors.energy.at(type)[part];
          EXPECT_NEAR(low[part] / stated[part], factors.factors[static_cast<std::size_t>(factor)].low, 1e-12)
              << pointer;
          ++compared;
        }
      }
    }
    EXPECT_EQ(compared, energy::kEventCount);
  }
}

TEST_F(CostFactors, OneSupplyMovesTheCoreAndItsLeakageButNotTheMemory) {
  const auto supply = std::find_if(energy.parameters.begin(), energy.parameters.end(),
                                   [](const auto& row) { return row.pointer == "/clock/boost_supply_v"; });
  const EnergyConfig high = with(energy, static_cast<std::size_t>(supply - energy.parameters.begin()), supply->high);
  const auto stated = parts_of(power, DataType::kF16);
  const auto moved = parts_of(power_spec(high, a100.gpu, &a100.gpu), DataType::kF16);
  const energy::CostFactors factors = cost_factors(energy, power);
  for (std::size_t part = 0; part < stated.size(); ++part) {
    int top = factors.energy.at(DataType::kF16)[part];
    while (factors.factors[static_cast<std::size_t>(top)].under >= 0) {
      top = factors.factors[static_cast<std::size_t>(top)].under;
    }
    const bool core = moved[part] != stated[part];
    EXPECT_NEAR(moved[part] / stated[part], core ? factors.factors[static_cast<std::size_t>(top)].high : 1, 1e-12);
    EXPECT_EQ(core, part < energy::kEventCount ? energy::kEvents[part].core_supply : part < energy::kEventCount + 2)
        << part;
  }
}

TEST_F(CostFactors, FilesShareTheNumbersThatTheyHaveInCommon) {
  const LoadedEnergy small = load_energy("a100-sxm4-40gb");
  CostFactorList list;
  const auto of_large = list.add_energies(energy, DataType::kF16, power);
  const auto of_small = list.add_energies(small, DataType::kF16, power_spec(small.config, a100.gpu, &a100.gpu));
  const auto of_s8 = list.add_energies(energy, DataType::kS8, power);
  for (std::size_t part = 0; part < of_large.size(); ++part) {
    const bool typed = part < energy::kEventCount && energy::kEvents[part].by_type;
    EXPECT_EQ(of_large[part] == of_small[part], part < energy::kEventCount + 2) << part;
    EXPECT_EQ(of_large[part] == of_s8[part], !typed) << part;
  }
}

TEST_F(CostFactors, AreasLieWhereAllNumbersLowAndHighHaveThem) {
  const energy::CostFactors factors = cost_factors(energy, power);
  const std::array<double, 6> at_low = {energy.area_at(&EnergyParameter::low).multiplier_um2.at(DataType::kF16),
                                        0,
                                        energy.area_at(&EnergyParameter::low).rounder_um2,
                                        0,
                                        0,
                                        energy.area_at(&EnergyParameter::low).sram_um2_per_byte};
  const energy::AreaTable& stated = energy.config.area;
  EXPECT_NEAR(product(factors.factors, factors.area[0], &energy::CostFactor::low),
              at_low[0] / stated.multiplier_um2.at(DataType::kF16), 1e-12);
  EXPECT_NEAR(product(factors.factors, factors.area[2], &energy::CostFactor::low), at_low[2] / stated.rounder_um2,
              1e-12);
  EXPECT_NEAR(product(factors.factors, factors.area[5], &energy::CostFactor::low), at_low[5] / stated.sram_um2_per_byte,
              1e-12);
}

TEST_F(CostFactors, AMixtureIsAsWideAsTheWidestOfItsParts) {
  CostFactorList list;
  const auto f16 = list.add_energies(energy, DataType::kF16, power);
  const auto s8 = list.add_energies(energy, DataType::kS8, power);
  const int mixture = list.add_mixture({f16[0], s8[0]});
  for (const auto end : {&energy::CostFactor::low, &energy::CostFactor::high}) {
    const double one = product(list.factors(), f16[0], end);
    const double other = product(list.factors(), s8[0], end);
    EXPECT_DOUBLE_EQ(product(list.factors(), mixture, end),
                     end == &energy::CostFactor::low ? std::min(one, other) : std::max(one, other));
  }
  EXPECT_EQ(list.add_mixture({f16[10], s8[10]}), f16[10]) << "the L2 knows no types";
}

}  // namespace
}  // namespace sptc::config
