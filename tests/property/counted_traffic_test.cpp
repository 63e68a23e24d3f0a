// SPDX-License-Identifier: Apache-2.0
// What DRAM is counted to deliver where all SMs are simulated and the L2 holds everything: each
// operand once, also where the rows of a k-tile are no multiple of a sector of 32 bytes. Counted
// are the bytes that are asked for, not the rest of their sectors.
#include "sim/config/architecture.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/kernels/kernel_choice.h"
#include "tests/support/compulsory_bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace sptc::property {
namespace {

void expect_all_is_read_once(const std::string& name, kernels::Decomposition decomposition) {
  const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
  gpu::GemmSimulator simulator(gpu, {false});
  using enum numerics::DataType;
  for (const kernels::GemmProblem& problem :
       {kernels::GemmProblem{{249, 98, 9}, 1, kF16, false}, kernels::GemmProblem{{9, 8, 8}, 5, kF16, true},
        kernels::GemmProblem{{629, 164, 43}, 1, kF16, false}, kernels::GemmProblem{{629, 164, 44}, 2, kF16, true},
        kernels::GemmProblem{{129, 333, 101}, 1, kS8, false}, kernels::GemmProblem{{65, 77, 1003}, 3, kTf32, false},
        kernels::GemmProblem{{331, 55, 1004}, 1, kTf32, true}}) {
    kernels::KernelOverrides overrides;
    overrides.decomposition = decomposition;
    const gpu::GemmRun run = simulator.run(problem, overrides, nullptr);
    const kernels::GemmKernel kernel = kernels::choose_kernel(problem, overrides, gpu.kernel_target(), false);
    EXPECT_EQ(run.traffic.l2_and_dram.dram_read, support::compulsory_bytes(kernel))
        << name << " " << problem.shape.m << "x" << problem.shape.n << "x" << problem.shape.k;
    EXPECT_LE(run.traffic.l2_and_dram.dram_read, run.traffic.l2_and_dram.l2_read);
  }
}

TEST(CountedTraffic, OfAnA100IsTheOperandsOnce) {
  expect_all_is_read_once("a100-sxm4-80gb", kernels::Decomposition::kDataParallel);
}

TEST(CountedTraffic, OfAnA40WithStreamKIsTheOperandsOnce) {
  expect_all_is_read_once("a40", kernels::Decomposition::kStreamK);
}

TEST(CountedTraffic, OfAnH100IsTheOperandsOnce) {
  expect_all_is_read_once("h100-sxm5-80gb", kernels::Decomposition::kDataParallel);
}

TEST(CountedTraffic, OfAB200IsTheOperandsOnce) {
  expect_all_is_read_once("b200", kernels::Decomposition::kDataParallel);
}

}  // namespace
}  // namespace sptc::property
