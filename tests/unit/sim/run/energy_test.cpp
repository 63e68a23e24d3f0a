// SPDX-License-Identifier: Apache-2.0
#include "sim/run/energy.h"

#include "models/numerics/codec.h"
#include "sim/run/run.h"
#include "sim/run/run_options.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/sim/run/energy_fixture.h"
#include "tests/unit/sim/run/fake_gpu.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace sptc::run {
namespace {

TEST(AddEnergy, PartsAreCountsTimesTheTableAndSumToTheTotal) {
  const energy::PowerSpec power = a100();
  VariantResult result = figures();
  add_energy(layer(), false, power, {}, SimulationOptions{}, never, result);
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

TEST(AddEnergy, RailsTakeAllOfTheEnergyOfALaunchAndOfANetwork) {
  VariantResult result = figures();
  add_energy(layer(), false, a100(), {}, SimulationOptions{}, never, result);
  EXPECT_TRUE(result.energy->rails_uj.empty());
  const energy::PowerSpec orin = config::power_spec(config::load_energy("jetson-agx-orin-64gb").config,
                                                    config::load_architecture("jetson-agx-orin-64gb").gpu);
  add_energy(layer(), false, orin, {}, SimulationOptions{}, never, result);
  OperationResult op;
  op.shape = layer().shape;
  op.count = 3;
  op.dense = result;
  const EnergyResult network = *sum_up({op}).dense->energy;
  for (const EnergyResult& energy : {*result.energy, network}) {
    ASSERT_EQ(energy.rails_uj.size(), orin.rails.size());
    double uj = 0;
    double watts = 0;
    for (std::size_t i = 0; i < orin.rails.size(); ++i) {
      EXPECT_EQ(energy.rails_uj[i].first, orin.rails[i].name);
      uj += energy.rails_uj[i].second;
      watts += energy.rail_w(i);
    }
    EXPECT_NEAR(uj, energy.total_uj, 1e-12 * uj);
    EXPECT_NEAR(watts, energy.power_w, 1e-12 * watts);
    // By hand: a third of the 8 W that flow outside the SMs.
    EXPECT_EQ(energy.rails_uj[0].first, "VDD_CPU_CV");
    EXPECT_NEAR(energy.rail_w(0), 0.33 * 8, 1e-9);
  }
}

TEST(AddEnergy, ALaunchAboveTheLimitIsSimulatedAgainAtTheClockThatItAllows) {
  energy::PowerSpec power = a100();
  SimulationOptions options;
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
  EXPECT_DOUBLE_EQ(held.timing.time_us, static_cast<double>(held.timing.cycles) / held.timing.clock_mhz);
  EXPECT_NEAR(held.timing.tflops * held.timing.time_us, 2, 1e-9);
  // The limit lies between this clock and the next one.
  EXPECT_LE(held.energy->power_w, power.power_limit_w);
  VariantResult next = half_at(figures(), held.timing.clock_mhz + 15);
  add_energy(layer(), false, power, {}, SimulationOptions{}, never, next);
  EXPECT_GT(next.energy->power_w, power.power_limit_w);
}

TEST(AddEnergy, AFewStepsOfTheClockAreFollowedInClosedForm) {
  energy::PowerSpec power = a100();
  power.power_limit_w = watts_at_800_mhz();
  SimulationOptions options;
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
  SimulationOptions options;
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
  SimulationOptions options;
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

TEST(SumUp, WeighsLaunchesAndAveragesPowerOverTime) {
  OperationResult one;
  one.shape = {50, 50, 50};
  one.count = 3;
  one.dense = figures();
  OperationResult two = one;
  two.count = 1;
  two.dense->timing.time_us = 6;
  one.dense->energy = EnergyResult{{{"multiply", 30}, {"hbm", 10}}, 40, 20, 50, 0, false, false};
  two.dense->energy = EnergyResult{{{"multiply", 6}, {"hbm", 6}}, 12, 2, 70, 0, true, false};
  const auto total = sum_up({one, two}).dense->energy;
  ASSERT_TRUE(total);
  EXPECT_DOUBLE_EQ(total->total_uj, 132);
  EXPECT_DOUBLE_EQ(part(*total, "multiply"), 96);
  EXPECT_DOUBLE_EQ(total->power_w, 132.0 / 12);
  EXPECT_DOUBLE_EQ(total->peak_power_w, 70);
  EXPECT_DOUBLE_EQ(total->pj_per_flop, 132);
  EXPECT_TRUE(total->limited);
  two.dense->energy.reset();
  EXPECT_FALSE(sum_up({one, two}).dense->energy);
}

using energy::Event;
using energy::Switching;
using numerics::DataType;

TEST(LaunchEvents, OfADenseLayerAreThoseCountedByHand) {
  const energy::EventCounts counts = launch_events(layer(), false, figures(), {}, 16);
  constexpr double kMacs = 128 * 128 * 64;
  constexpr double kInstructions = kMacs / (16 * 8 * 16);
  constexpr double kOutputs = 128 * 128;
  EXPECT_DOUBLE_EQ(counts.count(Event::kMultiply), kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kAlignAdd), kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRound), kMacs / 8);
  EXPECT_DOUBLE_EQ(counts.count(Event::kOperandLatch), 4 * kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kOperandSelect), 0);
  EXPECT_DOUBLE_EQ(counts.count(Event::kMetadataRead), 0);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterRead), kInstructions * (512 + 256 + 512) + 4 * kOutputs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterWrite), kInstructions * 512 + 65536);
  EXPECT_DOUBLE_EQ(counts.count(Event::kSharedMemoryRead), 65536);
  EXPECT_DOUBLE_EQ(counts.count(Event::kSharedMemoryWrite), 32768);
  EXPECT_DOUBLE_EQ(counts.count(Event::kInterconnect), 32000);
  EXPECT_DOUBLE_EQ(counts.count(Event::kL2Access), 32000 + 12000);
  EXPECT_DOUBLE_EQ(counts.count(Event::kHbmAccess), 12000);
  EXPECT_DOUBLE_EQ(counts.count(Event::kCudaCoreFma), kOutputs);
}

