// SPDX-License-Identifier: Apache-2.0
#include "sim/report/explanation.h"

#include "sim/config/architecture.h"
#include "sim/report/bottleneck_sentence.h"
#include "sim/run/bottleneck.h"
#include "sim/run/gemm_launcher.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sptc::sim {
namespace {

OperationResult timed(const GpuSpec& gpu, const GemmShape& shape) {
  RunOptions options;
  options.fidelity = Fidelity::kAnalytic;
  Operation op;
  op.shape = shape;
  GemmTimer timer(gpu, options);
  OperationResult result;
  result.shape = shape;
  result.pattern = "2:4";
  result.dense = timer(op, false);
  result.sparse = timer(op, true);
  return result;
}

testing::AssertionResult says(const OperationResult& op, const std::string& words) {
  const std::string sentence = bottleneck_sentence(op);
  return sentence.find(words) != std::string::npos ? testing::AssertionSuccess()
                                                   : testing::AssertionFailure() << sentence;
}

TEST(Explanation, SaysWhenThePowerLimitHoldsTheClock) {
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {4096, 4096, 4096});
  EXPECT_FALSE(says(op, "power limit"));
  op.sparse->energy.emplace().limited = true;
  op.sparse->clock_mhz = 748;
  EXPECT_TRUE(
      says(op, "The power limit holds 2:4 at 748 of 1410 MHz. Savings are those at a fixed clock"));
  op.dense->energy.emplace().limited = true;
  op.dense->clock_mhz = 809;
  EXPECT_TRUE(says(op, "The power limit holds dense at 809 and 2:4 at 748 of 1410 MHz."));
}

TEST(Explanation, TellsWhatTheLastWaveCosts) {
  // 224 CTAs on 108 SMs, three of them on the fullest.
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {1024, 1792, 4096});
  op.sparse.reset();
  CycleBudget& budget = op.dense->budget;
  budget.tensor = 0.9 * budget.cycles;
  budget.tensor_mean = 0.6 * budget.cycles;
  EXPECT_TRUE(says(op, ", where the fullest SM multiplies for"));
  budget.tensor_mean = 0.85 * budget.cycles;
  EXPECT_FALSE(says(op, "fullest SM"));
}

TEST(Explanation, DoesNotCallItALossToTakeAsLong) {
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {4096, 4096, 4096});
  const double us = op.sparse->time_us;
  for (const auto& [times, words] :
       {std::pair{1.004, "2:4 gains nothing: 1.00x, bound"},
        std::pair{0.996, "2:4 gains nothing: 1.00x, bound"},
        std::pair{0.95, "2:4 loses: 0.95x, bound"}, std::pair{1.2, "2:4 gains 1.20x, bound"}}) {
    op.dense->time_us = us * times;
    EXPECT_TRUE(says(op, words));
  }
}

TEST(Explanation, NamesThePortThatHoldsMmaBack) {
  const GpuSpec a100 = load_architecture("a100-sxm4-80gb").gpu;
  EXPECT_TRUE(says(timed(a100, {4096, 4096, 4096}), "2:4 gains"));
  EXPECT_FALSE(says(timed(a100, {4096, 4096, 4096}), "port of"));
  EXPECT_FALSE(says(timed(a100, {4096, 4096, 4096}), "what feeds them"));
  GpuSpec gpu = a100;
  gpu.sm.tensor_core.metadata_port_bytes_per_cycle = 5;
  EXPECT_TRUE(
      says(timed(gpu, {4096, 4096, 4096}),
           "bound by the metadata port of the tensor cores (metadata_port_bytes_per_cycle), "
           "at work"));
  EXPECT_TRUE(says(timed(gpu, {4096, 4096, 4096}),
                   "for 2x it would need tensor cores and what feeds them"));
  gpu = a100;
  gpu.sm.tensor_core.accumulator_port_bytes_per_cycle /= 4;
  EXPECT_TRUE(says(timed(gpu, {4096, 4096, 4096}),
                   "dense is bound by the accumulator port of the tensor cores "
                   "(accumulator_port_bytes_per_cycle)"));
  gpu = a100;
  gpu.sm.tensor_core.operand_a_port_bytes_per_cycle /= 4;
  EXPECT_TRUE(says(timed(gpu, {4096, 4096, 4096}), "(operand_a_port_bytes_per_cycle)"));
  gpu = a100;
  gpu.sm.tensor_core.register_bank_bytes_per_cycle /= 4;
  EXPECT_TRUE(says(timed(gpu, {4096, 4096, 4096}),
                   "x, bound by the register banks of the tensor cores "
                   "(register_bank_bytes_per_cycle)"));
}

