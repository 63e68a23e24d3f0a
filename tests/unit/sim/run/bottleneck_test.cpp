// SPDX-License-Identifier: Apache-2.0
//
// Is what an explanation says true? The resource that it names is made twice as fast in the
// architecture, the kernel held as it was, and the launch is timed anew.
#include "sim/run/bottleneck.h"

#include "sim/config/architecture.h"
#include "sim/run/faster_design.h"
#include "sim/run/gemm_launcher.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace sptc::sim {
namespace {

const std::vector<GemmShape> kShapes{{64, 64, 64},       {4096, 16, 4096},  {4096, 4096, 4096},
                                     {512, 512, 16384},  {1024, 512, 4096}, {3072, 1500, 768},
                                     {8192, 2048, 8192}, {512, 6272, 512}};

/// `kernel` of a result, to be asked for again.
KernelOverrides same(const KernelResult& kernel) {
  return {kernel.cta_tile, kernel.stages, kernel.split_k};
}

VariantResult timed(const GpuSpec& gpu, const GemmShape& shape, bool sparse,
                    const KernelOverrides& kernel = {}) {
  RunOptions options;
  options.fidelity = Fidelity::kAnalytic;
  options.kernel = kernel;
  Operation op;
  op.shape = shape;
  return GemmTimer(gpu, options)(op, sparse);
}

/// `gpu` with the rates that a closed form knows multiplied.
GpuSpec faster_in_form(GpuSpec gpu, const Speeds& speeds) {
  // The share of the multiply rate that main loops reach stands for the rate: it need be no whole
  // number of dot units.
  for (TileCandidate& tile : gpu.kernels.tiles) {
    tile.main_loop_percent *= speeds[Resource::kTensor];
  }
  gpu.kernels.sparse_main_loop_percent *= speeds[Resource::kTensor];
  gpu.sm.shared_memory_bank_bytes_per_cycle = static_cast<int>(std::ceil(
      gpu.sm.shared_memory_bank_bytes_per_cycle * speeds[Resource::kSharedMemory] * (1 - 1e-9)));
  gpu.memory.l2_bytes_per_cycle *= speeds[Resource::kL2];
  gpu.memory.sm_port_bytes_per_cycle *= speeds[Resource::kSmPort];
  gpu.memory.dram_gb_per_s *= speeds[Resource::kDram];
  gpu.kernels.launch_us /= speeds[Resource::kLaunch];
  gpu.kernels.reduction_launch_us /= speeds[Resource::kLaunch];
  return gpu;
}

/// What the ports of the SMs need for the first tiles and for D is waiting: time [us] of `changed`
/// with the waits of `base`.
double time_with_waits_us(const VariantResult& changed, const VariantResult& base) {
  const double ratio = changed.clock_mhz / changed.clock_scaling.boost_clock_mhz;
  KernelEstimate form = changed.clock_scaling.form;
  form.fill_us = base.clock_scaling.form.fill_us;
  form.next_fills_us = base.clock_scaling.form.next_fills_us;
  return changed.time_us + form.time_us(ratio) - changed.clock_scaling.form.time_us(ratio);
}

template <typename Check>
void for_each_launch(const Check& check) {
  for (const char* const name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "a40"}) {
    const GpuSpec gpu = load_architecture(name).gpu;
    for (const GemmShape& shape : kShapes) {
      for (const bool sparse : {false, true}) {
        SCOPED_TRACE(std::string(name) + ", " + std::to_string(shape.m) + " x " +
                     std::to_string(shape.n) + " x " + std::to_string(shape.k) +
                     (sparse ? ", 2:4" : ", dense"));
        check(gpu, shape, sparse);
      }
    }
  }
}

TEST(Bottleneck, AReductionThatDramBoundsIsWorkOfDram) {
  // Partial sums of 134 MB, of which 6 MB of L2 keep little.
  const GpuSpec gpu = load_architecture("a40").gpu;
  const KernelOverrides kernel{GemmShape{128, 128, 32}, {}, 8};
  const VariantResult base = timed(gpu, {2048, 2048, 512}, false, kernel);
  const Bottleneck bottleneck(base);
  EXPECT_EQ(bottleneck.bound(), Resource::kDram);
  for (const Resource resource : {Resource::kL2, Resource::kDram}) {
    Speeds speeds;
    speeds[resource] = 2;
    const VariantResult faster =
        timed(faster_in_form(gpu, speeds), {2048, 2048, 512}, false, kernel);
    EXPECT_NEAR(bottleneck.saved_by_doubling({resource}), 1 - faster.time_us / base.time_us, 0.02);
  }
}

TEST(Bottleneck, SavesWhatAFasterDesignSaves) {
  for_each_launch([](const GpuSpec& gpu, const GemmShape& shape, bool sparse) {
    const VariantResult base = timed(gpu, shape, sparse);
    const Bottleneck bottleneck(base);
    const double named = bottleneck.saved_by_doubling({bottleneck.bound()});
    for (const Resource resource : kResources) {
      if (resource == Resource::kWaits) {
        continue;  // no one number of an architecture
      }
      Speeds twice;
      twice[resource] = 2;
      const VariantResult changed =
          timed(faster_in_form(gpu, twice), shape, sparse, same(base.kernel));
      const double saved = 1 - time_with_waits_us(changed, base) / base.time_us;
      EXPECT_NEAR(bottleneck.saved_by_doubling({resource}), saved, 2e-3) << report_name(resource);
      EXPECT_LE(saved, named + 2e-3) << report_name(resource);
    }
  });
}

