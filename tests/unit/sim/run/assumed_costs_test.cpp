// SPDX-License-Identifier: Apache-2.0
#include "sim/run/assumed_costs.h"

#include "sim/run/estimate.h"

#include <gtest/gtest.h>

namespace sptc::run {
namespace {

TEST(AssumedCosts, AreTwiceAsHighAndNothingElseChanges) {
  const config::Architecture t4 = config::load_architecture("t4");
  const gpu::GpuSpec worse = with_twice_the_assumed_costs(t4);
  EXPECT_EQ(worse.launch.launch_us, 2 * t4.gpu.launch.launch_us);
  EXPECT_EQ(worse.sm.barrier_latency_cycles, 2 * t4.gpu.sm.barrier_latency_cycles);
  EXPECT_EQ(worse.memory.l2_bytes_per_cycle, t4.gpu.memory.l2_bytes_per_cycle / 2);
  EXPECT_EQ(worse.memory.dram_efficiency_percent, t4.gpu.memory.dram_efficiency_percent / 2);
  EXPECT_EQ(worse.memory.l2_partitions, t4.gpu.memory.l2_partitions);  // a count
  EXPECT_EQ(worse.memory.dram_gb_per_s, t4.gpu.memory.dram_gb_per_s);  // cited
  EXPECT_EQ(worse.boost_clock_mhz, t4.gpu.boost_clock_mhz);
}

TEST(AssumedCosts, AreAShareOfTheTime) {
  config::Architecture t4 = config::load_architecture("t4");
  workload::Workload workload;
  workload.operations.emplace_back();
  workload.operations.back().shape = {512, 512, 512};
  SimulationOptions options;
  options.variants = Variants::kDense;
  const RunResult result = estimate(workload, t4, options);
  const double all = assumed_share(workload, t4, options, result);
  EXPECT_GT(all, 0.05);
  EXPECT_LE(all, 1.001);
  for (config::Parameter& parameter : t4.parameters) {
    if (parameter.pointer != "/kernels/launch_us") {
      parameter.evidence = "cited";
    }
  }
  const double launch = assumed_share(workload, t4, options, result);
  EXPECT_NEAR(launch, t4.gpu.launch.launch_us / result.operations[0].dense->timing.time_us, 0.02);
  t4.parameters.clear();
  EXPECT_EQ(assumed_share(workload, t4, options, result), 0);
}

}  // namespace
}  // namespace sptc::run
