// SPDX-License-Identifier: Apache-2.0
// The memory of an A100 by itself, as microbenchmarks see it: latency of a pointer chase and
// bandwidth of streams by footprint. The figures are those of RRZE-HPC gpu-benches that the
// architecture file cites.
#include "sim/hardware/memory/memory_system.h"

#include "sim/config/architecture.h"
#include "sim/hardware/memory/l2_and_dram.h"
#include "sim/hardware/memory/memory_bytes.h"
#include "sim/run/microbench/microbench.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace sptc::memory {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kBlock = base::CacheTags::kBlockBytes;

MemorySpec one_partition() {
  MemorySpec spec = config::load_architecture("a100-sxm4-80gb").gpu.memory;
  spec.l2_partitions = 1;
  return spec;
}

struct Bench {
  explicit Bench(int sms, const gpu::GpuSpec& gpu = config::load_architecture("a100-sxm4-80gb").gpu)
      : clock(gpu.boost_clock_mhz), memory("memory", clock, gpu.memory, sms) {
    for (int sm = 0; sm < sms; ++sm) {
      readers.push_back(
          std::make_unique<run::microbench::MemoryReader>(("reader" + std::to_string(sm)).c_str(), clock));
      readers.back()->socket.bind(memory.socket(static_cast<std::size_t>(sm)));
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }

  base::Clock clock;
  MemorySystem memory;
  std::vector<std::unique_ptr<run::microbench::MemoryReader>> readers;
};

TEST(Partitions, OfTheL2AreAskedAlikeByEverySecondFourthAndEighthSm) {
  for (const int stride : {1, 2, 4, 8}) {
    int asking_second = 0;
    for (int sm = stride - 1; sm < 128; sm += stride) {
      asking_second += partition_of_sm(sm, 2);
    }
    EXPECT_EQ(asking_second, 64 / stride) << stride;
  }
  for (int sm = 0; sm < 96; sm += 2) {
    EXPECT_EQ(partition_of_sm(sm, 2) + partition_of_sm(sm + 1, 2), 1) << sm;
    EXPECT_EQ(partition_of_sm(sm, 1), 0) << sm;
  }
}

TEST(MemoryBench, PointerChaseShowsThePublishedPlateaus) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  const base::Clock clock(gpu.boost_clock_mhz);
  run::microbench::MemoryBench bench(clock, gpu.memory, 2);
  EXPECT_NEAR(bench.chase_cycles(kMiB, kBlock), 205.5, 4);
  EXPECT_NEAR(bench.chase_cycles(8 * kMiB, kBlock), 205.7, 4);
  EXPECT_NEAR(bench.chase_cycles(16 * kMiB, kBlock), 205.6, 10);
  // A stride that leaves one place of the four caches that are walked.
  EXPECT_NEAR(bench.chase_cycles(1024 * kMiB, 512 * kMiB), 205.5, 10);
  EXPECT_NEAR(bench.chase_cycles(36 * kMiB, kBlock), 406.8, 41);  // between the partitions: 10 %
  EXPECT_NEAR(bench.chase_cycles(256 * kMiB, kBlock), 551.1, 17);
  EXPECT_NEAR(bench.line_cycles(), 205.5, 4);
  support::expect_input_error([&] { bench.chase_cycles(kMiB, 4); }, {"stride from 8 bytes", "not 4"});
}

TEST(MemoryBench, BandwidthFallsWithTheFootprintAsMeasured) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  const base::Clock clock(gpu.boost_clock_mhz);
  run::microbench::MemoryBench bench(clock, gpu.memory, gpu.sms);
  using enum run::microbench::BandwidthOperation;
  // gpu-l2-cache, A100-80GB: footprint [1024 bytes] and GB/s.
  struct Row {
    std::int64_t kib;
    double gb_per_s;
  };
  double sum = 0;
  const std::vector<Row> rows{{16896, 5447.7}, {25600, 5376.2}, {30720, 3999.5}, {36864, 3004.0},
                              {40448, 2462.0}, {48128, 2026.5}, {57856, 1915.4}};
  for (const Row& row : rows) {
    const double simulated = bench.bandwidth_gb_per_s(kRead, row.kib * 1024);
    const double deviation = simulated / row.gb_per_s - 1;
    std::printf("%6.1f MB: %6.1f GB/s published, %6.1f simulated, %+.1f %%\n", static_cast<double>(row.kib) * 1.024e-3,
                row.gb_per_s, simulated, 100 * deviation);
    EXPECT_LE(std::abs(deviation), 0.15) << row.kib;
    sum += std::abs(deviation);
  }
  EXPECT_LE(sum / static_cast<double>(rows.size()), 0.08);
  const double dram = gpu.memory.dram_bytes_per_cycle(gpu.boost_clock_mhz) * gpu.boost_clock_mhz * 1e-3;
  EXPECT_NEAR(bench.bandwidth_gb_per_s(kRead, 1024 * kMiB), dram, 0.05 * dram);
  EXPECT_NEAR(bench.bandwidth_gb_per_s(kCopy, 1024 * kMiB), dram, 0.10 * dram);
  support::expect_input_error([&] { bench.bandwidth_gb_per_s(kRead, 100); }, {"footprint", "not 100"});
}

