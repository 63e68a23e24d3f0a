// SPDX-License-Identifier: Apache-2.0
#include "sim/run/energy.h"
#include "sim/run/run.h"
#include "tests/unit/sim/run/energy_fixture.h"
#include "tests/unit/sim/run/fake_gpu.h"

#include <vector>

namespace sptc::run {
namespace {

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
  EXPECT_NEAR(
      static_cast<double>(held.timing.cycles) / held.timing.clock_mhz + held.timing.launch_us,
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
gpu::GemmRun launch_at_clock(const kernels::GemmProblem& problem,
                             const kernels::KernelOverrides& /*overrides*/,
                             const std::vector<kernels::GemmOperands>* /*operands*/) {
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
    options.limit_over_group = true;
  }

  RunResult run() {
    const GeneratedData data(workload::DataKind::kRandom, 0);
    SwitchingSource switching(data);
    RunResult done = result;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      done.operations[i].rest_us = static_cast<double>(operations[i].rest.ns) * 1e-3;
    }
    const gpu::GpuSpec gpu = FakeGpu::architecture().gpu;
    KernelRunner kernels(gpu, options, launch_at_clock);
    add_energy(operations, switching, options, kernels, done);
    done.totals = sum_up(done.operations);
    return done;
  }

  std::vector<workload::Operation> operations;
  RunResult result;
  RunOptions options;
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
  EXPECT_DOUBLE_EQ(held.operations[0].dense->timing.clock_mhz,
                   held.operations[1].dense->timing.clock_mhz);
  EXPECT_LT(held.operations[1].dense->timing.clock_mhz, 1000);
  // In the sparse network the unpruned operation has the clock of that network.
  ASSERT_TRUE(held.operations[1].dense_among_sparse);
  EXPECT_DOUBLE_EQ(held.operations[1].dense_among_sparse->timing.clock_mhz,
                   held.operations[0].sparse->timing.clock_mhz);
  EXPECT_NE(held.operations[1].dense_among_sparse->timing.clock_mhz,
            held.operations[1].dense->timing.clock_mhz);
}

TEST(LimitOverGroup, HoldsForEachGroupByItself) {
  TwoLayers network;
  network.operations[0].group = "a";
  network.operations[1].group = "b";
  network.options.limit_over_group = true;
  network.options.power->power_limit_w = watts_at_800_mhz();
  const RunResult apart = network.run();
  network.options.limit_over_group = false;
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
  EXPECT_GT(idle.operations[0].dense->timing.clock_mhz,
            before.operations[0].dense->timing.clock_mhz);
  EXPECT_DOUBLE_EQ(idle.totals.dense->rest_us, 0.2);
  const double all_uj = idle.totals.dense->energy->total_uj + idle.totals.dense->rest_uj;
  EXPECT_NEAR(all_uj / (idle.totals.dense->time_us + 0.2), limit_w, 1e-3);
  // Bytes cost: 97.5 of HBM, and at most some 40 pJ of the way to the registers.
  network.options.limit_over_group = false;
  network.options.clock_limited = false;
  const double of_idling = network.run().totals.dense->rest_uj;
  network.operations[1].rest.bytes = 1000000;
  const double of_bytes = network.run().totals.dense->rest_uj - of_idling;
  EXPECT_GT(of_bytes, 97.5);
  EXPECT_LT(of_bytes, 140);
}

}  // namespace
}  // namespace sptc::run
