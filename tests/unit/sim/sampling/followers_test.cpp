// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/followers.h"

#include "sim/isa/warp_instruction.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sptc::sim {
namespace {

constexpr std::int64_t kBytes = 1000;  // of a k-tile, and of a result
constexpr int kLatency = 100;          // of the L2, and as much again of DRAM

/// k-tiles and results of CTAs one behind the other; each CTA has a MiB of its own.
class Traffic : public CtaTraffic {
 public:
  MemoryRange range(std::int64_t cta, int warp, const WarpInstruction& instruction,
                    std::int64_t tile) const override {
    const std::int64_t at = (cta << 20) + (tile << 12) +
                            (instruction.opcode == Opcode::kStoreGlobal ? 1 << 19 : 0) + warp;
    return {static_cast<std::uint64_t>(at), kBytes};
  }
};

/// Kernels of one warp that copy a k-tile ahead; what the leader does is said by hand.
struct Bench {
  explicit Bench(int sms, std::int64_t tiles, std::int64_t ctas)
      : followers(memory(), 1000, sms, Bytes(1'000'000)) {
    copy.opcode = Opcode::kCopy;
    copy.tiles_ahead = 1;
    first_copy = copy;
    first_copy.tiles_ahead = 0;
    store.opcode = Opcode::kStoreGlobal;
    program.loop = {copy};
    program.iterations = tiles;
    kernel.program = &program;
    kernel.traffic = &traffic;
    kernel.warps_per_cta = 1;
    kernel.ctas_per_sm = 1;
    kernel.ctas = ctas;
    begin();
  }

  void begin() {
    followers.start(1000, kernel, {0});
    EXPECT_EQ(followers.next_cta(0, -1, 0), 0);
  }

  /// 1 byte per cycle from DRAM at 1000 MHz, all else as good as free.
  static MemorySpec memory() {
    MemorySpec spec;
    spec.sm_port_bytes_per_cycle = 1e6;
    spec.l2_partitions = 1;
    spec.l2_capacity = Bytes(1 << 24);
    spec.l2_bytes_per_cycle = 1e6;
    spec.l2_near_latency_cycles = spec.l2_far_latency_cycles = kLatency;
    spec.dram_gb_per_s = 1;
    spec.dram_efficiency_percent = 100;
    spec.dram_refresh_interval_ns = 1;
    spec.dram_access_latency_cycles = kLatency;
    return spec;
  }

  /// The leader asks for `tile`, or stores behind it; when it has its answer.
  std::int64_t access(const WarpInstruction& instruction, std::int64_t tile, std::int64_t now,
                      std::int64_t cta = 0) {
    RequestInfo info;
    info.asking_cta = cta;
    info.instruction = &instruction;
    info.tile = tile;
    return followers.access(0, traffic.range(cta, 0, instruction, tile),
                            instruction.opcode == Opcode::kStoreGlobal, info, now);
  }

  /// The leader asks for `tile`, and uses it so long after `tile_before`: the cycle.
  std::int64_t next_tile(std::int64_t tile, std::int64_t before, std::int64_t asked_after,
                         std::int64_t used_after) {
    access(tile == 0 ? first_copy : copy, tile, before + asked_after);
    followers.tile_used(0, tile, before + used_after, before + used_after);
    return before + used_after;
  }

  /// The leader's CTA `cta` of one k-tile, which is asked for at `asked` and stored at `*stored`.
  /// The next one.
  std::int64_t run(std::int64_t cta, std::int64_t asked, std::int64_t* stored) {
    const std::int64_t there = access(first_copy, 0, asked, cta);
    followers.tile_used(cta, 0, there + 7, there + 7);
    *stored = there + 500;
    access(store, 0, *stored, cta);
    return followers.next_cta(0, cta, *stored + 10);
  }