TEST(LaunchEvents, TwoToFourHalvesTheMultiplicationsAndAddsSelectionAndMetadata) {
  const energy::EventCounts counts = launch_events(layer(), true, figures(true), {}, 16);
  constexpr double kMacs = 128 * 128 * 64 / 2;
  constexpr double kInstructions = kMacs / (16 * 8 * 16);
  EXPECT_DOUBLE_EQ(counts.count(Event::kMultiply), kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kOperandSelect), kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kMetadataRead), kInstructions * 128);
  // B doubles per instruction: 512 + 512 + 512 bytes.
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterRead), kInstructions * 1536 + 4 * 128 * 128);
}

TEST(LaunchEvents, OfWgmmaTakeBothOperandsFromSharedMemory) {
  VariantResult hopper = figures(true);
  hopper.kernel.instruction = mma::parse_instruction("wgmma.sp.m64n128k32.f32.f16.f16");
  hopper.traffic.memory.shared_memory_read = 0;
  hopper.traffic.memory.shared_memory_multiplied = 1 << 20;  // counted by instructions
  const energy::EventCounts counts = launch_events(layer(), true, hopper, {}, 32);
  constexpr double kMacs = 128 * 128 * 64 / 2;
  constexpr double kInstructions = kMacs / (64 * 128 * 16);
  constexpr double kAccumulators = 64 * 128 * 4;
  constexpr double kOutputs = 128 * 128;
  // A: 64 rows of 16 kept elements; B: 128 columns of all 32.
  EXPECT_DOUBLE_EQ(counts.count(Event::kSharedMemoryRead), kInstructions * 2 * (64 * 16 + 128 * 32));
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterRead), kInstructions * kAccumulators + 4 * kOutputs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRegisterWrite), kInstructions * kAccumulators);
  EXPECT_DOUBLE_EQ(counts.count(Event::kOperandLatch), 4 * kMacs);
  EXPECT_DOUBLE_EQ(counts.count(Event::kRound), kMacs / 16);  // 32 bytes of f16 per step
  EXPECT_DOUBLE_EQ(counts.count(Event::kMetadataRead), kInstructions * 4 * 128);
  // Four warps issue each instruction; the TMA copies tiles.
  EXPECT_DOUBLE_EQ(counts.count(Event::kInstructionIssue), kInstructions * 4 + 2 * kOutputs / 32);
}

TEST(LaunchEvents, EveryEventOfTheTableHappensInASparseLaunch) {
  const energy::EventCounts counts = launch_events(layer(), true, figures(true), {}, 16);
  for (const energy::EventInfo& row : energy::kEvents) {
    EXPECT_GT(counts.count(row.event), 0) << row.name;
  }
}

