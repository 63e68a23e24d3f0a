// SPDX-License-Identifier: Apache-2.0
// A DRAM outside, behind the L2 of a whole GPU: whatever way of TLM-2.0 it answers in.
#include "models/base/error.h"
#include "sim/gpu/gemm_simulator.h"
#include "tests/support/gemm_grid.h"
#include "tests/timing/protocol_memory.h"
#include "tests/timing/refreshing_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace sptc::timing {
namespace {

constexpr int kSms = 6;

gpu::GemmSimulator::Options before(tlm::tlm_base_target_socket<>& socket) {
  gpu::GemmSimulator::Options options;
  options.bind_dram = [&socket](tlm::tlm_initiator_socket<>& l2) { l2.bind(socket); };
  return options;
}

gpu::GemmRun run(gpu::GemmSimulator& simulator) {
  return simulator.run({{640, 512, 1024}, 1, numerics::DataType::kF16, false}, {{}, {}, 1},
                       nullptr);
}

class OutsideDram : public testing::TestWithParam<ProtocolMemory::Answer> {};

TEST_P(OutsideDram, GetsEachByteOnceByTheProtocol) {
  const gpu::GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", kSms);
  const base::Clock clock(spec.boost_clock_mhz);
  ProtocolMemory memory("memory", clock, GetParam(), 1);
  memory.added_to_address = 4096;  // as an interconnect does
  gpu::GemmSimulator simulator(spec, before(memory.socket(0)));
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
  constexpr std::array kNames{"EndOfRequestLater", "ResponseLater", "EndOfRequest", "Response",
                              "Completed"};
  return kNames[static_cast<std::size_t>(answer.param)];
}

INSTANTIATE_TEST_SUITE_P(Answers, OutsideDram,
                         testing::Values(ProtocolMemory::Answer::kEndOfRequestLater,
                                         ProtocolMemory::Answer::kResponseLater,
                                         ProtocolMemory::Answer::kEndOfRequest,
                                         ProtocolMemory::Answer::kResponse,
                                         ProtocolMemory::Answer::kCompleted),
                         name_of);

// Its refresh never ends, and the simulation does.
TEST(OutsideDramOfItsOwnTime, BoundsALaunchByItsChannel) {
  const gpu::GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", kSms);
  RefreshingMemory memory("memory", 1);
  gpu::GemmSimulator simulator(spec, before(memory.socket(0)));
  const double ns = static_cast<double>(run(simulator).cycles) / spec.boost_clock_mhz * 1e3;
  EXPECT_GT(memory.refreshes, 1);
  EXPECT_GT(ns, static_cast<double>(memory.read_bytes) / RefreshingMemory::kBytesPerNs);
}

TEST(OutsideDramOfItsOwnTime, ThatLosesATransactionIsToldFromOneThatIsSlow) {
  const gpu::GpuSpec spec = support::gpu_with_sms("a100-sxm4-80gb", kSms);
  RefreshingMemory memory("memory", 1);
  memory.answers = false;
  gpu::GemmSimulator simulator(spec, before(memory.socket(0)));
  try {
    run(simulator);
    FAIL() << "ended without an answer";
  } catch (const base::InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("without an answer: gpu.sm0.async_copy="),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sptc::timing
