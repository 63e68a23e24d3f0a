// SPDX-License-Identifier: Apache-2.0
#include "sim/run/energy.h"

#include "sim/run/energy_totals.h"
#include "tests/unit/sim/run/energy_fixture.h"

#include <cmath>
#include <optional>
#include <vector>

namespace sptc::run {
namespace {

TEST(AddEnergy, PartsAreCountsTimesTheTableAndSumToTheTotal) {
  const energy::PowerSpec power = a100();
  VariantResult result = figures();
  add_energy(layer(), false, power, {}, RunOptions{}, never, result);
  ASSERT_TRUE(result.energy);
  double sum = 0;
  for (const auto& [unused, uj] : result.energy->parts_uj) {
    sum += uj;
  }
  EXPECT_NEAR(sum, result.energy->total_uj, 1e-9 * sum);
  EXPECT_NEAR(result.energy->power_w, sum / 2, 1e-9 * sum);
  // By hand: 1.1 pJ at 45 nm * 0.33, at the supply of 1000 MHz: 0.7 V + 190/600 * 0.25 V.
  const double volts = 0.7 + 190.0 / 600 * 0.25;
  const double multiply = 1048576 * 1.1 * 0.33 * volts * volts / (0.75 * 0.75) * 1e-6;
  EXPECT_NEAR(part(*result.energy, "multiply"), multiply, 1e-6 * multiply);
  EXPECT_NEAR(part(*result.energy, "hbm"), 12000 * 97.5e-6, 1e-9);
  EXPECT_NEAR(part(*result.energy, "constant"), 32.3 * 2, 1e-9);
  EXPECT_NEAR(result.energy->pj_per_flop, sum * 1e6 / (2.0 * 1048576), 1e-9 * sum * 1e6);
  // Tensor cores have work in 800 of 2000 cycles.
  EXPECT_GT(result.energy->peak_power_w, result.energy->power_w);
  EXPECT_DOUBLE_EQ(result.timing.time_us, 2);
}

TEST(AddEnergy, ALaunchAboveTheLimitIsSimulatedAgainAtTheClockThatItAllows) {
  energy::PowerSpec power = a100();
  RunOptions options;
  options.clock_limited = true;
  VariantResult free = figures();
  add_energy(layer(), false, power, {}, options, never, free);
  EXPECT_FALSE(free.energy->limited);
  EXPECT_EQ(free.timing.clock_mhz, 1000);

  power.power_limit_w = watts_at_800_mhz();
  std::vector<double> asked_mhz;
  const auto at_clock = [&](double mhz) {
    asked_mhz.push_back(mhz);
    return half_at(figures(), mhz);
  };
  VariantResult held = figures();
  add_energy(layer(), false, power, {}, options, at_clock, held);
  EXPECT_TRUE(held.energy->limited);
  EXPECT_FALSE(held.energy->limit_exceeded);
  // There, or a few steps from there.
  ASSERT_FALSE(asked_mhz.empty());
  EXPECT_NEAR(held.timing.clock_mhz, asked_mhz.back(), 45);
  EXPECT_LT(held.timing.clock_mhz, 1000);
  EXPECT_EQ(std::fmod(held.timing.clock_mhz, 15), 0);
  EXPECT_EQ(held.timing.cycles, std::llround(1000 + asked_mhz.back()));
  EXPECT_DOUBLE_EQ(held.timing.time_us,
                   static_cast<double>(held.timing.cycles) / held.timing.clock_mhz);
  EXPECT_NEAR(held.timing.tflops * held.timing.time_us, 2, 1e-9);
  // The limit lies between this clock and the next one.
  EXPECT_LE(held.energy->power_w, power.power_limit_w);
  VariantResult next = half_at(figures(), held.timing.clock_mhz + 15);
  add_energy(layer(), false, power, {}, RunOptions{}, never, next);
  EXPECT_GT(next.energy->power_w, power.power_limit_w);
}

TEST(AddEnergy, AFewStepsOfTheClockAreFollowedInClosedForm) {
  energy::PowerSpec power = a100();
  power.power_limit_w = watts_at_800_mhz();
  RunOptions options;
  options.clock_limited = true;
  VariantResult held = figures();
  add_energy(
      layer(), false, power, {}, options, [](double mhz) { return half_at(figures(), mhz); }, held);
  VariantResult near = half_at(figures(), held.timing.clock_mhz + 30);
  add_energy(layer(), false, power, {}, options, never, near);
  EXPECT_NEAR(near.timing.clock_mhz, held.timing.clock_mhz, 15);
  EXPECT_LE(near.energy->power_w, power.power_limit_w);
  EXPECT_TRUE(near.energy->limited);
}

TEST(AddEnergy, AFewLaunchesEndBeforeTheBoardActsOnItsPower) {
  energy::PowerSpec power = a100();
  RunOptions options;
  options.clock_limited = true;
  const auto at_clock = [](double mhz) { return half_at(figures(), mhz); };
  power.power_limit_w = watts_at_800_mhz();
  const auto time_us = [&](std::optional<kernels::Repetition> repetition) {
    options.repetition = repetition;
    VariantResult result = figures();
    add_energy(layer(), false, power, {}, options, at_clock, result);
    EXPECT_EQ(result.energy->limited, result.timing.time_us > 2);
    return result.timing.time_us;
  };
  const double steady_us = time_us({});
  EXPECT_GT(steady_us, 2);
  EXPECT_DOUBLE_EQ(time_us(kernels::Repetition{0, 10}), 2);
  EXPECT_DOUBLE_EQ(time_us(kernels::Repetition{1'000'000, 10}), steady_us);
  const double between_us = time_us(kernels::Repetition{0, 10'000});
  EXPECT_GT(between_us, 2);
  EXPECT_LT(between_us, steady_us);
}

TEST(AddEnergy, ABurstIsHeldToItsOwnLimitForAMoment) {
  energy::PowerSpec power = a100();
  RunOptions options;
  options.clock_limited = true;
  const auto at_clock = [](double mhz) { return half_at(figures(), mhz); };
  power.power_limit_w = watts_at_800_mhz();
  const auto mhz = [&](double ratio, std::optional<kernels::Repetition> repetition) {
    power.burst_ratio = ratio;
    options.repetition = repetition;
    VariantResult result = figures();
    add_energy(layer(), false, power, {}, options, at_clock, result);
    return result.timing.clock_mhz;
  };
  // Launches of 2 us: 5,000 end in 10 ms, a million do not begin in 25.
  const double steady = mhz(1, {});
  EXPECT_DOUBLE_EQ(mhz(1, kernels::Repetition{2000, 3000}), steady);
  EXPECT_GT(mhz(1.1, kernels::Repetition{2000, 3000}), steady);
  EXPECT_DOUBLE_EQ(mhz(1.1, kernels::Repetition{1'000'000, 3000}), steady);
  EXPECT_DOUBLE_EQ(mhz(1.1, {}), steady);
}

TEST(EnergySum, WeighsLaunchesAndAveragesPowerOverTime) {
  VariantResult one = figures();
  one.energy = EnergyResult{{{"multiply", 30}, {"hbm", 10}}, 40, 20, 50, 0, false, false};
  VariantResult two = figures();
  two.timing.time_us = 6;
  two.energy = EnergyResult{{{"multiply", 6}, {"hbm", 6}}, 12, 2, 70, 0, true, false};
  EnergySum sum;
  sum.add(one, 3);
  sum.add(two, 1);
  const auto total = sum.result(1e6);
  ASSERT_TRUE(total);
  EXPECT_DOUBLE_EQ(total->total_uj, 132);
  EXPECT_DOUBLE_EQ(part(*total, "multiply"), 96);
  EXPECT_DOUBLE_EQ(total->power_w, 132.0 / 12);
  EXPECT_DOUBLE_EQ(total->peak_power_w, 70);
  EXPECT_DOUBLE_EQ(total->pj_per_flop, 132);
  EXPECT_TRUE(total->limited);
  sum.add(figures(), 1);
  EXPECT_FALSE(sum.result(1e6));
}

}  // namespace
}  // namespace sptc::run