TEST(Explanation, NamesRegisterBanksThatTheTensorCoresWaitFor) {
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {8192, 8192, 8192});
  op.sparse.reset();
  op.dense->budget.tensor *= 0.7;
  op.dense->saved.emplace();
  SavedTime& saved = *op.dense->saved;
  saved[Resource::kTensor] = saved[Resource::kRegisterBanks] = 0.27;
  EXPECT_TRUE(says(op,
                   "bound by the register banks of the tensor cores "
                   "(register_bank_bytes_per_cycle), twice as fast: -27 %."));
  saved[Resource::kRegisterBanks] = 0.11;
  EXPECT_TRUE(says(op, "bound by tensor cores, at work"));
  EXPECT_TRUE(says(op, "(twice as fast: -27 %; their register banks alone: -11 %)"));
}

TEST(Explanation, PrintsNoControlCharactersOfANameAndCutsNoLetter) {
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {64, 64, 64});
  op.name = "a\x1b[2Jb";
  EXPECT_TRUE(explain(op).starts_with("a?[2Jb (64 x 64 x 64)")) << explain(op);
  op.name = "x";
  for (int i = 0; i < 60; ++i) {
    op.name += "\u00e9";  // two bytes each
  }
  EXPECT_EQ(explain(op).find("\u00e9.. (64"), 1 + 2 * 27) << explain(op);
}

TEST(Explanation, SaysWhatEveryKindOfGemmWaitsFor) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  EXPECT_TRUE(says(timed(gpu, {8192, 8192, 8192}), "dense is bound by tensor cores"));
  EXPECT_TRUE(says(timed(gpu, {8192, 1, 8192}), "dense is bound by DRAM"));
  EXPECT_TRUE(says(timed(gpu, {8192, 1, 8192}), "for 2x it would need DRAM"));
  EXPECT_TRUE(says(timed(gpu, {64, 64, 64}), "2x is out of reach"));
  GpuSpec slow_launch = gpu;
  slow_launch.kernels.launch_us = 100;
  EXPECT_TRUE(says(timed(slow_launch, {64, 64, 64}), "dense is bound by its launch"));
}