TEST(LaunchEvents, PaddingIsExecutedButMovesNoWire) {
  VariantResult padded = figures();
  padded.timing.padding = 0.5;
  const energy::EventCounts counts = launch_events(layer(), false, padded, {}, 16);
  EXPECT_DOUBLE_EQ(counts.count(Event::kMultiply), 2.0 * 128 * 128 * 64);
  EXPECT_DOUBLE_EQ(counts.switched(Event::kMultiply), 1.0 * 128 * 128 * 64);
}

TEST(SwitchingSource, SeesTheDistributionOfTheOperands) {
  const auto of = [](workload::DataKind kind, bool sparse) {
    const GeneratedData data(kind, 3);
    return SwitchingSource(data).of(layer(), sparse);
  };
  const Switching random = of(workload::DataKind::kRandom, false);
  EXPECT_NEAR(random.operand_a, 1, 0.03);
  EXPECT_NEAR(random.products, 1, 0.03);
  const Switching relu = of(workload::DataKind::kRelu, false);
  EXPECT_LT(relu.products, 0.75);
  EXPECT_NEAR(relu.operand_a, 1, 0.03);
  EXPECT_LT(of(workload::DataKind::kIntegers, false).products, 0.2);
  EXPECT_EQ(of(workload::DataKind::kZeros, true).operand_b, 0);
  // Pruning keeps the larger of each four: no zeros among them, mantissas as random as before.
  EXPECT_NEAR(of(workload::DataKind::kRandom, true).products, 1, 0.1);
}

TEST(SwitchingSource, ZeroWeightsOfAFileStillTheProducts) {
  kernels::GemmOperands operands;
  operands.a = base::Matrix<numerics::Word>(2, 64, 0);
  operands.b_columns = base::Matrix<numerics::Word>(2, 64);
  for (std::size_t k = 0; k < 64; ++k) {
    operands.b_columns(0, k) = operands.b_columns(1, k) =
        numerics::from_double(static_cast<double>(k % 7) + 1, DataType::kF16);
  }
  const Switching switching = switching_of(operands, DataType::kF16, false);
  EXPECT_EQ(switching.operand_a, 0);
  EXPECT_EQ(switching.products, 0);
  EXPECT_GT(switching.operand_b, 0);
}

TEST(EnergyFiles, FilesThatCallThemselvesAlikeHaveRangesOfTheirOwn) {
  const std::string name = "a100-sxm4-80gb";
  const support::TemporaryDirectory directory;
  const std::string file = (directory.path() / "mine.json").string();
  nlohmann::json document =
      nlohmann::json::parse(std::ifstream(std::string(SPTC_SOURCE_DIR) + "/configs/energy/" + name + ".json"));
  nlohmann::json& hbm = document["events"]["hbm_pj_per_byte"];
  hbm["range"] = {hbm["value"], hbm["value"]};
  std::ofstream(file) << document;

  EnergyFiles files;
  const config::Architecture board = config::load_architecture(name);
  const auto factors_of = [&](const std::string& given) {
    const config::LoadedEnergy& loaded = files.load(given);
    return files.factors_of(loaded, config::power_spec(loaded.config, board.gpu, files.gpu_of(loaded, board)));
  };
  const auto shipped = factors_of(name), mine = factors_of(file);
  EXPECT_EQ(factors_of(name), shipped) << "made once";
  const auto hbm_of = [](const energy::CostFactors& factors) {
    const auto hbm_part = static_cast<std::size_t>(energy::Event::kHbmAccess);
    return factors.factors[static_cast<std::size_t>(factors.energy.at(numerics::DataType::kF16)[hbm_part])];
  };
  EXPECT_LT(hbm_of(*shipped).low, 1);
  EXPECT_EQ(hbm_of(*mine).low, 1);
  EXPECT_EQ(hbm_of(*mine).high, 1);
}

