// SPDX-License-Identifier: Apache-2.0
// Another memory in the place of L2 and DRAM, for whole GEMMs on all SMs: an example of how to bind
// one. Another DRAM behind the L2, whatever way of TLM-2.0 it answers in.
#include "models/base/error.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/gpu/gpu.h"
#include "tests/support/gemm_grid.h"
#include "tests/timing/protocol_memory.h"
#include "tests/timing/refreshing_memory.h"

#include <gtest/gtest.h>

#include <array>
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

gpu::GemmSimulator::Options before(tlm::tlm_base_target_socket<>& dram) {
  gpu::GemmSimulator::Options options;
  options.bind_dram = [&dram](tlm::tlm_initiator_socket<>& l2) { l2.bind(dram); };
  return options;
}

const gpu::GpuSpec& a100() {
  static const gpu::GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", kSms);
  return spec;
}

gpu::GemmRun run(gpu::GemmSimulator& simulator, bool sparse = false) {
  return simulator.run({{640, 512, 1024}, 1, numerics::DataType::kF16, sparse}, {{}, {}, 1}, nullptr);
}

TEST(OutsideMemory, RunsGemmsToTheirEndAlthoughItsRefreshHasNone) {
  RefreshingMemory memory("memory", kSms);
  gpu::GemmSimulator simulator(a100(), before(memory));
  for (const bool sparse : {false, true, false}) {
    memory.read_bytes = memory.written_bytes = memory.refreshes = 0;
    const gpu::GemmRun done = run(simulator, sparse);
    EXPECT_EQ(memory.read_bytes, done.traffic.l2_and_dram.l2_read);
    EXPECT_EQ(memory.written_bytes, 640 * 512 * 2);
    // Its channel is the bound.
    const double busy_ns =
        static_cast<double>(memory.read_bytes + memory.written_bytes) / RefreshingMemory::kBytesPerNs +
        static_cast<double>(memory.refreshes) * RefreshingMemory::kRefreshNs;
    const double ns = static_cast<double>(done.cycles) / a100().boost_clock_mhz * 1e3;
    std::printf("%s: %.0f ns, of which the channel is busy %.0f, %d refreshes\n", sparse ? "2:4" : "dense", ns, busy_ns,
                static_cast<int>(memory.refreshes));
    EXPECT_GT(memory.refreshes, 1);
    EXPECT_GT(ns, 0.9 * busy_ns);
    EXPECT_LT(ns, 3 * busy_ns);
  }
}

class OutsideDram : public testing::TestWithParam<ProtocolMemory::Answer> {};

TEST_P(OutsideDram, GetsEachByteOnceByTheProtocol) {
  const base::Clock clock(a100().boost_clock_mhz);
  ProtocolMemory memory("memory", clock, GetParam(), 1);
  memory.added_to_address = 4096;  // as an interconnect does
  gpu::GemmSimulator simulator(a100(), before(memory.socket(0)));
  const gpu::GemmRun first = run(simulator);
  EXPECT_EQ(memory.read_bytes, first.traffic.l2_and_dram.dram_read);
  EXPECT_EQ(first.traffic.l2_and_dram.dram_read, (640 + 512) * 1024 * 2);
  EXPECT_GT(memory.written_bytes, 0);
  EXPECT_EQ(memory.against_protocol, 0);
  // The next launch finds an L2 without the operands of the first one.
  const gpu::GemmRun second = run(simulator);
  EXPECT_EQ(memory.read_bytes, 2 * first.traffic.l2_and_dram.dram_read);
  EXPECT_EQ(second.traffic.l2_and_dram.dram_read, first.traffic.l2_and_dram.dram_read);
}

std::string name_of(const testing::TestParamInfo<ProtocolMemory::Answer>& answer) {
  constexpr std::array kNames{"EndOfRequestLater", "ResponseLater", "EndOfRequest", "Response", "Completed"};
  return kNames[static_cast<std::size_t>(answer.param)];
}

INSTANTIATE_TEST_SUITE_P(Answers, OutsideDram,
                         testing::Values(ProtocolMemory::Answer::kEndOfRequestLater,
                                         ProtocolMemory::Answer::kResponseLater, ProtocolMemory::Answer::kEndOfRequest,
                                         ProtocolMemory::Answer::kResponse, ProtocolMemory::Answer::kCompleted),
                         name_of);

// Its refresh never ends, and the simulation does.
TEST(OutsideDramOfItsOwnTime, BoundsALaunchByItsChannel) {
  RefreshingMemory memory("memory", 1);
  gpu::GemmSimulator simulator(a100(), before(memory.socket(0)));
  const double ns = static_cast<double>(run(simulator).cycles) / a100().boost_clock_mhz * 1e3;
  EXPECT_GT(memory.refreshes, 1);
  EXPECT_GT(ns, static_cast<double>(memory.read_bytes) / RefreshingMemory::kBytesPerNs);
}

void expect_loss_is_told(gpu::GemmSimulator& simulator, RefreshingMemory& memory) {
  memory.answers = false;
  try {
    run(simulator);
    FAIL() << "ended without an answer";
  } catch (const base::InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("without an answer: gpu.sm0.async_copy="), std::string::npos)
        << error.what();
  }
}

TEST(OutsideMemory, ThatLosesATransactionIsToldFromOneThatIsSlow) {
  RefreshingMemory memory("memory", kSms);
  gpu::GemmSimulator simulator(a100(), before(memory));
  expect_loss_is_told(simulator, memory);
}

TEST(OutsideDramOfItsOwnTime, ThatLosesATransactionIsToldFromOneThatIsSlow) {
  RefreshingMemory memory("memory", 1);
  gpu::GemmSimulator simulator(a100(), before(memory.socket(0)));
  expect_loss_is_told(simulator, memory);
}

}  // namespace
}  // namespace sptc::timing