TEST(Explanation, SaysWhatTwiceTheRatesWereSimulatedToGive) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  OperationResult op = timed(gpu, {4096, 4096, 4096});
  op.dense->time_us = 500;
  op.sparse->time_us = 300;
  op.sparse->saved.emplace();
  const auto saved_by_rates = [&](double share) {
    (*op.sparse->saved)[Resource::kRates] = share;
    return op;
  };
  EXPECT_TRUE(says(saved_by_rates(0),
                   "for 2x it would need more than all rates twice as fast (simulated: 1.67x)"));
  EXPECT_TRUE(says(saved_by_rates(0.1), "(simulated, all rates twice as fast: 1.85x)"));
  op.sparse->without_rates_us = 260;
  EXPECT_TRUE(
      says(saved_by_rates(0.1),
           "2x is out of reach: launch, latency, barriers and pipeline fill alone take "
           "260.0 us (simulated: all rates 64 times as fast), and half of the dense time is "
           "250.0 us"));
  op.sparse->without_rates_us = 100;
  EXPECT_TRUE(says(saved_by_rates(0),
                   "for 2x it would need more than all rates twice as fast (simulated: 1.67x; 64 "
                   "times: 5.00x)"));
  EXPECT_TRUE(says(saved_by_rates(0.1), "(simulated, all rates twice as fast: 1.85x)"));
  op.sparse->without_rates_us.reset();
  EXPECT_TRUE(says(saved_by_rates(0.4), "for 2x it would need, in closed form, "));
  EXPECT_TRUE(says(saved_by_rates(0.4), "(simulated, all rates twice as fast: 2.78x)"));
  // The design that the closed form names was simulated too.
  op.sparse->needed.emplace();
  op.sparse->needed->clock_mhz = op.sparse->clock_mhz;
  op.sparse->needed->speedup = 1.66;
  op.sparse->needed->speeds[Resource::kSharedMemory] = 1.46875;
  op.sparse->needed->speeds[Resource::kSmPort] = 1.5;
  EXPECT_TRUE(says(saved_by_rates(0.4),
                   "for 2x it would need, in closed form, shared memory (shared_memory_banks) 1.47 "
                   "times as fast and the SMs' ports to the L2 1.50 times as fast (simulated, that "
                   "comes to 1.66x only; all rates twice as fast: 2.78x)"));
  op.sparse->needed->speedup = 1.99;
  EXPECT_TRUE(says(saved_by_rates(0.4), "(simulated: 1.99x; all rates"));
  op.sparse->needed->clock_mhz += 100;
  EXPECT_TRUE(says(saved_by_rates(0.4), fmt::format("(simulated at {:.0f} MHz: 1.99x; all rates",
                                                    op.sparse->needed->clock_mhz)));
  op.sparse->needed->speeds[Resource::kL2] = 2.5;
  EXPECT_TRUE(says(saved_by_rates(0.4),
                   "for 2x it would need no more than all rates twice as fast (simulated: 2.78x)"));
  for (const Resource rate : kRates) {
    op.sparse->needed->speeds[rate] = 2.125;
  }
  EXPECT_TRUE(says(saved_by_rates(0.1), "for 2x it would need all rates 2.12 times as fast"));
  op.sparse->needed.reset();
  // What saves more when doubled needs to be less fast.
  const auto speed = [&](double share) {
    return (*Bottleneck(*saved_by_rates(share).sparse).speeds_for(250))[Resource::kTensor];
  };
  EXPECT_GT(speed(0.3), speed(0.4));
  EXPECT_GT(speed(0.4), speed(0.5));
}

TEST(Explanation, NamesTheKernelWithWhichTwoIsInReach) {
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {4096, 4096, 4096});
  op.dense->time_us = 500;
  op.sparse->time_us = 300;
  op.sparse->saved.emplace();
  op.sparse->without_rates_us = 260;
  op.sparse->kernel.cta_tile = {256, 128, 64};
  op.sparse->kernel.stages = 2;
  op.sparse->retuned = {4, 200, {128, 128, 64}, 4, 1};
  EXPECT_TRUE(
      says(op,
           "; for 2x it would need all rates 4 times as fast and the kernel of that design, "
           "128x128x64, 4 stages (simulated: 2.50x); with the kernel of this one, "
           "256x128x64, 2 stages, launch, latency, barriers and pipeline fill alone take "
           "260.0 us, and half of the dense time is 250.0 us."));
  EXPECT_FALSE(says(op, "out of reach"));
  op.sparse->retuned->cta_tile = {256, 128, 64};
  op.sparse->retuned->stages = 2;
  EXPECT_TRUE(says(op, "; for 2x it would need all rates 4 times as fast (simulated: 2.50x)."));
  op.sparse->retuned->us = 258;
  EXPECT_TRUE(says(op,
                   "2x is out of reach: launch, latency, barriers and pipeline fill alone take "
                   "258.0 us (simulated: all rates 2 to 64 times as fast, each with the kernel of "
                   "such a design), and half of the dense time is 250.0 us"));
  op.sparse->retuned->us = 265;
  EXPECT_TRUE(says(op, "alone take 260.0 us (simulated: all rates 2 to 64"));
}

TEST(Explanation, NamesTheBusiestResourceBesideLatency) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  OperationResult op = timed(gpu, {8192, 8192, 8192});
  op.dense->budget.tensor *= 0.75;  // what others save leaves the tensor cores their time
  op.dense->saved.emplace();
  (*op.dense->saved)[Resource::kWaits] = 0.2;
  EXPECT_TRUE(says(op, "pipeline fill (half as long: -20 %), beside tensor cores, at work"));
  (*op.dense->saved)[Resource::kL2] = 0.21;
  EXPECT_TRUE(says(op, "dense is bound by the L2, at work"));
  (*op.dense->saved)[Resource::kWaits] = 0;
  (*op.dense->saved)[Resource::kL2] = 0.03;
  EXPECT_TRUE(says(op, "dense is bound by nothing alone, soonest by the L2, at work"));
}

