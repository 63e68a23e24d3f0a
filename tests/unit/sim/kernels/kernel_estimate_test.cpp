// SPDX-License-Identifier: Apache-2.0
// The closed form on kernels whose bytes and products can be counted by hand.
#include "sim/kernels/kernel_estimate.h"

#include "sim/kernels/form_constants.h"
#include "sim/kernels/launch_spec.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sptc::kernels {
namespace {

/// In tiles of 128 x 128, with 32 stored elements of a row of A.
GemmKernel with_tile(const GemmProblem& problem, int stages = 3) {
  const base::GemmShape tile{128, 128, problem.sparse ? 64 : 32};
  return choose_kernel(problem, {tile, stages, 1}, a100().kernel_target(), false);
}

/// 16 CTAs of 128 x 128, one for each of 16 SMs.
GemmKernel one_wave(int stages = 3) {
  return with_tile(problem(512, 512, 4096), stages);
}

/// 1024 CTAs.
GemmKernel many_waves(bool sparse = false) {
  return with_tile(problem(4096, 4096, 4096, sparse));
}

double dram_bytes_per_us(const gpu::GpuSpec& gpu) {
  return gpu.memory.dram_bytes_per_cycle(gpu.boost_clock_mhz) * gpu.boost_clock_mhz;
}

/// Of a design with a changed rate, where `kernel` stays.
KernelEstimate on(const gpu::GpuSpec& gpu, const GemmKernel& kernel) {
  return estimate(kernel, gpu.kernel_target());
}

/// Time in SMs, with a DRAM that takes none: what is left without fill and launch.
double beside_dram_us(gpu::GpuSpec gpu, const GemmKernel& kernel) {
  gpu.memory.dram_gb_per_s *= 1e6;
  const KernelEstimate form = on(gpu, kernel);
  return form.time_us(1) - form.fill_us - std::max(form.store_us, form.last_l2_us) - form.outside_us();
}

/// A rate, and the term that it is the rate of.
struct Rate {
  const char* name;
  void (*multiply)(gpu::GpuSpec& gpu, int factor);
  std::vector<double KernelEstimate::*> terms;
};

const std::vector<Rate> kRates{
    {"tensor cores",
     [](gpu::GpuSpec& gpu, int factor) {
       gpu.sm.tensor_core.dot_units *= factor;
       gpu.sm.tensor_core.f32_dot_units *= factor;
     },
     {&KernelEstimate::tensor_us}},
    {"shared memory",
     [](gpu::GpuSpec& gpu, int factor) { gpu.sm.shared_memory_banks *= factor; },
     {&KernelEstimate::shared_memory_us}},
    {"ports of the SMs",
     [](gpu::GpuSpec& gpu, int factor) { gpu.memory.sm_port_bytes_per_cycle *= factor; },
     {&KernelEstimate::sm_port_us, &KernelEstimate::store_us}},
    {"L2",
     [](gpu::GpuSpec& gpu, int factor) { gpu.memory.l2_bytes_per_cycle *= factor; },
     {&KernelEstimate::l2_us, &KernelEstimate::last_l2_us, &KernelEstimate::reduction_l2_us}},
    {"DRAM",
     [](gpu::GpuSpec& gpu, int factor) { gpu.memory.dram_gb_per_s *= factor; },
     {&KernelEstimate::dram_us, &KernelEstimate::last_dram_us, &KernelEstimate::reduction_dram_us}},
};

const std::vector<double KernelEstimate::*> kTerms{
    &KernelEstimate::tensor_us,       &KernelEstimate::shared_memory_us,
    &KernelEstimate::sm_port_us,      &KernelEstimate::store_us,
    &KernelEstimate::l2_us,           &KernelEstimate::last_l2_us,
    &KernelEstimate::dram_us,         &KernelEstimate::last_dram_us,
    &KernelEstimate::reduction_l2_us, &KernelEstimate::reduction_dram_us};

TEST(KernelEstimate, EachRateDividesItsOwnTermAndNoOther) {
  std::vector<GemmKernel> kernels{many_waves(false), many_waves(true), many_waves(false)};
  kernels.back().cut_k(5);
  for (const GemmKernel& kernel : kernels) {
    const KernelEstimate base = on(a100(), kernel);
    EXPECT_EQ(base.reduction_dram_us > 0, kernel.split_k > 1);
    for (const Rate& rate : kRates) {
      gpu::GpuSpec faster = a100();
      rate.multiply(faster, 4);
      const KernelEstimate changed = on(faster, kernel);
      for (const auto term : kTerms) {
        const bool is_own = std::find(rate.terms.begin(), rate.terms.end(), term) != rate.terms.end();
        EXPECT_DOUBLE_EQ(changed.*term, base.*term / (is_own ? 4 : 1)) << rate.name;
      }
    }
  }
}

TEST(KernelEstimate, WithOneStageALoneCtaCopiesAndMultipliesOneBehindTheOther) {
  const KernelEstimate one = on(a100(), one_wave(1)), two = on(a100(), one_wave(2));
  EXPECT_EQ(one.tensor_us, two.tensor_us);
  EXPECT_EQ(one.serial.data_path, 1);
  EXPECT_EQ(one.serial.sm_port, 1);
  const double one_behind_the_other = std::max(one.tensor_us, one.shared_memory_us) + one.sm_port_us + one.latency_us;
  EXPECT_GE(beside_dram_us(a100(), one_wave(1)), one_behind_the_other);
  EXPECT_LT(two.time_us(1), one.time_us(1));
  // CTAs of an SM fill each other's time.
  const KernelEstimate several = on(a100(), with_tile(problem(4096, 4096, 4096), 1));
  EXPECT_EQ(several.serial.data_path, 0.5);
  EXPECT_GT(several.time_us(1), on(a100(), with_tile(problem(4096, 4096, 4096), 2)).time_us(1));
}

TEST(KernelEstimate, TheBusiestSmTakesTheBytesOfAllItsCtasThroughItsPort) {
  const KernelEstimate one = on(a100(), with_tile(problem(108 * 128, 128, 4096)));
  EXPECT_DOUBLE_EQ(on(a100(), with_tile(problem(512, 512, 4096))).sm_port_us, one.sm_port_us);
  EXPECT_DOUBLE_EQ(on(a100(), with_tile(problem(109 * 128, 128, 4096))).sm_port_us, 2 * one.sm_port_us);
}

// What is left where one resource is a thousand times slower: bytes / rate, worked out by hand.
TEST(KernelEstimate, OfASlowDramIsTheBytesOfOperandsAndDLessWhatItTakesBetweenLaunches) {
  gpu::GpuSpec slow = a100();
  slow.memory.dram_gb_per_s /= 1000;
  const double bytes = 2.0 * (512 * 4096 + 512 * 4096 + 512 * 512);
  const KernelEstimate form = on(slow, one_wave());
  const double expected = bytes / dram_bytes_per_us(slow) - form.gap_us + form.outside_us();
  EXPECT_NEAR(form.time_us(1), expected, 1e-9 * expected);
}

TEST(KernelEstimate, OfASlowL2IsWhatAllTilesReadAndWrite) {
  gpu::GpuSpec slow = a100();
  slow.memory.l2_bytes_per_cycle /= 1000;
  slow.memory.l2_partitions = 1;
  // Each of 4 columns of tiles reads A, each of 4 rows B; D is twice the work.
  const double bytes = 2.0 * (4 * 512 * 4096 + 4 * 512 * 4096 + 2 * 512 * 512);
  const double expected = bytes / slow.memory.l2_bytes_per_cycle / slow.boost_clock_mhz;
  EXPECT_NEAR(beside_dram_us(slow, one_wave()) + on(slow, one_wave()).last_l2_us, expected, 1e-4 * expected);
}

TEST(KernelEstimate, OfSlowPortsIsWhatPassesThatOfOneSmOneWayOrTheOther) {
  gpu::GpuSpec slow = a100();
  slow.memory.sm_port_bytes_per_cycle /= 1000;
  const double bytes = 2.0 * (128 * 4096 + 128 * 4096);  // beside which D leaves
  EXPECT_NEAR(beside_dram_us(slow, one_wave()), bytes / slow.memory.sm_port_bytes_per_cycle / slow.boost_clock_mhz,
              1e-4 * beside_dram_us(slow, one_wave()));
}

TEST(KernelEstimate, OfSlowTensorCoresIsTheProductsOfTheBusiestSm) {
  gpu::GpuSpec slow = a100();
  slow.sm.tensor_core.dot_width_bytes = 2;
  slow.sm.tensor_core.dot_units = slow.sm.tensor_core.f32_dot_units = 1;
  // A product per cycle and tensor core; 1024 CTAs on 108 SMs: 10 on the busiest.
  const double products = 10.0 * 128 * 128 * 4096;
  const KernelEstimate form = on(slow, many_waves());
  EXPECT_NEAR(form.tensor_us, products / 4 / slow.boost_clock_mhz, 1e-6 * form.tensor_us);
  EXPECT_NEAR(form.time_us(1), form.tensor_us, 0.001 * form.tensor_us);
}

TEST(KernelEstimate, OfSharedMemoryIsTilesWrittenOnceAndFragmentsReadByEachWarp) {
  // Four warps of 64 x 64: 64 rows of A and 64 columns of B each.
  const double written = 2.0 * 4096 * (128 + 128);
  const double read = 2.0 * 4096 * 4 * (64 + 64);
  EXPECT_DOUBLE_EQ(on(a100(), one_wave()).shared_memory_us, (written + read) / 128 / a100().boost_clock_mhz);
}

TEST(KernelEstimate, OfSharedMemoryIsEachElementOfAFragmentForBothLanesThatHoldIt) {
  const gpu::GpuSpec v100 = config::load_architecture("v100-sxm2-16gb").gpu;
  const GemmKernel kernel =
      choose_kernel(problem(512, 512, 4096), {base::GemmShape{128, 128, 32}, 2, 1}, v100.kernel_target(), false);
  // m8n8k4, four warps of 64 x 64; tiles pass the L1 on their way to registers.
  ASSERT_EQ(kernel.warps(), 4);
  const double written = 2 * 2.0 * 4096 * (128 + 128);
  const double read = 2 * 2.0 * 4096 * 4 * (64 + 64);
  EXPECT_DOUBLE_EQ(on(v100, kernel).shared_memory_us, (written + read) / 128 / v100.boost_clock_mhz);
}

TEST(KernelEstimate, DramDeliversNineSixteenthsOfADenseAWhereItIsSparse) {
  // One column of tiles, so that nothing is read twice.
  const KernelEstimate dense = on(a100(), with_tile(problem(8192, 16, 8192)));
  const KernelEstimate sparse = on(a100(), with_tile(problem(8192, 16, 8192, true)));
  const double a = 2.0 * 8192 * 8192, b = 2.0 * 16 * 8192, d = 2.0 * 8192 * 16;
  EXPECT_DOUBLE_EQ(dense.dram_us * dram_bytes_per_us(a100()), a + b + d);
  EXPECT_DOUBLE_EQ(sparse.dram_us * dram_bytes_per_us(a100()), a * 9 / 16 + b + d);
}

TEST(KernelEstimate, AtHalfTheClockSmsTakeTwiceAsLongAndDramAndLaunchAsLongAsBefore) {
  gpu::GpuSpec fast = a100();  // whose DRAM has no part in the time
  fast.memory.dram_gb_per_s *= 1e6;
  const KernelEstimate form = on(fast, many_waves());
  EXPECT_NEAR(form.time_us(0.5) - form.outside_us(), 2 * (form.time_us(1) - form.outside_us()), 1e-3);
  gpu::GpuSpec slow = a100();
  slow.memory.dram_gb_per_s /= 1000;
  const KernelEstimate in_dram = on(slow, many_waves());
  EXPECT_DOUBLE_EQ(in_dram.time_us(0.5), in_dram.time_us(1));
}

TEST(KernelEstimate, ALoneCtaOfTwoStagesWaitsForEachKTileAndThenMultipliesHalfOfIt) {
  // Two k-steps: what is waited for before the last one was asked for before the first.
  const KernelEstimate two = on(a100(), one_wave(2));
  EXPECT_EQ(two.serial.data_path, 0.5);
  const double one_by_one = two.latency_us + two.sm_port_us + two.tensor_us / 2;
  EXPECT_GE(beside_dram_us(a100(), one_wave(2)), one_by_one);
  EXPECT_LT(beside_dram_us(a100(), one_wave(2)), 1.02 * one_by_one);
  const KernelEstimate ahead = on(a100(), one_wave(3));
  EXPECT_LT(beside_dram_us(a100(), one_wave(3)), ahead.tensor_us + ahead.latency_us);
  EXPECT_EQ(ahead.serial.data_path, 0);
}

TEST(KernelEstimate, LoneCtasOfTwoStagesWaitForDramTogetherWhereFewReadATile) {
  gpu::GpuSpec one_l2 = a100();
  one_l2.memory.l2_partitions = 1;
  one_l2.memory.dram_gb_per_s /= 4;  // slower than latencies
  // Two CTAs read each tile of A, 50 each tile of B.
  const GemmKernel kernel = with_tile(problem(6400, 256, 4096), 2);
  const KernelEstimate few = on(one_l2, kernel);
  EXPECT_NEAR(few.serial.dram_us * dram_bytes_per_us(one_l2), 2.0 * 6400 * 4096, 1);
  const double beside = few.alone_us(1) - few.fill_us - std::max(few.store_us, few.last_l2_us);
  EXPECT_GT(few.serial.dram_us, few.latency_us + few.sm_port_us);
  EXPECT_GE(beside, few.serial.dram_us + few.tensor_us / 2);
  EXPECT_EQ(on(one_l2, with_tile(problem(2560, 640, 4096), 2)).serial.dram_us, 0);
  EXPECT_EQ(on(one_l2, with_tile(problem(6400, 256, 4096), 3)).serial.dram_us, 0);
  // SMs of two partitions wait for different times.
  EXPECT_EQ(on(a100(), kernel).serial.dram_us, 0);
}

TEST(KernelEstimate, DramTakesAllOfDAndWhatTheL2CannotKeepOfTheLastRoundBehindIt) {
  // Half a megabyte, which the L2 may keep until DRAM has taken that of the next launch.
  const KernelEstimate small = on(a100(), one_wave());
  EXPECT_DOUBLE_EQ(small.dram_us * dram_bytes_per_us(a100()), 2.0 * (512 + 512) * 4096 + 2.0 * 512 * 512);
  EXPECT_EQ(small.last_dram_us, 0);
  const GemmKernel kernel = with_tile(problem(8192, 8192, 64));
  gpu::GpuSpec writes_through = a100();
  writes_through.memory.l2_capacity = base::Bytes(1 << 20);
  const KernelEstimate large = on(writes_through, kernel);
  const double last = 2.0 * 128 * 128 * 108 * kernel.ctas_per_sm;
  EXPECT_DOUBLE_EQ(large.last_dram_us * dram_bytes_per_us(a100()), last - writes_through.memory.dirty_bytes());
  const KernelEstimate kept = on(a100(), kernel);
  EXPECT_EQ(kept.last_dram_us, 0);
  EXPECT_DOUBLE_EQ(kept.dram_us * dram_bytes_per_us(a100()), 2.0 * (8192 + 8192) * 64 + 2.0 * 8192 * 8192);
}

TEST(LaunchOverhead, OfAGraphIsThatOfTheGpuAndOfAStreamThatOfTheLibraryAsWell) {
  LaunchSpec spec;
  spec.stream_us = 2;
  spec.sparse_stream_us = 5;
  for (const bool sparse : {false, true}) {
    const KernelEstimate form = on(a100(), many_waves(sparse));
    const auto overhead_us = [&](LaunchMode mode) {
      GemmKernel kernel = many_waves(sparse);
      kernel.problem.conditions.launch = mode;
      return launch_overhead_us(kernel, form, spec);
    };
    const double of_stream = sparse ? 5 : 2;
    EXPECT_EQ(overhead_us(LaunchMode::kGraph), form.launch_us);
    EXPECT_EQ(overhead_us(LaunchMode::kStream), form.launch_us + of_stream);
    EXPECT_EQ(overhead_us(LaunchMode::kEager), form.launch_us + 2 * of_stream);
  }
}

TEST(KernelEstimate, WhatBothPartitionsOfTheL2WantCrossesBetweenThem) {
  gpu::GpuSpec whole = a100();
  whole.memory.l2_partitions = 1;
  const KernelEstimate one = on(whole, one_wave());
  const KernelEstimate two = on(a100(), one_wave());
  // Four tiles beside each other want a row of A, or a column of B: all in one partition once in
  // sixteen times. What is written is work for both, most of it behind the main loops.
  const double crossing = 2.0 * (512 + 512) * 4096 * (1 - 1.0 / 16) +
                          (1 - kForm.stores_in_step) * memory::MemorySpec::kL2WorkOfWrite * 2.0 * 512 * 512;
  EXPECT_NEAR((two.l2_us - one.l2_us) * a100().memory.l2_bytes_per_cycle * a100().boost_clock_mhz, crossing,
              1e-6 * crossing);
}

TEST(KernelEstimate, TheL2TakesWhatTheLastRoundStoresBehindItsMainLoops) {
  // 1024 CTAs, two on each of 108 SMs at once: of their stores 216 CTAs' come last.
  const GemmKernel kernel = many_waves();
  ASSERT_EQ(kernel.ctas_per_sm, 2);
  const memory::MemorySpec memory = a100().memory;
  const double work =
      2.0 * 4096 * 4096 * memory::MemorySpec::kL2WorkOfWrite * memory.l2_partitions / memory.l2_bytes_per_cycle;
  EXPECT_DOUBLE_EQ(on(a100(), kernel).last_l2_us * a100().boost_clock_mhz, kForm.stores_in_step * work * 216 / 1024);
  // A faster L2 ends a single round sooner, though the tensor cores are what its main loops wait
  // for.
  gpu::GpuSpec faster = a100();
  faster.memory.l2_bytes_per_cycle *= 2;
  const GemmKernel single = with_tile(problem(1536, 1536, 256));
  const KernelEstimate form = on(a100(), single);
  ASSERT_GT(form.tensor_us, form.l2_us);
  EXPECT_LT(on(faster, single).time_us(1), 0.95 * form.time_us(1));
}

TEST(KernelEstimate, DOfLaunchAfterLaunchFillsTheL2WhereDramTakesLongerThanALaunch) {
  gpu::GpuSpec slow = a100();
  slow.memory.dram_gb_per_s /= 10;
  const GemmKernel kernel = with_tile(problem(1536, 1536, 64));
  EXPECT_FALSE(on(a100(), kernel).fills_l2_with_d());
  const KernelEstimate form = on(slow, kernel);
  EXPECT_TRUE(form.fills_l2_with_d());
  // DRAM goes on between two launches.
  ASSERT_GT(form.written_us, form.gap_us);
  EXPECT_DOUBLE_EQ(form.time_us(1), form.dram_us - form.gap_us + form.outside_us());
  EXPECT_DOUBLE_EQ(form.without_dram().time_us(1), on(a100(), kernel).without_dram().time_us(1));
}

}  // namespace
}  // namespace sptc::kernels