TEST(SetEnergy, TheClockOfAGroupLeavesDramAndLaunchesTheirOwnTime) {
  energy::PowerSpec power = a100();
  VariantResult held = figures();
  held.timing.launch_us = 0.5;
  held.timing.time_us += 0.5;
  const energy::Work work = work_of(layer(), false, power, {}, held);
  power.power_limit_w = power_at(power, work, 800).average_w;
  set_energy(layer(), work, power, power_limited(power, work, held.timing.clock_mhz), held);
  EXPECT_NEAR(held.timing.clock_mhz, 800, 0.1);
  EXPECT_NEAR(held.energy->power_w, power.power_limit_w, 1e-3);
  EXPECT_EQ(held.timing.cycles, 2000);  // the tensor cores', at any clock
  EXPECT_DOUBLE_EQ(held.timing.launch_us, 0.5);
  EXPECT_NEAR(static_cast<double>(held.timing.cycles) / held.timing.clock_mhz + held.timing.launch_us,
              held.timing.time_us, 1e-9);
  EXPECT_NEAR(held.timing.tflops * held.timing.time_us, 2.5, 1e-9);
  EXPECT_EQ(held.timing.budget.cycles, 2000);
  EXPECT_NEAR(held.timing.budget.dram / held.timing.clock_mhz, 1, 1e-9);  // us, as before
  EXPECT_DOUBLE_EQ(held.timing.utilization, 0.5);
}

TEST(SecondsAt, DramKeepsItsOwnTimeUntilTheSmsAreSlower) {
  EXPECT_DOUBLE_EQ(seconds_at(figures(), 1000), 2e-6);
  EXPECT_DOUBLE_EQ(seconds_at(figures(), 500), 4e-6);
  VariantResult memory = figures();
  memory.timing.clock_scaling.form = {};
  memory.timing.clock_scaling.form.tensor_us = 0.5;
  memory.timing.clock_scaling.form.dram_us = 2;
  EXPECT_DOUBLE_EQ(seconds_at(memory, 1000), 2e-6);
  // Not exact where both take about as long: the overlap has a finite exponent.
  EXPECT_NEAR(seconds_at(memory, 600), 2e-6, 1e-10);
  EXPECT_NEAR(seconds_at(memory, 125), 4e-6, 1e-9);
  memory.timing.clock_scaling.form = {};
  memory.timing.clock_scaling.form.tensor_us = 1;
  memory.timing.clock_scaling.form.last_dram_us = 2;  // one after the other: 1 + 2 us in 2 us
  EXPECT_DOUBLE_EQ(seconds_at(memory, 500), 2e-6 * (2 + 2) / 3);
  memory.timing.launch_us = 0.5;
  EXPECT_DOUBLE_EQ(seconds_at(memory, 500), 1.5e-6 * (2 + 2) / 3 + 0.5e-6);
}

/// figures() from a simulator, at the clock that is asked for.
class FiguresAtClock : public gpu::Timer {
  gpu::GemmRun launch(const kernels::GemmProblem& problem, const kernels::KernelOverrides& /*overrides*/,
                      const std::vector<kernels::GemmOperands>* /*operands*/) override {
    const VariantResult at_boost = figures(problem.sparse);
    gpu::GemmRun run;
    run.kernel = at_boost.kernel;
    run.cycles = at_boost.timing.cycles;
    run.clock_mhz = problem.conditions.clock_mhz;
    run.clock_scaling = at_boost.timing.clock_scaling;
    run.issued_macs = problem.shape.macs() / (problem.sparse ? 2 : 1);
    run.traffic = at_boost.traffic.memory;
    run.budget = at_boost.timing.budget;
    return run;
  }
};

/// The two operations of a network: one that is pruned, one that is not.
struct TwoLayers {
  TwoLayers() : operations{layer(), layer()} {
    operations[1].name = "scores";
    operations[1].prunable = false;
    operations[1].b_is_zero = true;
    for (const workload::Operation& op : operations) {
      OperationResult row;
      row.name = op.name;
      row.shape = op.shape;
      row.prunable = op.prunable;
      row.dense = figures();
      if (op.prunable) {
        row.sparse = figures(true);
      }
      result.operations.push_back(row);
    }
    options.power = a100();
    options.clock_limited = true;
    options.limit_over = LimitOver::kGroup;
  }

  RunResult run() {
    const GeneratedData data(workload::DataKind::kRandom, 0);
    SwitchingSource switching(data);
    RunResult done = result;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      done.operations[i].rest_us = static_cast<double>(operations[i].rest.ns) * 1e-3;
    }
    const gpu::GpuSpec gpu = FakeGpu::architecture().gpu;
    FiguresAtClock timer;
    KernelRunner kernels(gpu, options, timer);
    add_energy(operations, switching, options, kernels, done);
    done.totals = sum_up(done.operations);
    return done;
  }

  std::vector<workload::Operation> operations;
  RunResult result;
  SimulationOptions options;
};