/// The cells of the row that begins with `variant`, in percent.
std::vector<double> cells(const OperationResult& op, const std::string& variant) {
  std::istringstream lines(explain(op));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, us;
    double time = 0;
    if (words >> first && first == variant && words >> time >> us) {
      return {std::istream_iterator<double>(words), {}};
    }
  }
  return {};
}

TEST(Explanation, CallsCalibrationNoWaitAndNoWork) {
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {8192, 8192, 128});
  VariantResult& dense = *op.dense;
  dense.time_us = 136.6;
  dense.launch_us = 1.3;
  dense.calibration_us = 54.7;
  dense.budget.cycles = (136.6 - 54.7 - 1.3) * dense.clock_mhz;
  dense.budget.dram = 72.4 * dense.clock_mhz;
  dense.budget.dram_behind = 0;
  const std::vector<double> row = cells(op, "dense");
  ASSERT_EQ(row.size(), 10u);
  EXPECT_NEAR(row[6], 100 * 72.4 / 136.6, 0.06);
  EXPECT_NEAR(row[7], 100 * (80.6 - 72.4) / 136.6, 0.06);
  EXPECT_NEAR(row[8], 100 * 54.7 / 136.6, 0.06);
  EXPECT_NEAR(row[6] + row[7] + row[8] + row[9], 100, 0.2);
  EXPECT_TRUE(says(op, ", beside 40 % of calibration; 2:4"));
  // What DRAM stores behind the cycles is its work, and no calibration.
  dense.budget.dram_behind = 30 * dense.clock_mhz;
  const TimeShares stores = Bottleneck(dense).shares();
  EXPECT_NEAR(stores.dram, (72.4 + 30) / 136.6, 1e-9);
  EXPECT_NEAR(stores.wait, (80.6 - 72.4) / 136.6, 1e-9);
  EXPECT_NEAR(stores.calibration, (54.7 - 30) / 136.6, 1e-9);
  EXPECT_TRUE(says(op, ", beside 18 % of calibration; 2:4"));
  dense.budget.dram_behind = 0;
  // Where it shortens a launch, waits become shorter, and no work takes longer than the launch.
  dense.calibration_us = -4.6;
  dense.time_us = 80.6 - 4.6 + 1.3;
  const TimeShares shorter = Bottleneck(dense).shares();
  EXPECT_NEAR(shorter.dram, 72.4 / 77.3, 1e-9);
  EXPECT_NEAR(shorter.wait, (80.6 - 72.4 - 4.6) / 77.3, 1e-9);
  EXPECT_NEAR(shorter.calibration, 0, 1e-12);
  dense.calibration_us = -20.6;
  dense.time_us = 60 + 1.3;
  EXPECT_NEAR(Bottleneck(dense).share(Resource::kDram), 60 / 61.3, 1e-9);
}

TEST(Explanation, HalvesWhatACalibratedLaunchIsBoundBy) {
  // DRAM works in all cycles, and calibration is half as long as they are and as they will be.
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {8192, 8192, 128});
  op.sparse.reset();
  VariantResult& dense = *op.dense;
  dense.launch_us = 2;
  dense.budget.dram = dense.budget.cycles = 200 * dense.clock_mhz;
  dense.budget.dram_behind = 0;
  dense.calibration_us = 100;
  dense.time_us = 302;
  dense.saved.emplace();
  (*dense.saved)[Resource::kDram] = 0.495;
  EXPECT_NEAR(Bottleneck(dense).own_saving({Resource::kDram}), 0.495, 1e-12);
  EXPECT_TRUE(says(op,
                   "bound by DRAM, at work 66 % of the time (twice as fast: -50 %), beside 33 % of "
                   "calibration."));
}