  Traffic traffic;
  WarpInstruction first_copy, copy, store;
  WarpProgram program;
  KernelLaunch kernel;
  Followers followers;
};

TEST(Followers, AskForTheirOwnTilesBehindThoseOfTheirLeader) {
  Bench bench(3, 1, 3);
  // The leader's bytes come first, then those of two followers.
  EXPECT_EQ(bench.access(bench.first_copy, 0, 10), 10 + kBytes + 2 * kLatency);
  EXPECT_EQ(bench.followers.finish(), 10 + 3 * kBytes + 2 * kLatency);
  EXPECT_EQ(bench.followers.counters().dram_read, 3 * kBytes);
}

TEST(Followers, AnSmWithoutACtaAsksForNothing) {
  Bench bench(3, 1, 2);
  bench.access(bench.first_copy, 0, 10);
  bench.followers.finish();
  EXPECT_EQ(bench.followers.counters().dram_read, 2 * kBytes);
}

TEST(Followers, StoreAsMuchLaterThanTheirLeaderAsTheirDataCame) {
  Bench bench(2, 1, 2);
  const std::int64_t there = bench.access(bench.first_copy, 0, 10);
  bench.followers.tile_used(0, 0, there + 7, there + 7);
  const std::int64_t stored = there + 500;
  EXPECT_EQ(bench.access(bench.store, 0, stored), stored + 1 + kLatency);
  // DRAM has one tile after the other.
  EXPECT_EQ(bench.followers.finish(), stored + kBytes + 1 + kLatency);
}

TEST(Followers, AskForTheNextTileWhenTheyHaveUsedOne) {
  Bench bench(2, 2, 2);
  const std::int64_t there = bench.access(bench.first_copy, 0, 10);
  bench.followers.tile_used(0, 0, there + 7, there + 7);
  // Three cycles behind its use, as the follower does then.
  const std::int64_t next = bench.access(bench.copy, 1, there + 10);
  // The follower's first tile keeps DRAM busy when the leader asks for its second one.
  EXPECT_EQ(next, 10 + 3 * kBytes + 2 * kLatency);
  // And its second one: DRAM never waits.
  EXPECT_EQ(bench.followers.finish(), 10 + 4 * kBytes + 2 * kLatency);
  EXPECT_EQ(bench.followers.counters().dram_read, 4 * kBytes);
}

TEST(Followers, ComputeAsLongAsTheirLeaderWhereItWaitsForNothing) {
  Bench bench(2, 2, 2);
  std::int64_t there = bench.access(bench.first_copy, 0, 10);
  bench.followers.tile_used(0, 0, there + 7, there + 7);
  there = bench.access(bench.copy, 1, there + 10);
  constexpr std::int64_t kLong = 20'000;  // of the first tile
  bench.followers.tile_used(0, 1, there + kLong, there + kLong);
  const std::int64_t stored = there + kLong + 500;
  bench.access(bench.store, 1, stored);
  // It began a tile's time of DRAM later, and the rest takes it as long.
  EXPECT_EQ(bench.followers.finish(), stored + kBytes + 1 + kLatency);
}

TEST(Followers, TakeNoKTileFasterThanTensorCoresCan) {
  Bench bench(3, 4, 3);
  constexpr std::int64_t kTensor = 15'000;
  bench.kernel.k_tile_cycles = kTensor;
  bench.begin();
  const std::int64_t first = bench.next_tile(0, 0, 10, 5000);
  // Nothing was multiplied yet when the first tile was there: the second one follows soon. That the
  // third one came late in its step does not mean that it was waited for.
  std::int64_t used = bench.next_tile(1, first, 3, 8000);
  used = bench.next_tile(2, used, 9000, kTensor);
  used = bench.next_tile(3, used, 3, kTensor);
  bench.access(bench.store, 3, used + 500);
  bench.followers.finish();
  EXPECT_GE(bench.followers.replay(), first + 8000 + 2 * kTensor);
}

TEST(Followers, DoNotTakeWaitingForATurnForWaitingForData) {
  Bench bench(2, 4, 2);
  std::int64_t used = bench.next_tile(0, 0, 10, 2300);
  used = bench.next_tile(1, used, 1500, 3900);
  used = bench.next_tile(2, used, 5000, 50'000);  // other CTAs of the SM came first
  used = bench.next_tile(3, used, 3, 4000);
  bench.access(bench.store, 3, used + 500);
  // The follower waits for its turn as long as its leader, and not for the tile behind it too.
  EXPECT_LT(bench.followers.finish(), used + 5000);
}

TEST(Followers, StartAnewWithEachGrid) {
  Bench bench(2, 1, 2);
  bench.access(bench.first_copy, 0, 10);
  bench.followers.finish();
  bench.begin();
  EXPECT_EQ(bench.access(bench.first_copy, 0, 10), 10 + kBytes + 2 * kLatency);
  EXPECT_EQ(bench.followers.finish(), 10 + 2 * kBytes + 2 * kLatency);
}

TEST(Followers, TakeTheNextCtaWhenTheirsHasEnded) {
  Bench bench(2, 1, 4);
  std::int64_t stored = 0;
  EXPECT_EQ(bench.run(0, 10, &stored), 2);
  // The follower, a tile's time of DRAM behind, ends after that: the last CTA is its own.
  EXPECT_EQ(bench.run(2, stored + 20 + 2 * kBytes, &stored), -1);
  bench.followers.finish();
  EXPECT_EQ(bench.followers.ctas_left(), 0);
  EXPECT_EQ(bench.followers.counters().dram_read, 4 * kBytes);
}

TEST(Followers, InAReplayTheSmThatIsFreeFirstTakesTheNextCta) {
  Bench bench(2, 1, 3);
  std::int64_t stored = 0;
  EXPECT_EQ(bench.run(0, 10, &stored), 2);
  constexpr std::int64_t kLate = 100'000;  // a leader that lingers
  EXPECT_EQ(bench.run(2, kLate, &stored), -1);
  EXPECT_GT(bench.followers.finish(), 0);
  bench.followers.replay();
  EXPECT_EQ(bench.followers.ctas_left(), 0);
  EXPECT_EQ(bench.followers.counters().dram_read, 3 * kBytes);
  EXPECT_EQ(bench.followers.counters().l2_written, 3 * kBytes);
}

TEST(Followers, AReplayTakesWhatTheGridTookWhereNobodyWasInTheWay) {
  Bench bench(2, 1, 2);
  std::int64_t stored = 0;
  bench.run(0, 10, &stored);
  const std::int64_t took = bench.followers.finish();
  EXPECT_EQ(took, stored + kBytes + 1 + kLatency);  // DRAM has one tile after the other
  EXPECT_EQ(bench.followers.replay(), took);
}

TEST(Followers, NothingIsToBeReplayedWhereMostSmsLead) {
  Bench bench(2, 1, 1);
  EXPECT_FALSE(bench.followers.replays());
  EXPECT_TRUE(Bench(3, 1, 3).followers.replays());
}

}  // namespace
}  // namespace sptc::sim
