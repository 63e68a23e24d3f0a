// SPDX-License-Identifier: Apache-2.0
// Where the cycles of tensor cores go: StallCounters.
#include "tests/support/gemm_grid.h"
#include "tests/timing/sm_harness.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sptc::timing {
namespace {

using numerics::DataType;

constexpr std::int64_t kSms = 3;

/// GPUs of three SMs, to be built before the first run.
class Gpus {
 public:
  gpu::Gpu& add(const gpu::GpuSpec& spec) {
    const std::string name = "gpu" + std::to_string(gpus_.size());
    clocks_.push_back(std::make_unique<base::Clock>(spec.boost_clock_mhz));
    gpus_.push_back(std::make_unique<gpu::Gpu>(name.c_str(), *clocks_.back(), spec));
    return *gpus_.back();
  }
  static void start() { sc_core::sc_start(sc_core::SC_ZERO_TIME); }

 private:
  std::vector<std::unique_ptr<base::Clock>> clocks_;
  std::vector<std::unique_ptr<gpu::Gpu>> gpus_;
};

TEST(Stalls, AccountForEveryCycleOfEveryTensorCore) {
  Gpus gpus;
  std::vector<std::pair<gpu::GpuSpec, gpu::Gpu*>> all;
  for (const char* name : {"rtx2080ti", "a100-sxm4-80gb", "h100-sxm5-80gb", "b200"}) {
    const gpu::GpuSpec spec = support::gpu_with_sms(name, kSms);
    all.emplace_back(spec, &gpus.add(spec));
  }
  Gpus::start();
  for (const auto& [spec, gpu] : all) {
    for (const bool sparse : {false, true}) {
      for (const bool asynchronous : {false, true}) {
        if ((sparse && spec.sm.tensor_core.selector_inputs == 1) ||
            (asynchronous && spec.sm.async_mma_interval_cycles() == 0)) {
          continue;
        }
        const support::GemmGrid grid({{1000, 500, 1100}, 1, DataType::kF16, sparse}, {{}, {}, 1}, spec, !asynchronous);
        const gpu::GridRun run = gpu->run(grid.launch(grid.kernel.ctas(), 1));
        const std::string what =
            spec.name + (sparse ? " sparse " : " dense ") + std::string(mma::name(grid.kernel.executed.family));
        const std::int64_t cores = kSms * spec.sm.sub_partitions;
        EXPECT_EQ(run.stalls.total(), run.cycles * cores) << what;
        const double macs_per_cycle = spec.sm.macs_per_cycle(16, numerics::DataType::kF32) / spec.sm.sub_partitions;
        EXPECT_EQ(static_cast<double>(run.stalls[sm::StallReason::kMma]),
                  static_cast<double>(grid.kernel.issued_macs()) / macs_per_cycle)
            << what;
        EXPECT_GT(run.stalls[sm::StallReason::kEnds], 0) << what;
        EXPECT_GT(run.stalls[sm::StallReason::kNoCta], 0) << what;
      }
    }
  }
}

/// `iterations` of `loop` on one warp of an A100, alone in its sub-partition.
sm::StallCycles stalls_of(SmHarness& harness, const KernelParts& parts, const std::vector<isa::WarpInstruction>& loop,
                          int iterations) {
  isa::WarpProgram program = program_of({});
  program.loop = loop;
  program.iterations = iterations;
  const gpu::GridRun run = harness.run(parts.launch(program));
  EXPECT_EQ(run.stalls.total(), run.cycles * harness.partitions());
  return run.stalls;
}

gpu::GpuSpec one_sub_partition_with(void (*change)(gpu::GpuSpec&)) {
  gpu::GpuSpec spec = one_sub_partition();
  change(spec);
  return spec;
}

class StallsOfOneWarp : public testing::Test {
 protected:
  static constexpr int kMmas = 100;
  const KernelParts parts{instruction(DataType::kF16, 16)};
  const Registers registers{parts.map};
};

TEST_F(StallsOfOneWarp, DependentInstructionsWaitForResultsOfTheirOwn) {
  SmHarness harness("gpu", one_sub_partition());
  const sm::StallCycles stalls = stalls_of(harness, parts, {mma_into(parts, 0)}, kMmas);
  const std::int64_t apart = harness.issued()[1].cycle - harness.issued()[0].cycle;
  EXPECT_EQ(stalls[sm::StallReason::kMma], 8 * kMmas);
  EXPECT_EQ(stalls[sm::StallReason::kMmaLatency], (apart - 8) * (kMmas - 1));
  EXPECT_GT(apart, 20);
}

TEST_F(StallsOfOneWarp, ASelectorOfHalfTheRateLeavesTheMultipliersIdleForHalfOfTheTime) {
  SmHarness harness(
      "gpu", one_sub_partition_with([](gpu::GpuSpec& spec) { spec.sm.tensor_core.selector_bytes_per_cycle /= 2; }));
  std::vector<isa::WarpInstruction> loop;
  for (int i = 0; i < Registers::kAccumulators; ++i) {
    loop.push_back(mma_into(parts, i));
  }
  const sm::StallCycles stalls = stalls_of(harness, parts, loop, kMmas);
  EXPECT_NEAR(
      static_cast<double>(stalls[sm::StallReason::kOperandFetch]) / static_cast<double>(stalls[sm::StallReason::kMma]),
      1, 0.01);
}

TEST_F(StallsOfOneWarp, FragmentsComeFromSharedMemory) {
  SmHarness harness("gpu", one_sub_partition());
  std::vector<isa::WarpInstruction> loop;
  for (int i = 0; i < 4; ++i) {
    loop.push_back(load_into(registers.a()));
    loop.push_back(mma_into(parts, i));
  }
  const sm::StallCycles stalls = stalls_of(harness, parts, loop, kMmas / 4);
  const std::int64_t apart = harness.issued()[2].cycle - harness.issued()[1].cycle;
  const std::int64_t first = harness.issued()[0].cycle;
  EXPECT_GT(apart, 28);
  EXPECT_GE(stalls[sm::StallReason::kSharedMemory], (apart - 8) * (kMmas - 1));
  EXPECT_LE(stalls[sm::StallReason::kSharedMemory], (apart - 8) * (kMmas - 1) + first);
}

/// Of a GEMM on three SMs.
double share(const gpu::GridRun& run, sm::StallReason reason) {
  return static_cast<double>(run.stalls[reason]) / static_cast<double>(run.stalls.total());
}

/// What makes a tensor core wait more, and for what.
struct Slower {
  sm::StallReason reason;
  void (*change)(gpu::GpuSpec&);
  bool of_mma_sync_alone = false;
};

const std::vector<Slower>& slower_ones() {
  static const std::vector<Slower> all{
      {sm::StallReason::kL2, [](gpu::GpuSpec& gpu) { gpu.memory.l2_bytes_per_cycle /= 2; }},
      {sm::StallReason::kDram, [](gpu::GpuSpec& gpu) { gpu.memory.dram_gb_per_s /= 8; }},
      {sm::StallReason::kSmPort, [](gpu::GpuSpec& gpu) { gpu.memory.sm_port_bytes_per_cycle /= 4; }},
      {sm::StallReason::kSharedMemory, [](gpu::GpuSpec& gpu) { gpu.sm.shared_memory_banks /= 4; }},
      {sm::StallReason::kMemoryLatency,
       [](gpu::GpuSpec& gpu) {
         gpu.memory.l2_near_latency_cycles *= 16;
         gpu.memory.l2_far_latency_cycles *= 16;
       }},
      {sm::StallReason::kBarrier, [](gpu::GpuSpec& gpu) { gpu.sm.barrier_latency_cycles *= 20; }, true},
  };
  return all;
}

TEST(Stalls, GrowWhereWhatTheyWaitForIsSlower) {
  struct Case {
    gpu::GpuSpec base;
    gpu::Gpu* gpu;
    std::vector<gpu::Gpu*> slower;
  };
  Gpus gpus;
  std::vector<Case> cases;
  for (const char* name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "b200"}) {
    gpu::GpuSpec base = config::load_architecture(name).gpu;
    // As much of the memory as three SMs of the whole GPU have, but for DRAM.
    base.memory.l2_bytes_per_cycle *= static_cast<double>(kSms) / base.sms;
    base.memory.dram_gb_per_s *= 2 * static_cast<double>(kSms) / base.sms;
    base.sms = kSms;
    cases.push_back({base, &gpus.add(base), {}});
    Case& added = cases.back();
    for (const Slower& one : slower_ones()) {
      gpu::GpuSpec spec = base;
      one.change(spec);
      added.slower.push_back(&gpus.add(spec));
    }
  }
  Gpus::start();
  for (const Case& one : cases) {
    for (const bool sparse : {false, true}) {
      const support::GemmGrid grid({{768, 1024, 1024}, 1, DataType::kF16, sparse}, {{}, {}, 1}, one.base, false);
      const bool asynchronous = grid.kernel.executed.is_asynchronous();
      const sm::KernelLaunch launch = grid.launch(grid.kernel.ctas(), 1);
      const gpu::GridRun before = one.gpu->run(launch);
      for (std::size_t i = 0; i < one.slower.size(); ++i) {
        const Slower& slower = slower_ones()[i];
        const gpu::GridRun after = one.slower[i]->run(launch);
        EXPECT_TRUE((slower.of_mma_sync_alone && asynchronous) ||
                    share(after, slower.reason) > share(before, slower.reason) + 0.01)
            << one.base.name << (sparse ? " sparse " : " dense ") << sm::name_of(slower.reason).json << " "
            << share(before, slower.reason) << " -> " << share(after, slower.reason);
      }
    }
  }
}

}  // namespace
}  // namespace sptc::timing