TEST(AsyncCopyBench, WaitsForTheL2AndKnowsWhatIsNotModelled) {
  const gpu::GpuSpec gpu = config::load_architecture("h800-pcie").gpu;
  run::microbench::Microbench bench(gpu);
  const run::microbench::Move copy{run::microbench::Move::Kind::kCopy, 16};
  const run::microbench::Move bulk_copy{run::microbench::Move::Kind::kBulkCopy, 4096};
  const run::microbench::MicrobenchResult one = bench.run({copy, 1, 1});
  const run::microbench::MicrobenchResult four = bench.run({copy, 4, 4});
  EXPECT_GT(one.latency_cycles, gpu.memory.l2_near_latency_cycles);
  EXPECT_LT(one.latency_cycles, gpu.memory.l2_near_latency_cycles + 40);
  // Copies under way at once share the latency.
  EXPECT_GT(*four.bytes_per_clk_per_sm, 10 * *one.bytes_per_clk_per_sm);
  EXPECT_NEAR(*one.bytes_per_clk_per_sm, 512 / one.latency_cycles, 1e-9);
  const run::microbench::MicrobenchResult bulk = bench.run({bulk_copy, 1, 2});
  EXPECT_NEAR(*bulk.bytes_per_clk_per_sm, 2 * 4096 / bulk.latency_cycles, 1e-9);
  EXPECT_LE(*bulk.bytes_per_clk_per_sm, gpu.memory.sm_port_bytes_per_cycle);
  // A lane of each warp issues them, and waits for its own: the copies of two warps overlap, those
  // of sixteen take what the port carries.
  const run::microbench::MicrobenchResult single = bench.run({bulk_copy, 1, 1});
  const run::microbench::MicrobenchResult two = bench.run({bulk_copy, 2, 1});
  EXPECT_NEAR(*two.bytes_per_clk_per_sm, 2 * *single.bytes_per_clk_per_sm, 0.1);
  EXPECT_GT(two.latency_cycles + 1, single.latency_cycles);
  const run::microbench::MicrobenchResult many = bench.run({bulk_copy, 16, 1});
  EXPECT_NEAR(*many.bytes_per_clk_per_sm, gpu.memory.sm_port_bytes_per_cycle, 0.5);
  support::expect_input_error(
      [&] {
        bench.run({run::microbench::Move{run::microbench::Move::Kind::kCopy, 8}, 1, 1});
      },
      {"L1", "not modelled"});
  for (const char* const name : {"cp.async 16", "cp.async.bulk 4096"}) {
    EXPECT_EQ(name_of(run::microbench::parse_bench_instruction(name)), name);
  }
  for (const char* const name :
       {"cp.async", "cp.async 5", "cp.async.bulk 17", "cp.async.bulk -16", "cp.async.bulk 99999999999"}) {
    support::expect_input_error([&] { run::microbench::parse_bench_instruction(name); }, {"is no copy"});
  }
}

TEST(MemorySystem, AnswersAMissWhenDramHasDeliveredItAndNotACycleEarlier) {
  gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  gpu.memory.l2_partitions = 1;
  Bench bench(1, gpu);
  run::microbench::MemoryReader& reader = *bench.readers.front();
  // The request is looked at in the next cycle; 64 bytes pass the port in one.
  const std::int64_t start = bench.clock.now();
  reader.request(0, 64);
  sc_core::sc_start();
  EXPECT_EQ(reader.done.back().cycle - start, 1 + 1 + gpu.memory.dram_latency_cycles());
  const std::int64_t again = bench.clock.now();
  reader.request(0, 64);
  sc_core::sc_start();
  EXPECT_EQ(reader.done.back().cycle - again, 1 + 1 + gpu.memory.l2_near_latency_cycles);
}

