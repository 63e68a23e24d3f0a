// SPDX-License-Identifier: Apache-2.0
// DRAM delivers each operand of a launch at least once, and no more than the SMs ask the L2 for:
// closed form, random shapes, with the library's kernels and with what a user may ask for instead.
#include "models/base/error.h"
#include "models/base/random.h"
#include "sim/config/architecture.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/grid_reuse.h"
#include "sim/kernels/kernel_choice.h"
#include "tests/support/compulsory_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::property {
namespace {

/// Element after element of a stream.
class Random {
 public:
  explicit Random(std::uint64_t seed) : stream_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return stream_.below(next_++, bound); }
  double uniform() { return static_cast<double>(below(1U << 24)) / (1U << 24); }

 private:
  base::RandomStream stream_;
  std::uint64_t next_ = 0;
};

/// One of `values`.
template <typename Value, std::size_t kCount>
Value any_of(Random& random, const std::array<Value, kCount>& values) {
  return values[random.below(kCount)];
}

/// Short and long extents alike.
std::int64_t extent(Random& random, double most) {
  return std::max<std::int64_t>(1, std::llround(std::exp(random.uniform() * std::log(most))));
}

kernels::GemmProblem random_problem(Random& random) {
  constexpr std::array kTypes{numerics::DataType::kF16, numerics::DataType::kS8, numerics::DataType::kTf32};
  kernels::GemmProblem problem;
  problem.dtype = any_of(random, kTypes);
  problem.sparse = random.below(2) == 1;
  const std::int64_t k = extent(random, 30000);
  problem.shape = {extent(random, 20000), extent(random, 20000), base::round_up(k, 8)};
  problem.batch = random.below(3) == 0 ? extent(random, 40) : 1;
  return problem;
}

kernels::KernelOverrides random_overrides(Random& random) {
  constexpr std::array kEdges{16, 32, 64, 128, 192, 256};
  kernels::KernelOverrides overrides;
  if (random.below(2) == 1) {
    overrides.split_k = static_cast<int>(extent(random, 64));
  }
  if (random.below(3) == 0) {
    overrides.cta_tile =
        base::GemmShape{any_of(random, kEdges), any_of(random, kEdges), any_of(random, std::array{32, 64, 128, 256})};
  }
  if (random.below(4) == 0) {
    overrides.stages = static_cast<int>(2 + random.below(3));
  }
  return overrides;
}

std::string describe(const kernels::GemmKernel& kernel, const std::string& gpu) {
  const kernels::GemmProblem& problem = kernel.problem;
  const auto text = [](const base::GemmShape& shape) {
    return std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
  };
  return gpu + " " + text(problem.shape) + " batch " + std::to_string(problem.batch) +
         (problem.sparse ? " sparse" : " dense") + ", tile " + text(kernel.cta_tile) + " x " +
         std::to_string(kernel.cta_group) + ", split-k " + std::to_string(kernel.split_k) + ", clusters of " +
         std::to_string(kernel.cluster_ctas);
}

TEST(TrafficBounds, DramReadsLieBetweenTheOperandsAndWhatTheL2IsAskedFor) {
  Random random(20240811);
  int launches = 0;
  for (const char* name : {"a100-sxm4-80gb", "a40", "h100-sxm5-80gb", "b200", "t4"}) {
    const gpu::GpuSpec gpu = config::load_architecture(name).gpu;
    for (int i = 0; i < 4000; ++i) {
      const kernels::GemmProblem problem = random_problem(random);
      const kernels::KernelOverrides overrides = random_overrides(random);
      std::optional<kernels::GemmKernel> kernel;
      try {
        kernel = kernels::choose_kernel(problem, overrides, gpu.kernel_target(), false);
      } catch (const base::InputError&) {
        continue;  // more slices than k-tiles, a tile that does not fit
      }
      ++launches;
      kernels::MemoryTraffic traffic =
          kernels::closed_form_traffic(*kernel, kernels::dram_bytes(*kernel, gpu.memory, gpu.sms), gpu.sms);
      const kernels::ReductionBytes reduction = kernels::reduction_bytes(*kernel, gpu.memory);
      traffic.l2_and_dram += reduction.moved();
      SCOPED_TRACE(describe(*kernel, name));
      EXPECT_GE(traffic.l2_and_dram.dram_read, support::compulsory_bytes(*kernel) + reduction.spilled);
      EXPECT_LE(reduction.spilled, reduction.partial_sums);
      EXPECT_LE(traffic.l2_and_dram.dram_read, traffic.l2_and_dram.l2_read);
    }
  }
  EXPECT_GT(launches, 10000);
}

}  // namespace
}  // namespace sptc::property
