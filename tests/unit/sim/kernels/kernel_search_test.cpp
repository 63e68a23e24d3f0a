// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_search.h"

#include "sim/kernels/kernel_choice.h"
#include "sim/kernels/kernel_result.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/kernels/a100_kernels.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::kernels {
namespace {

constexpr int kMany = 8;

std::vector<GemmKernel> searched(const GemmProblem& what, const gpu::GpuSpec& gpu,
                                 const KernelOverrides& overrides = {}, bool values = false) {
  std::vector<GemmKernel> kernels = search_kernels(what, overrides, gpu.kernel_target(), values, kMany);
  EXPECT_FALSE(kernels.empty());
  return kernels;
}

TEST(SearchKernels, FindsOneThatIsAsFastAsTheLibrarysOrFaster) {
  for (const char* const name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "b200", "v100-sxm2-16gb"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    const KernelTarget target = gpu.kernel_target();
    for (const base::GemmShape& shape : {base::GemmShape{4096, 4096, 4096}, base::GemmShape{1024, 16, 8192},
                                         base::GemmShape{200, 3000, 64}, base::GemmShape{1, 1, 1}}) {
      GemmProblem what = problem(shape.m, shape.n, shape.k);
      what.conditions.algorithm = Algorithm::kBest;
      const double library_us = closed_form_us(choose_kernel(what, {}, target, false), target);
      EXPECT_LE(closed_form_us(searched(what, gpu).front(), target), library_us) << name;
    }
  }
}

TEST(SearchKernels, PutsTheFastestFirst) {
  const std::vector<GemmKernel> kernels = searched(problem(4096, 512, 4096), a100());
  ASSERT_EQ(kernels.size(), kMany);
  const KernelTarget target = a100().kernel_target();
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    EXPECT_LE(closed_form_us(kernels[i - 1], target), closed_form_us(kernels[i], target));
  }
}

TEST(SearchKernels, KeepsToWhatIsAskedFor) {
  KernelOverrides overrides;
  overrides.stages = 3;
  overrides.split_k = 2;
  for (const GemmKernel& kernel : searched(problem(512, 512, 4096), a100(), overrides)) {
    EXPECT_EQ(kernel.stages, 3);
    EXPECT_EQ(kernel.split_k, 2);
  }
}

TEST(SearchKernels, ValuesTravelThroughMmaSyncThatDoesNotCutK) {
  const gpu::GpuSpec h100 = config::load_architecture("h100-sxm5-80gb").gpu;
  for (const GemmKernel& kernel : searched(problem(64, 64, 8192), h100, {}, true)) {
    EXPECT_FALSE(kernel.executed.is_asynchronous());
    EXPECT_EQ(kernel.split_k, 1);
  }
}

// What-ifs ask for the kernel that ran by what its result tells of it.
TEST(SearchKernels, AFoundKernelIsKnownByItsName) {
  for (const char* const name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "b200"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    const GemmProblem what = problem(2048, 1536, 4096, true);
    for (const GemmKernel& kernel : searched(what, gpu)) {
      const KernelResult told = kernel.result(gpu.sms);
      const GemmKernel again = found_kernel(what,
                                            {told.cta_tile, told.stages, told.split_k, Decomposition::kDataParallel,
                                             false, told.cta_group, told.instruction.family, true, told.warp_tile,
                                             told.swizzle, told.cluster_ctas, static_cast<int>(told.ctas_per_sm)},
                                            gpu.kernel_target());
      EXPECT_EQ(closed_form_us(again, gpu.kernel_target()), closed_form_us(kernel, gpu.kernel_target()))
          << name << " " << told.cta_tile.m << "x" << told.cta_tile.n;
      EXPECT_TRUE(again.searched);
    }
  }
}

TEST(SearchKernels, SaysWhyNoneFits) {
  gpu::GpuSpec gpu = a100();
  gpu.sm.max_shared_memory_per_cta = base::Bytes(16);
  support::expect_input_error([&] { searched(problem(64, 64, 64), gpu); }, {"shared memory"});
}

}  // namespace
}  // namespace sptc::kernels