TEST(LimitOverGroup, HoldsOnAverageOverTheNetworkAndNotOverEachLaunch) {
  TwoLayers network;
  network.options.power->power_limit_w = 1e4;
  const RunResult free = network.run();
  ASSERT_TRUE(free.totals.dense && free.totals.sparse);
  const double hungry = free.operations[0].dense->energy->power_w;
  const double frugal = free.operations[1].dense->energy->power_w;
  ASSERT_GT(hungry, frugal);

  network.options.power->power_limit_w = (hungry + frugal) / 2 - 1;
  const RunResult held = network.run();
  EXPECT_NEAR(held.totals.dense->energy->power_w, network.options.power->power_limit_w, 1e-3);
  EXPECT_GT(held.operations[0].dense->energy->power_w, network.options.power->power_limit_w);
  EXPECT_DOUBLE_EQ(held.operations[0].dense->timing.clock_mhz, held.operations[1].dense->timing.clock_mhz);
  EXPECT_LT(held.operations[1].dense->timing.clock_mhz, 1000);
  // In the sparse network the unpruned operation has the clock of that network.
  ASSERT_TRUE(held.operations[1].dense_among_sparse);
  EXPECT_DOUBLE_EQ(held.operations[1].dense_among_sparse->timing.clock_mhz,
                   held.operations[0].sparse->timing.clock_mhz);
  EXPECT_NE(held.operations[1].dense_among_sparse->timing.clock_mhz, held.operations[1].dense->timing.clock_mhz);
}

TEST(LimitOverGroup, HoldsForEachGroupByItself) {
  TwoLayers network;
  network.operations[0].group = "a";
  network.operations[1].group = "b";
  network.options.limit_over = LimitOver::kGroup;
  network.options.power->power_limit_w = watts_at_800_mhz();
  const RunResult apart = network.run();
  network.options.limit_over = LimitOver::kLaunch;
  const RunResult each = network.run();
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_LT(apart.operations[i].dense->timing.clock_mhz, 1000);
    // Launch by launch the clock changes in steps of 15 MHz.
    EXPECT_DOUBLE_EQ(std::floor(apart.operations[i].dense->timing.clock_mhz / 15) * 15,
                     each.operations[i].dense->timing.clock_mhz);
  }
  EXPECT_FALSE(each.operations[1].dense_among_sparse);
}

TEST(LimitOverGroup, WhatLiesBetweenTheGemmsTakesPowerAndItsOwnLineOfTheTotals) {
  TwoLayers network;
  const double free_w = network.run().totals.dense->energy->power_w;
  const double limit_w = free_w - 5;
  network.options.power->power_limit_w = limit_w;
  const RunResult before = network.run();
  EXPECT_DOUBLE_EQ(before.totals.dense->rest_us, 0);
  EXPECT_NEAR(before.totals.dense->energy->power_w, limit_w, 1e-3);
  // The GPU idles for a while: the clock rises, until the average is at the limit again.
  network.operations[1].rest.ns = 200;
  const RunResult idle = network.run();
  ASSERT_TRUE(idle.totals.dense->energy->limited);
  EXPECT_GT(idle.operations[0].dense->timing.clock_mhz, before.operations[0].dense->timing.clock_mhz);
  EXPECT_DOUBLE_EQ(idle.totals.dense->rest_us, 0.2);
  const double all_uj = idle.totals.dense->energy->total_uj + idle.totals.dense->rest_uj;
  EXPECT_NEAR(all_uj / (idle.totals.dense->time_us + 0.2), limit_w, 1e-3);
  // Bytes cost: 97.5 of HBM, and at most some 40 pJ of the way to the registers.
  network.options.limit_over = LimitOver::kLaunch;
  network.options.clock_limited = false;
  const double of_idling = network.run().totals.dense->rest_uj;
  network.operations[1].rest.bytes = 1000000;
  const double of_bytes = network.run().totals.dense->rest_uj - of_idling;
  EXPECT_GT(of_bytes, 97.5);
  EXPECT_LT(of_bytes, 140);
}

}  // namespace
}  // namespace sptc::run