TEST(MemorySystem, ThePortOfAnSmIsBusyForTheBytesOfATransactionAndNoOtherPort) {
  gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  gpu.memory.l2_partitions = 1;
  gpu.memory.l2_bytes_per_cycle = 1 << 20;  // not in the way
  Bench bench(2, gpu);
  const auto answers = [&](const std::vector<std::size_t>& readers) {
    const std::int64_t start = bench.clock.now();
    for (const std::size_t reader : readers) {
      bench.readers[reader]->request(0, 1024);
    }
    sc_core::sc_start();
    std::vector<std::int64_t> cycles;
    for (auto& reader : bench.readers) {
      for (const auto& done : reader->done) {
        cycles.push_back(done.cycle - start);
      }
      reader->done.clear();
    }
    return cycles;
  };
  answers({0});
  // A cycle on the way, 1024 bytes at 64 per cycle, the hit.
  const std::int64_t hit = 1 + 16 + gpu.memory.l2_near_latency_cycles;
  EXPECT_EQ(answers({0}), (std::vector<std::int64_t>{hit}));
  EXPECT_EQ(answers({0, 0}), (std::vector<std::int64_t>{hit, hit + 16}));
  EXPECT_EQ(answers({0, 1}), (std::vector<std::int64_t>{hit, hit}));
}

TEST(MemorySystem, AMissInTheOtherPartitionWaitsForTheWayThereAndForDram) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  Bench bench(2);
  std::vector<std::int64_t> misses, hits;
  for (const std::size_t reader : {0U, 1U}) {
    for (auto* const latencies : {&misses, &hits}) {
      bench.memory.reset(bench.clock.mhz());
      if (latencies == &hits) {
        bench.readers[1 - reader]->request(0, 64);
        sc_core::sc_start();
      }
      const std::int64_t start = bench.clock.now();
      bench.readers[reader]->request(0, 64);
      sc_core::sc_start();
      latencies->push_back(bench.readers[reader]->done.back().cycle - start - 2);
    }
  }
  std::sort(misses.begin(), misses.end());
  std::sort(hits.begin(), hits.end());
  const std::int64_t near = gpu.memory.l2_near_latency_cycles;
  const std::int64_t far = gpu.memory.l2_far_latency_cycles;
  const std::int64_t dram = gpu.memory.dram_access_latency_cycles;
  EXPECT_EQ(misses, (std::vector<std::int64_t>{near + dram, far + dram}));
  EXPECT_EQ(misses[0] + misses[1], 2 * gpu.memory.dram_latency_cycles());
  EXPECT_EQ(hits, (std::vector<std::int64_t>{near, far}));
}

TEST(MemorySystem, AReadOfABlockThatIsOnItsWayWaitsForItAndDramDeliversItOnce) {
  Bench bench(2);
  bench.readers[0]->request(0, 1024);
  bench.readers[1]->request(0, 1024);
  sc_core::sc_start();
  const std::int64_t first = bench.readers[0]->done.back().cycle;
  const std::int64_t second = bench.readers[1]->done.back().cycle;
  EXPECT_GE(second, first);
  // Nor does it wait longer than if it had asked alone, and for a block of the other partition.
  const MemorySpec memory = config::load_architecture("a100-sxm4-80gb").gpu.memory;
  constexpr std::int64_t kWayAndPort = 1 + 1024 / 64;
  EXPECT_LE(second, kWayAndPort + memory.l2_far_latency_cycles + memory.dram_access_latency_cycles);
  EXPECT_EQ(bench.memory.counters().l2_read, 2048);
  EXPECT_EQ(bench.memory.counters().dram_read, 1024);
}