/// A dense launch whose resources work for these shares of its time, all else idle.
OperationResult working(const std::map<Resource, double>& shares, double launch = 0) {
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {8192, 8192, 8192});
  op.sparse.reset();
  op.dense->saved.emplace();
  CycleBudget& budget = op.dense->budget;
  const std::map<Resource, double*> cycles{{Resource::kTensor, &budget.tensor},
                                           {Resource::kSharedMemory, &budget.shared_memory},
                                           {Resource::kSmPort, &budget.sm_port},
                                           {Resource::kL2, &budget.l2},
                                           {Resource::kDram, &budget.dram}};
  budget.operand_fetch = 0;
  op.dense->launch_us = launch * op.dense->time_us;
  budget.cycles = (1 - launch) * op.dense->time_us * op.dense->clock_mhz;
  for (const auto& [resource, of_resource] : cycles) {
    const auto share = shares.find(resource);
    *of_resource =
        share == shares.end() ? 0 : share->second * op.dense->time_us * op.dense->clock_mhz;
  }
  return op;
}

TEST(Explanation, NamesTwoResourcesWhereEachWaitsForTheOther) {
  OperationResult op =
      working({{Resource::kL2, 0.78}, {Resource::kDram, 0.74}, {Resource::kTensor, 0.37}}, 0.14);
  SavedTime& saved = *op.dense->saved;
  saved[Resource::kLaunch] = 0.07;
  saved[Resource::kL2] = 0.046;
  saved[Resource::kRates] = 0.42;
  EXPECT_TRUE(says(op,
                   "dense is bound by nothing alone, soonest by its launch, 14 % of the time (all "
                   "rates twice as fast: -42 %)."));
  op.dense->pair = SavedByPair{Resource::kL2, Resource::kDram, 0.38};
  EXPECT_TRUE(says(op,
                   "dense is bound by nothing alone, but by the L2 and DRAM together, at work 78 "
                   "and 74 % of the time (both twice as fast: -38 %; its launch alone: -7 %)."));
  EXPECT_EQ(Bottleneck(*op.dense).bound(), Resource::kL2);
  // DRAM alone does as much, if not by its work.
  saved[Resource::kDram] = 0.37;
  op.dense->budget.dram *= 0.2 / 0.74;
  EXPECT_TRUE(says(op,
                   "dense is bound by DRAM, at work 20 % of the time (twice as fast: -37 %, of "
                   "which busy cycles explain 8 %; the L2: -5 %)"));
  saved[Resource::kDram] = 0;
  op.dense->budget.dram *= 0.74 / 0.2;
  // A launch that is long is one, whatever others do together.
  op.dense->launch_us = 0.4 * op.dense->time_us;
  saved[Resource::kLaunch] = 0.2;
  EXPECT_TRUE(says(op, "dense is bound by its launch, 40 % of the time."));
}

TEST(Explanation, NamesNoLaunchAloneWhereRatesSaveMuchMore) {
  OperationResult op =
      working({{Resource::kL2, 0.7}, {Resource::kTensor, 0.63}, {Resource::kSmPort, 0.63}}, 0.158);
  SavedTime& saved = *op.dense->saved;
  saved[Resource::kLaunch] = 0.079;
  saved[Resource::kRates] = 0.188;
  EXPECT_TRUE(says(op,
                   "dense is bound by nothing alone, soonest by its launch, 16 % of the time (all "
                   "rates twice as fast: -19 %)."));
  saved[Resource::kRates] = 0.11;
  EXPECT_TRUE(says(op, "dense is bound by its launch, 16 % of the time."));
  // A long launch is a bound of its own; what saves nearly as much is named.
  op.dense->launch_us = 0.346 * op.dense->time_us;
  saved[Resource::kLaunch] = 0.173;
  saved[Resource::kRates] = 0.275;
  saved[Resource::kL2] = 0.134;
  EXPECT_TRUE(says(op, "dense is bound by its launch, 35 % of the time (the L2: -13 %)."));
}

TEST(Explanation, SaysWhatNeitherAResourceNorTheOthersCanBeThankedFor) {
  OperationResult op = working({{Resource::kDram, 0.7}, {Resource::kL2, 0.2}});
  (*op.dense->saved)[Resource::kDram] = 0.355;
  EXPECT_TRUE(says(op, "by DRAM, at work 70 % of the time (twice as fast: -36 %)"));
  (*op.dense->saved)[Resource::kDram] = 0.42;
  EXPECT_TRUE(says(op,
                   "by DRAM, at work 70 % of the time (twice as fast: -42 %, of which busy cycles "
                   "explain 35 %)"));
  EXPECT_NE(explain(op).find(" 42.0* "), std::string::npos) << explain(op);
  // Half of the tensor cores' time is 46 %, but the L2 works 60 % of the old one.
  op = working({{Resource::kTensor, 0.93}, {Resource::kL2, 0.6}});
  (*op.dense->saved)[Resource::kTensor] = 0.48;
  EXPECT_TRUE(says(op,
                   "by tensor cores, at work 93 % of the time (twice as fast: -48 %, of which busy "
                   "cycles explain 40 %)"));
}