TEST(Bottleneck, IsWhatWorksMostWhereNothingAloneSavesAnything) {
  VariantResult launch = timed(load_architecture("a100-sxm4-80gb").gpu, {4096, 4096, 4096}, false);
  launch.saved.emplace();
  (*launch.saved)[Resource::kLaunch] = 0.002;
  EXPECT_EQ(Bottleneck(launch).bound(), Resource::kTensor);
  (*launch.saved)[Resource::kLaunch] = 0.02;
  EXPECT_EQ(Bottleneck(launch).bound(), Resource::kLaunch);
}

TEST(Bottleneck, IsWaitingWhereNoRateWorksForMostOfTheTime) {
  // A latency that the closed form does not know, and of which nothing was simulated to save.
  VariantResult launch = timed(load_architecture("a100-sxm4-80gb").gpu, {4096, 4096, 4096}, false);
  launch.budget.cycles *= 10;
  launch.time_us *= 10;
  EXPECT_EQ(Bottleneck(launch).bound(), Resource::kWaits);
  launch.saved.emplace();
  EXPECT_EQ(Bottleneck(launch).bound(), Resource::kWaits);
  (*launch.saved)[Resource::kTensor] = 0.05;
  EXPECT_EQ(Bottleneck(launch).bound(), Resource::kTensor);
}

TEST(Bottleneck, ThePortsOfTheSmsAreAResourceOfTheirOwn) {
  const GpuSpec b200 = load_architecture("b200").gpu;
  const VariantResult dense = timed(b200, {8192, 8192, 8192}, false);
  const VariantResult sparse = timed(b200, {8192, 8192, 8192}, true);
  const auto speeds = Bottleneck(sparse).speeds_for(dense.time_us / 2);
  ASSERT_TRUE(speeds);
  // At work in more than half of the dense time, the ports must be faster for 2x.
  ASSERT_GT(sparse.budget.sm_port / sparse.clock_mhz, dense.time_us / 2);
  EXPECT_GT((*speeds)[Resource::kSmPort], 1.05);
  GpuSpec narrow = b200;
  narrow.memory.sm_port_bytes_per_cycle /= 4;
  EXPECT_EQ(Bottleneck(timed(narrow, {8192, 8192, 8192}, false)).bound(), Resource::kSmPort);
}

TEST(FasterDesign, HasWholeDotUnitsAndBanks) {
  const GpuSpec gpu = load_architecture("a100-sxm4-80gb").gpu;
  Speeds speeds;
  speeds[Resource::kTensor] = 1.3;
  speeds[Resource::kSharedMemory] = 1.46;
  speeds[Resource::kSmPort] = 1.5;
  const Speeds whole = in_whole_units(gpu, speeds);
  EXPECT_DOUBLE_EQ(whole[Resource::kTensor], 42.0 / 32);
  EXPECT_DOUBLE_EQ(whole[Resource::kSharedMemory], 47.0 / 32);
  EXPECT_DOUBLE_EQ(whole[Resource::kSmPort], 1.5);
  const GpuSpec design = faster(gpu, whole);
  EXPECT_EQ(design.sm.tensor_core.dot_units, 42);
  EXPECT_EQ(design.sm.tensor_core.f32_dot_units, 42);
  EXPECT_EQ(design.sm.shared_memory_bytes_per_cycle().count(), 47 * 4);
  EXPECT_DOUBLE_EQ(design.memory.sm_port_bytes_per_cycle, 1.5 * gpu.memory.sm_port_bytes_per_cycle);
  EXPECT_EQ(design.memory.l2_bytes_per_cycle, gpu.memory.l2_bytes_per_cycle);
  const GpuSpec all = faster(gpu, twice(Resource::kRates));
  EXPECT_EQ(all.sm.shared_memory_bytes_per_cycle().count(), 256);
  EXPECT_EQ(all.memory.sm_port_bytes_per_cycle, 2 * gpu.memory.sm_port_bytes_per_cycle);
  EXPECT_EQ(faster(gpu, twice(Resource::kSmPort)).memory.l2_bytes_per_cycle,
            gpu.memory.l2_bytes_per_cycle);
  const GpuSpec banks = faster(gpu, twice(Resource::kRegisterBanks));
  EXPECT_EQ(banks.sm.tensor_core.register_bank_bytes_per_cycle, 512);
  EXPECT_EQ(banks.sm.tensor_core.dot_units, gpu.sm.tensor_core.dot_units);
  const GpuSpec near = faster(gpu, twice(Resource::kWaits));
  EXPECT_EQ(near.sm.barrier_latency_cycles, 2);
  EXPECT_EQ(near.memory.dram_gb_per_s, gpu.memory.dram_gb_per_s);
}

TEST(Bottleneck, HalfTheDenseTimeIsReachedWithTheSpeedsThatItNames) {
  int reached = 0;
  for_each_launch([&](const GpuSpec& gpu, const GemmShape& shape, bool sparse) {
    if (!sparse) {
      return;
    }
    const double half_us = timed(gpu, shape, false).time_us / 2;
    const VariantResult base = timed(gpu, shape, true);
    const Bottleneck bottleneck(base);
    const auto speeds = bottleneck.speeds_for(half_us);
    if (!speeds) {
      EXPECT_GT(bottleneck.waits_us(), half_us);
      return;
    }
    ++reached;
    const VariantResult changed =
        timed(faster_in_form(gpu, *speeds), shape, true, same(base.kernel));
    const double us = time_with_waits_us(changed, base);
    EXPECT_LT(us, half_us * 1.005);
    if ((*speeds)[Resource::kSharedMemory] == 1 && base.time_us > half_us) {
      EXPECT_GT(us, half_us * 0.995);
    }
  });
  EXPECT_GT(reached, 10);
}

}  // namespace
}  // namespace sptc::sim