TEST(L2AndDram, WhatIsReadForTwoSmsAtOnceTakesTheL2HalfAsLongAndEachPortAsLong) {
  constexpr std::int64_t kBytes = 8192;
  MemorySpec spec = one_partition();
  const auto cycles = [&](double port, double l2, int readers) {
    spec.sm_port_bytes_per_cycle = port;
    spec.l2_bytes_per_cycle = l2;
    L2AndDram memory(spec, 1410, 1);
    constexpr std::int64_t kLater = 100000;
    memory.access(0, {0, kBytes, readers}, false, 0);  // from DRAM
    const std::int64_t done = memory.access(0, {0, kBytes, readers}, false, kLater);
    EXPECT_EQ(memory.counters().l2_read, 2 * kBytes / readers);
    EXPECT_EQ(memory.counters().dram_read, kBytes);
    return done - kLater - spec.l2_near_latency_cycles;
  };
  EXPECT_EQ(cycles(1e6, 64, 1), kBytes / 64);
  EXPECT_EQ(cycles(1e6, 64, 2), kBytes / 64 / 2);
  EXPECT_EQ(cycles(64, 1e6, 1), kBytes / 64);
  EXPECT_EQ(cycles(64, 1e6, 2), kBytes / 64);
}

TEST(L2AndDram, DramDeliversOfABlockWhatNeitherPartitionHas) {
  MemorySpec spec = config::load_architecture("a100-sxm4-80gb").gpu.memory;
  spec.l2_capacity = base::Bytes(kMiB);
  L2AndDram memory(spec, 1410, 2);
  std::vector<std::uint64_t> of_the_other;
  constexpr std::uint64_t kStep = kBlock;
  for (std::uint64_t address = 0; of_the_other.size() < 4096; address += kStep) {
    if (owning_partition(address, 2) != static_cast<std::size_t>(partition_of_sm(0, 2))) {
      of_the_other.push_back(address);
    }
  }
  const std::uint64_t address = of_the_other.front();
  memory.access(0, {address, kBlock / 2, 1}, false, 0);
  for (const std::uint64_t other : of_the_other) {
    memory.access(1, {other, kBlock, 1}, false, 0);
  }
  const std::int64_t before = memory.counters().dram_read;
  memory.access(0, {address, kBlock, 1}, false, 10'000'000);
  EXPECT_EQ(memory.counters().dram_read - before, kBlock / 2);
}

// A block on its way is there for a reader of the other partition the way between the partitions
// later, and for one of its own partition as much earlier.
TEST(L2AndDram, ABlockOnItsWayIsThereForEachPartitionInItsOwnTime) {
  const MemorySpec spec = config::load_architecture("a100-sxm4-80gb").gpu.memory;
  const std::int64_t way = spec.l2_far_latency_cycles - spec.l2_near_latency_cycles;
  const auto owner = static_cast<int>(owning_partition(0, 2));
  std::vector<std::size_t> near, far;
  for (int sm = 0; sm < 4; ++sm) {
    (partition_of_sm(sm, 2) == owner ? near : far).push_back(static_cast<std::size_t>(sm));
  }
  ASSERT_EQ(near.size(), far.size());
  for (const bool near_first : {true, false}) {
    const std::vector<std::size_t>& others = near_first ? far : near;
    L2AndDram memory(spec, 1410, 4);
    const std::int64_t first = memory.access((near_first ? near : far)[0], {0, kBlock, 1}, false, 0);
    for (const std::size_t other : others) {
      EXPECT_EQ(memory.access(other, {0, kBlock, 1}, false, 1) - first, near_first ? way : -way);
    }
    EXPECT_EQ(memory.counters().dram_read, kBlock);
  }
}

TEST(L2AndDram, AHitDoesNotWaitForOtherSectorsOfItsBlock) {
  MemorySpec spec = one_partition();
  L2AndDram memory(spec, 1410, 4);
  constexpr std::int64_t kHalf = kBlock / 2, kLater = 5000, kLatest = 10000;
  memory.access(0, {0, kHalf, 1}, false, 0);
  const std::int64_t hit = memory.access(1, {0, kHalf, 1}, false, kLater) - kLater;
  EXPECT_LT(hit, spec.dram_latency_cycles());
  const std::int64_t other_half = memory.access(2, {kHalf, kHalf, 1}, false, kLatest);
  EXPECT_EQ(memory.access(3, {0, kHalf, 1}, false, kLatest + 1), kLatest + 1 + hit);
  EXPECT_EQ(memory.access(1, {kHalf, kHalf, 1}, false, kLatest + 2), other_half);
}

