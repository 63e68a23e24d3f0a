// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/memory/transfer_limits.h"

#include "sim/config/architecture.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sptc::memory {
namespace {

constexpr double kMhz = 1000;
constexpr std::int64_t kBytes = 1 << 20;

MemorySpec one_partition() {
  MemorySpec spec = config::load_architecture("l40s").gpu.memory;
  spec.sm_port_bytes_per_cycle = 1 << 20;  // not in the way
  spec.l2_bytes_per_cycle = 1024;
  return spec;
}

Transfer written(std::int64_t bytes, bool of_d) {
  Transfer transfer;
  transfer.write = true;
  transfer.of_d = of_d;
  transfer.bytes = transfer.dram_bytes = bytes;
  return transfer;
}

/// Cycles until `spec` has taken `transfer`.
std::int64_t cycles(const MemorySpec& spec, const Transfer& transfer) {
  TransferLimits limits(spec, kMhz, 2);
  return limits.complete(0, 0, 0, transfer).cycle;
}

TEST(TransferLimits, DIsTwiceTheWorkOfAReadForEachPartitionOfTheL2) {
  MemorySpec spec = one_partition();
  Transfer read;
  read.bytes = kBytes;
  EXPECT_EQ(cycles(spec, read), kBytes / 1024);
  EXPECT_EQ(cycles(spec, written(kBytes, true)), 2 * kBytes / 1024);
  EXPECT_EQ(cycles(spec, written(kBytes, false)), kBytes / 1024) << "partial sums";
  spec.l2_partitions = 2;  // of half the rate each
  EXPECT_EQ(cycles(spec, written(kBytes, true)), 4 * kBytes / 1024);
}

TEST(TransferLimits, DramTakesWhatOfDIsNotWrittenWhereItWas) {
  TransferLimits limits(one_partition(), kMhz, 1);
  for (const double share : {0.0, 0.25, 1.0}) {
    L2Contents contents;
    contents.resident_d = share;
    limits.reset(kMhz, contents);
    limits.complete(0, 0, 0, written(kBytes, true));
    EXPECT_EQ(limits.counters().dram_written, static_cast<std::int64_t>((1 - share) * kBytes));
    EXPECT_EQ(limits.counters().l2_written, kBytes);
  }
}

TEST(TransferLimits, SayWhatATransferWaitedForLast) {
  Transfer read;
  read.bytes = kBytes;
  const auto level = [&](const MemorySpec& spec) {
    TransferLimits limits(spec, kMhz, 1);
    return limits.complete(0, 0, 0, read).waited_for;
  };
  MemorySpec spec = one_partition();
  EXPECT_EQ(level(spec), sm::MemoryLevel::kL2);
  read.latency = kBytes / 1024 - 1;
  EXPECT_EQ(level(spec), sm::MemoryLevel::kL2);
  read.latency = kBytes / 1024;  // as long as the L2 takes for it
  EXPECT_EQ(level(spec), sm::MemoryLevel::kLatency);
  spec.sm_port_bytes_per_cycle = 512;
  EXPECT_EQ(level(spec), sm::MemoryLevel::kSmPort);
  read.dram_bytes = 16 * kBytes;
  EXPECT_EQ(level(spec), sm::MemoryLevel::kDram);
}

TEST(TransferLimits, FarBytesPassBothPartitions) {
  MemorySpec spec = one_partition();
  spec.l2_partitions = 2;  // of 512 bytes a cycle each
  TransferLimits limits(spec, kMhz, 1);
  Transfer read;
  read.bytes = kBytes;
  read.far_bytes = kBytes / 2;
  EXPECT_EQ(limits.complete(0, 0, 0, read).cycle, kBytes / 512);
  read.far_bytes = 0;
  EXPECT_EQ(limits.complete(0, 0, 1, read).cycle, (kBytes / 2 + kBytes) / 512);
  EXPECT_EQ(limits.complete(0, 0, 0, read).cycle, 2 * kBytes / 512);
}

}  // namespace
}  // namespace sptc::memory
