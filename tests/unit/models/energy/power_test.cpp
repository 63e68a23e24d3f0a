// SPDX-License-Identifier: Apache-2.0
#include "models/energy/power.h"

#include "tests/support/expect_input_error.h"

#include <vector>

namespace sptc::energy {
namespace {

using numerics::DataType;

/// Ten SMs, 1 pJ per product, 0.6 V up to 500 MHz and 1 V at 1000 MHz.
PowerSpec small_gpu() {
  PowerSpec spec;
  spec.table.supply_volts = 1;
  spec.table.typed_pj[DataType::kF16][index_of(Event::kMultiply)] = 1;
  spec.table.event_pj[index_of(Event::kHbmAccess)] = 10;
  spec.curve = VoltageCurve({{500, 0.6}, {1000, 1}});
  spec.static_power = {10, 1, 0.5, 1, 25};
  spec.sms = 10;
  spec.min_clock_mhz = 100;
  spec.boost_clock_mhz = 1000;
  spec.power_limit_w = 1e9;
  return spec;
}

/// `products` in a thousand cycles of all SMs, and bytes of HBM.
Work thousand_cycles(double products, double bytes = 0, double busy_sms = 10) {
  EventCounts counts(DataType::kF16);
  counts.add(Event::kMultiply, products);
  counts.add(Event::kHbmAccess, bytes);
  return {counts, [](double mhz) { return 1000 / (mhz * 1e6); }, busy_sms, 1};
}

TEST(VoltageCurve, IsLinearBetweenItsPointsAndConstantBeyond) {
  const VoltageCurve curve({{500, 0.6}, {1000, 1}});
  EXPECT_DOUBLE_EQ(curve.volts(100), 0.6);
  EXPECT_DOUBLE_EQ(curve.volts(750), 0.8);
  EXPECT_DOUBLE_EQ(curve.volts(2000), 1);
}

TEST(VoltageCurve, RefusesACurveThatDescendsOrIsEmpty) {
  support::expect_input_error([] { VoltageCurve(std::vector<VoltageCurve::Point>{}); }, {"at least one point"});
  support::expect_input_error([] { VoltageCurve({{500, 0.6}, {400, 0.7}}); }, {"ascends"});
  support::expect_input_error([] { VoltageCurve({{500, 0.6}, {600, 0.5}}); }, {"ascends"});
  support::expect_input_error([] { VoltageCurve({{500, 0}}); }, {"above 0"});
}

TEST(Power, AverageIsEnergyOverTimeComputedByHand) {
  // 1e9 products of 1 pJ at 1 V are 1 mJ, 1e7 bytes 0.1 mJ, in 1000 cycles at 1000 MHz = 1 us.
  const PowerResult result = power_at(small_gpu(), thousand_cycles(1e9, 1e7), 1000);
  EXPECT_DOUBLE_EQ(result.seconds, 1e-6);
  EXPECT_NEAR(result.energy.dynamic.total_pj(), 1.1e9, 1);
  EXPECT_NEAR(result.average_w, 1100 + 25, 1e-6);
}

TEST(Power, TheClockOfBusySmsFollowsClockAndSupply) {
  PowerSpec spec = small_gpu();
  spec.static_power.busy_sm_w = 3;
  const auto more_w = [&](double mhz, double busy_sms) {
    const Work work = thousand_cycles(1e9, 0, busy_sms);
    return power_at(spec, work, mhz).average_w - power_at(small_gpu(), work, mhz).average_w;
  };
  EXPECT_NEAR(more_w(1000, 10), 10 * 3, 1e-9);
  EXPECT_NEAR(more_w(1000, 4), 4 * 3, 1e-9);
  EXPECT_NEAR(more_w(500, 10), 10 * 3 * 0.5 * 0.36, 1e-9);  // 0.6 V
  EXPECT_EQ(idle_w(spec), idle_w(small_gpu()));
}

TEST(Power, TheHighestClockIsThatUnderLoadWhereTheBoardHasOne) {
  PowerSpec spec = small_gpu();
  EXPECT_EQ(spec.highest_clock_mhz(), 1000);
  spec.loaded_clock_mhz = 900;
  EXPECT_EQ(spec.highest_clock_mhz(), 900);
  spec.loaded_clock_mhz = 1100;
  EXPECT_EQ(spec.highest_clock_mhz(), 1000);
}

TEST(Power, AnIdleGpuTakesItsReadingLessWhatIdleSmsDoNotLeak) {
  // 25 W with ten SMs at 1 W each; idle ones take 0.5 W at 1 V, and 0.36 of that at 0.6 V.
  EXPECT_NEAR(idle_w(small_gpu()), 25 - 10 * (1 - 0.18), 1e-9);
}

TEST(Power, TheBoardTakesWhatItsReadingExceedsThatOfTheChip) {
  // 1000 W of products, 10 W of busy SMs and 10 W whatever happens; at rest the chip takes 20 W.
  PowerSpec spec = small_gpu();
  const auto average_w = [&] { return power_at(spec, thousand_cycles(1e9), 1000).average_w; };
  EXPECT_NEAR(average_w(), 1020 + 25 - 20, 1e-9);
  spec.sms_at_rest = 5;  // the reading is one of a chip of half as many SMs: 15 W
  EXPECT_NEAR(average_w(), 1020 + 25 - 15, 1e-9);
  spec.static_power.board_idle_w = 12;  // nothing is left for the board
  EXPECT_NEAR(average_w(), 1020, 1e-9);
}

TEST(Power, PeakExceedsTheAverageWhereTensorCoresWait) {
  // 1000 W of products in half of the time, 100 W of HBM all the time.
  Work work = thousand_cycles(1e9, 1e7);
  work.busy_share = 0.5;
  const PowerResult result = power_at(small_gpu(), work, 1000);
  EXPECT_NEAR(result.average_w, 25 + 1000 + 100, 1e-6);
  EXPECT_NEAR(result.peak_w, 25 + 2 * 1000 + 100, 1e-6);
}

TEST(LimitedClock, IsTheFixedPointOfPowerAndLimit) {
  PowerSpec spec = small_gpu();
  for (const double limit : {900.0, 500.0, 200.0}) {
    spec.power_limit_w = limit;
    const PowerResult result = power_limited(spec, thousand_cycles(1e9), 1000);
    EXPECT_TRUE(result.limited);
    EXPECT_FALSE(result.limit_exceeded);
    EXPECT_NEAR(result.average_w, limit, 1e-3);
    EXPECT_GT(power_at(spec, thousand_cycles(1e9), result.clock_mhz + 1).average_w, limit);
  }
}

TEST(LimitedClock, SaysWhenEvenTheLowestClockIsTooMuch) {
  PowerSpec spec = small_gpu();
  spec.power_limit_w = 20;
  const PowerResult result = power_limited(spec, thousand_cycles(1e9), 1000);
  EXPECT_TRUE(result.limit_exceeded);
  EXPECT_DOUBLE_EQ(result.clock_mhz, 100);
}

TEST(LimitedClock, AKernelThatWaitsForMemoryKeepsItsClock) {
  // Its duration does not depend on the clock, so a lower clock saves only by its voltage.
  PowerSpec spec = small_gpu();
  Work work = thousand_cycles(1e9);
  work.seconds_at = [](double) { return 4e-6; };
  spec.power_limit_w = 280;
  EXPECT_FALSE(power_limited(spec, work, 1000).limited);
  spec.power_limit_w = 200;
  EXPECT_NEAR(power_limited(spec, work, 1000).average_w, 200, 1e-3);
}

TEST(LimitedClock, OfWorkThatAlternatesIsOneAtWhichTheAverageIsTheLimit) {
  PowerSpec spec = small_gpu();
  spec.power_limit_w = 500;
  const std::vector<RepeatedWork> works{{thousand_cycles(1e9), 3}, {thousand_cycles(1e7), 2}};
  const std::vector<PowerResult> results = power_limited(spec, works, 1000);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].limited);
  EXPECT_DOUBLE_EQ(results[0].clock_mhz, results[1].clock_mhz);
  EXPECT_GT(results[0].average_w, 500);
  EXPECT_LT(results[1].average_w, 500);
  double joules = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < works.size(); ++i) {
    joules += works[i].count * results[i].energy.total_pj() * 1e-12;
    seconds += works[i].count * results[i].seconds;
  }
  EXPECT_NEAR(joules / seconds, 500, 1e-3);
  // Alone, the one that takes more would be slower and the other one would keep its clock.
  EXPECT_GT(results[0].clock_mhz, power_limited(spec, works[0].work, 1000).clock_mhz);
  EXPECT_FALSE(power_limited(spec, works[1].work, 1000).limited);
}

}  // namespace
}  // namespace sptc::energy