TEST(Explanation, SaysWhatIsWithinChance) {
  OperationResult op = working({{Resource::kTensor, 0.6}, {Resource::kL2, 0.41}});
  (*op.dense->saved)[Resource::kTensor] = 0.109;
  EXPECT_EQ(explain(op).find("chance"), std::string::npos);
  (*op.dense->saved)[Resource::kL2] = -0.134;
  (*op.dense->saved)[Resource::kLaunch] = 0.01;
  EXPECT_TRUE(says(op,
                   "by nothing alone that rises above chance (13 %: CTAs in another order), "
                   "soonest by tensor cores, at work 60 % of the time (twice as fast: -11 %)"));
  // Six cells are no more than chance; the launch is known.
  std::string cells = explain(op);
  int by_chance = 0;
  for (std::size_t at = cells.find(" chance "); at != std::string::npos;
       at = cells.find(" chance ", at + 1)) {
    ++by_chance;
  }
  EXPECT_EQ(by_chance, 6 + 1) << cells;  // and the sentence
  EXPECT_NE(cells.find("     1.0\n"), std::string::npos) << cells;
}

TEST(Explanation, NamesTheSelectorWhereMoreDotUnitsWaitForIt) {
  GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  gpu.sm.tensor_core.dot_units *= 2;
  gpu.sm.tensor_core.f32_dot_units *= 2;
  EXPECT_TRUE(
      says(timed(gpu, {4096, 4096, 4096}),
           "dense is bound by the selector of the tensor cores (selector_bytes_per_cycle)"));
  gpu.sm.tensor_core.selector_bytes_per_cycle *= 2;
  EXPECT_FALSE(says(timed(gpu, {4096, 4096, 4096}), "selector"));
}

TEST(Explanation, ThanksNoResourceForWhatAnotherOrderOfCtasSaves) {
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {8192, 8192, 8192});
  op.dense->saved.emplace();
  op.dense->budget.tensor = 0.2 * op.dense->time_us * op.dense->clock_mhz;
  op.dense->budget.operand_fetch = 0;
  SavedTime& saved = *op.dense->saved;
  saved[Resource::kTensor] = 0.3;
  EXPECT_TRUE(says(op, "dense is bound by tensor cores, at work 20 % of the time"));
  saved[Resource::kWaits] = 0.11;  // tensor cores at work 20 % of the time save at most 10
  EXPECT_TRUE(says(op, "dense is bound by latency, barriers and pipeline fill"));
  saved[Resource::kTensor] = 0.04;
  saved[Resource::kSharedMemory] = -0.12;  // 11 % less of something says little
  EXPECT_TRUE(says(op, "dense is bound by nothing alone"));
}

TEST(Explanation, NamesThePortsOfTheSmsWhereTheyWorkMost) {
  OperationResult op = timed(load_architecture("a100-sxm4-80gb").gpu, {8192, 8192, 8192});
  op.dense->saved.emplace();
  (*op.dense->saved)[Resource::kWaits] = 0.2;
  CycleBudget& budget = op.dense->budget;
  const double cycles = op.dense->time_us * op.dense->clock_mhz;
  budget.tensor = budget.l2 = 0.6 * cycles;
  budget.operand_fetch = 0;
  budget.sm_port = 0.8 * cycles;
  EXPECT_TRUE(says(op,
                   "pipeline fill (half as long: -20 %), beside the SMs' ports to the L2, at "
                   "work 80 % of the time"));
  budget.tensor = budget.l2 = budget.dram = budget.shared_memory = 0.2 * cycles;
  budget.sm_port = 0.4 * cycles;
  EXPECT_TRUE(says(op, "no resource works more than 40 % of the time"));
}

}  // namespace
}  // namespace sptc::sim
