// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/cycle_budget.h"

#include "sim/config/architecture.h"
#include "sim/kernels/grid_reuse.h"
#include "sim/kernels/kernel_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::gpu {
namespace {

/// 128 CTAs of 128 x 128: two on the busiest of 108 SMs.
constexpr kernels::GemmProblem kProblem{{2048, 1024, 4096}, 1, numerics::DataType::kF16, false};
constexpr double kMacsOfCta = 128.0 * 128 * 4096;

class CycleBudgetOf : public testing::Test {
 protected:
  CycleBudget budget(const kernels::GemmKernel& launched, const kernels::MemoryTraffic& traffic,
                     double clock_mhz = 1410) const {
    return cycle_budget(launched, traffic, 100000, clock_mhz, gpu);
  }
  kernels::GemmKernel kernel_with(const kernels::KernelOverrides& overrides,
                                  const kernels::GemmProblem& problem = kProblem) const {
    return kernels::choose_kernel(problem, overrides, gpu.kernel_target(), false);
  }

  GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  kernels::GemmKernel kernel = kernel_with({base::GemmShape{128, 128, 32}, 3, 1});
};

TEST_F(CycleBudgetOf, TensorCoresIsTheProductsOfTheBusiestSmAndOfTheMeanOne) {
  const CycleBudget cycles = budget(kernel, {});
  EXPECT_DOUBLE_EQ(cycles.tensor, 2 * kMacsOfCta / 1024);
  EXPECT_DOUBLE_EQ(cycles.tensor_mean, 128.0 / 108 * kMacsOfCta / 1024);
  EXPECT_EQ(cycles.operand_fetch, 0);
  EXPECT_EQ(cycles.cycles, 100000);
}

TEST_F(CycleBudgetOf, OperandFetchIsWhatItsPortsAddToTheProducts) {
  gpu.sm.tensor_core.selector_bytes_per_cycle = 256;  // half of what the multipliers take
  const CycleBudget cycles = budget(kernel_with({base::GemmShape{128, 128, 32}, 3, 1}), {});
  EXPECT_DOUBLE_EQ(cycles.tensor, 2 * kMacsOfCta / 1024);
  EXPECT_DOUBLE_EQ(cycles.operand_fetch, cycles.tensor);
}

TEST_F(CycleBudgetOf, EachResourceOfMemoryIsItsBytesAtItsRate) {
  struct Row {
    kernels::MemoryTraffic traffic;
    double CycleBudget::*resource;
    double cycles;
  };
  gpu.memory.l2_bytes_per_cycle = 1000;
  const double dram_rate = gpu.memory.dram_bytes_per_cycle(1410);
  const std::vector<Row> rows{// Two of 128 CTAs pass the port of the busiest SM, 64 bytes a cycle in each direction.
                              {{{.l2_read = 128000, .l2_written = 64000}}, &CycleBudget::sm_port, 2000.0 / 64},
                              {{{.l2_read = 128000, .l2_written = 256000}}, &CycleBudget::sm_port, 4000.0 / 64},
                              // A byte that is written is twice the work, in each of two partitions.
                              {{{.l2_read = 128000, .l2_written = 64000}}, &CycleBudget::l2, 128 + 4 * 64},
                              // All of D: what the L2 keeps of it stands for what it has kept of the launch before.
                              {{{.dram_written = 1000000}}, &CycleBudget::dram, 1e6 / dram_rate},
                              {{{.dram_read = 2000000, .dram_written = 1000000}}, &CycleBudget::dram, 3e6 / dram_rate},
                              {{{}, 128 * 3000, 128 * 1000}, &CycleBudget::shared_memory, 2 * 4000.0 / 128}};
  for (const Row& row : rows) {
    EXPECT_DOUBLE_EQ(budget(kernel, row.traffic).*row.resource, row.cycles);
  }
  // The rate of DRAM does not follow the clock.
  EXPECT_DOUBLE_EQ(budget(kernel, rows[3].traffic, 705).dram, 0.5e6 / dram_rate);
}

TEST_F(CycleBudgetOf, SharedMemoryCountsTilesTwiceThatPassTheL1OnTheirWayToRegisters) {
  kernels::MemoryTraffic traffic;
  traffic.l2_and_dram.l2_read = traffic.shared_memory_written = 128 * 1000;
  EXPECT_DOUBLE_EQ(budget(kernel, traffic).shared_memory, 2 * 1000.0 / 128);
  gpu.sm.async_copy_bytes = 0;
  const kernels::GemmKernel staged = kernel_with({base::GemmShape{128, 128, 32}, 2, 1});
  EXPECT_DOUBLE_EQ(budget(staged, traffic).shared_memory, 2 * 2000.0 / 128);
  traffic.l2_and_dram.l2_read /= 2;  // the L1 has the rest
  EXPECT_DOUBLE_EQ(budget(staged, traffic).shared_memory, 2 * 2000.0 / 128);
}

TEST_F(CycleBudgetOf, ASliceOfKIsTheDeepestWhereEachSmHasOne) {
  // 128 k-tiles of 32 in slices of 43, 43 and 42.
  const kernels::GemmProblem small{{128, 128, 4096}, 1, numerics::DataType::kF16, false};
  const CycleBudget cycles = budget(kernel_with({base::GemmShape{128, 128, 32}, 3, 3}, small), {});
  EXPECT_DOUBLE_EQ(cycles.tensor, 128.0 * 128 * 43 * 32 / 1024);
  EXPECT_DOUBLE_EQ(cycles.tensor_mean, kMacsOfCta / 108 / 1024);
  // Four of 384 CTAs run on the busiest SM, and not all of them are deep.
  EXPECT_DOUBLE_EQ(budget(kernel_with({base::GemmShape{128, 128, 32}, 3, 3}), {}).tensor, 4 * kMacsOfCta / 3 / 1024);
}

TEST_F(CycleBudgetOf, OfThePartialSumsALaunchWaitsForOneSlice) {
  kernels::MemoryTraffic traffic;
  traffic.l2_and_dram.dram_written = 4000;
  traffic.l2_and_dram.dram_read = 500;
  const kernels::GemmKernel sliced = kernel_with({base::GemmShape{128, 128, 32}, 3, 4});
  ASSERT_EQ(sliced.split_k, 4);
  const memory::MemoryBytes waited = waited_for(sliced, traffic, gpu.sms).l2_and_dram;
  EXPECT_EQ(waited.dram_written, 1000);
  EXPECT_EQ(waited.dram_read, 500);
}

TEST_F(CycleBudgetOf, StreamKGivesEverySmAsMuch) {
  const kernels::GemmKernel even =
      kernel_with({base::GemmShape{128, 128, 32}, {}, {}, kernels::Decomposition::kStreamK});
  const CycleBudget cycles = budget(even, {});
  EXPECT_DOUBLE_EQ(cycles.tensor, 128.0 / 108 * kMacsOfCta / 1024);
  EXPECT_DOUBLE_EQ(cycles.tensor, cycles.tensor_mean);
}

class CycleBudgetOfWarpgroups : public CycleBudgetOf {
 protected:
  CycleBudgetOfWarpgroups() { gpu = config::load_architecture("h100-sxm5-80gb").gpu; }
};

TEST_F(CycleBudgetOfWarpgroups, SharedMemoryCountsOperandsThatNoWarpLoads) {
  const kernels::GemmKernel wgmma =
      kernel_with({base::GemmShape{128, 256, 64}, {}, {}}, {{4096, 4096, 4096}, 1, numerics::DataType::kF16, false});
  const kernels::MemoryTraffic traffic =
      kernels::closed_form_traffic(wgmma, kernels::dram_bytes(wgmma, gpu.memory, gpu.sms), gpu.sms);
  EXPECT_EQ(traffic.shared_memory_read, 0);
  ASSERT_TRUE(wgmma.problem.transposed);
  // The busiest of 132 SMs runs 4 of 512 CTAs. For 16 of 4096 k four instructions read 64 columns
  // of B and 128 rows of A each; 128 rows and 256 columns are written once, by TMA.
  const double read = 4096.0 / 16 * 4 * (64 + 128) * 16 * 2;
  const double written = 4096.0 * (128 + 256) * 2;
  gpu.sm.bulk_fill_bytes_per_cycle = 64;
  EXPECT_DOUBLE_EQ(budget(wgmma, traffic).shared_memory, 4 * (read / 128 + written / 64));
  gpu.sm.bulk_fill_bytes_per_cycle = 0;  // which holds nobody up where no rate is known
  EXPECT_DOUBLE_EQ(budget(wgmma, traffic).shared_memory, 4 * read / 128);
  EXPECT_EQ(static_cast<double>(traffic.shared_memory()), 512 * (read + written));
}

TEST_F(CycleBudgetOfWarpgroups, WhatTheL2ReadsOnceForAClusterPassesThePortOfEachOfItsSms) {
  const kernels::GemmProblem problem{{4096, 4096, 4096}, 1, numerics::DataType::kF16, false};
  gpu.kernels.tiles = {{128, 256, 16, 256, mma::MmaFamily::kWgmma}};
  gpu.launch.cluster_ctas = 2;
  const kernels::GemmKernel cluster = kernel_with({base::GemmShape{128, 256, 64}, {}, {}}, problem);
  ASSERT_TRUE(cluster.multicast());
  kernels::MemoryTraffic traffic;
  traffic.l2_and_dram.l2_read = 512 * 1000;
  traffic.shared_memory_written = 512 * 1600;
  const double port = gpu.memory.sm_port_bytes_per_cycle;
  EXPECT_DOUBLE_EQ(budget(cluster, traffic).sm_port, 4 * 1600 / port);
  gpu.launch.cluster_ctas = 1;
  EXPECT_DOUBLE_EQ(budget(kernel_with({base::GemmShape{128, 256, 64}, {}, {}}, problem), traffic).sm_port,
                   4 * 1000 / port);
}

}  // namespace
}  // namespace sptc::gpu
