// SPDX-License-Identifier: Apache-2.0
// Another memory in the place of L2 and DRAM, for whole GEMMs on all SMs: an example of how to bind
// one.
#include "models/base/error.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/gpu/gpu.h"
#include "tests/support/gemm_grid.h"
#include "tests/timing/refreshing_memory.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace sptc::timing {
namespace {

constexpr int kSms = 6;

/// A GPU of a few SMs, all before `memory`.
gpu::GemmSimulator::Options before(RefreshingMemory& memory) {
  gpu::GemmSimulator::Options options;
  options.bind_memory = [&memory](gpu::Gpu& gpu) {
    for (std::size_t i = 0; i < gpu.sms().size(); ++i) {
      gpu.sms()[i]->async_copy.memory.bind(memory.socket(i));
    }
  };
  return options;
}

TEST(OutsideMemory, RunsGemmsToTheirEndAlthoughItsRefreshHasNone) {
  const gpu::GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", kSms);
  RefreshingMemory memory("memory", kSms);
  gpu::GemmSimulator simulator(spec, before(memory));
  for (const bool sparse : {false, true, false}) {
    memory.read_bytes = memory.written_bytes = memory.refreshes = 0;
    const gpu::GemmRun run = simulator.run({{640, 512, 1024}, 1, numerics::DataType::kF16, sparse},
                                           {{}, {}, 1}, nullptr);
    EXPECT_EQ(memory.read_bytes, run.traffic.l2_and_dram.l2_read);
    EXPECT_EQ(memory.written_bytes, 640 * 512 * 2);
    // Its channel is the bound.
    const double busy_ns = static_cast<double>(memory.read_bytes + memory.written_bytes) /
                               RefreshingMemory::kBytesPerNs +
                           static_cast<double>(memory.refreshes) * RefreshingMemory::kRefreshNs;
    const double ns = static_cast<double>(run.cycles) / spec.boost_clock_mhz * 1e3;
    std::printf("%s: %.0f ns, of which the channel is busy %.0f, %d refreshes\n",
                sparse ? "2:4" : "dense", ns, busy_ns, static_cast<int>(memory.refreshes));
    EXPECT_GT(memory.refreshes, 1);
    EXPECT_GT(ns, 0.9 * busy_ns);
    EXPECT_LT(ns, 3 * busy_ns);
  }
}

TEST(OutsideMemory, ThatLosesATransactionIsToldFromOneThatIsSlow) {
  const gpu::GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", kSms);
  RefreshingMemory memory("memory", kSms);
  memory.answers = false;
  gpu::GemmSimulator simulator(spec, before(memory));
  try {
    simulator.run({{640, 512, 1024}, 1, numerics::DataType::kF16, false}, {}, nullptr);
    FAIL() << "ended without an answer";
  } catch (const base::InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("without an answer: gpu.sm0.async_copy="),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sptc::timing