TEST(L2AndDram, IsEmptyAfterAResetAndKeepsTheShareOfItsCapacityThatItGets) {
  MemorySpec spec = one_partition();
  L2AndDram memory(spec, 1410, 1);
  const auto from_dram = [&](std::int64_t bytes) {
    const std::int64_t before = memory.counters().dram_read;
    memory.access(0, {0, bytes, 1}, false, 0);
    return memory.counters().dram_read - before;
  };
  const std::int64_t half = spec.l2_capacity.count() / 2;
  EXPECT_EQ(from_dram(half), half);
  EXPECT_EQ(from_dram(half), 0);
  memory.reset(1410, {.share = 0.25});
  EXPECT_EQ(from_dram(half), half);
  EXPECT_GT(from_dram(half), half / 4);
  memory.reset(1410);
  EXPECT_EQ(from_dram(half), half);
  EXPECT_EQ(from_dram(half), 0);
}

TEST(L2AndDram, DramDeliversOfAnOperandWhatLaunchesBeforeHaveNotLeft) {
  MemorySpec spec = one_partition();
  L2AndDram memory(spec, 1410, 1);
  const auto from_dram = [&](isa::Operand operand, std::int64_t address, std::int64_t bytes) {
    const std::int64_t before = memory.counters().dram_read;
    memory.access(0, {static_cast<std::uint64_t>(address), bytes, 1}, false, 0, operand);
    return memory.counters().dram_read - before;
  };
  memory.reset(1410, {.resident_a = 1, .resident_b = 0.25});
  EXPECT_EQ(from_dram(isa::Operand::kA, 0, kMiB), 0);
  EXPECT_NEAR(static_cast<double>(from_dram(isa::Operand::kB, kMiB, kMiB)), 0.75 * kMiB, 0.02 * kMiB);
  EXPECT_EQ(from_dram(isa::Operand::kB, kMiB, kMiB), 0);
  // What has been replaced since is left no more.
  const std::int64_t capacity = spec.l2_capacity.count();
  from_dram(isa::Operand::kB, 2 * kMiB, 3 * capacity);
  EXPECT_EQ(from_dram(isa::Operand::kA, 0, kMiB), kMiB);
}

TEST(MemorySystem, WritesGoThroughAndAreThereForReads) {
  Bench bench(1);
  bench.readers[0]->request(4096, 2048, true);
  sc_core::sc_start();
  bench.readers[0]->request(4096, 2048);
  sc_core::sc_start();
  const MemoryBytes counters = bench.memory.counters();
  EXPECT_EQ(counters.l2_written, 2048);
  EXPECT_EQ(counters.dram_written, 2048);
  EXPECT_EQ(counters.l2_read, 2048);
  EXPECT_EQ(counters.dram_read, 0);
}

// What an L2 may keep of D costs nothing; what it may not, that of the launch before among it, is
// waited for until DRAM has taken it, and not a cycle longer.
TEST(L2AndDram, AWriteBeyondWhatTheL2MayKeepIsDoneWhenDramHasTakenTheExcess) {
  MemorySpec spec = one_partition();
  spec.l2_capacity = base::Bytes(4 * kMiB);  // a quarter of it may wait for DRAM
  spec.sm_port_bytes_per_cycle = 1e9;
  spec.l2_bytes_per_cycle = 1e9;
  const auto cycles = [&](std::int64_t bytes, double dirty, std::int64_t start) {
    L2AndDram memory(spec, 1410, 1);
    memory.reset(1410, {.dirty_bytes = dirty});
    return memory.access(0, {0, bytes, 1}, true, start) - start - spec.l2_near_latency_cycles;
  };
  const auto of_dram = [&](std::int64_t bytes) {
    const double rate = spec.dram_bytes_per_cycle(1410);
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) / rate));
  };
  EXPECT_EQ(cycles(kMiB, 0, 0), 1);  // in which it passes the port
  EXPECT_EQ(cycles(9 * kMiB, 0, 0), of_dram(8 * kMiB));
  EXPECT_EQ(cycles(kMiB, kMiB, 0), of_dram(kMiB));
  EXPECT_EQ(cycles(kMiB, kMiB, 1'000'000), of_dram(kMiB)) << "not the first launch";
}

}  // namespace
}  // namespace sptc::memory
