// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"
#include "sim/base/throughput.h"
#include "sim/memory/l2_and_dram.h"
#include "sim/memory/memory_spec.h"
#include "sim/sm/kernel_launch.h"
#include "sim/sm/memory_request.h"

#include <array>
#include <cstdint>
#include <limits>
#include <queue>
#include <unordered_map>
#include <vector>

namespace sptc::sim {

/// L2 and DRAM of all SMs of which a few, the leaders, are simulated. Every other SM follows the
/// leader before it: it has CTAs of its own, asks for their k-tiles and stores their results, so
/// that the memory sees the addresses and the load of the whole GPU. What a follower computes is
/// not simulated. It uses a k-tile when that is there, and as long after the one before as its
/// leader did where that did not wait for data; then it asks for another one, as its leader does.
/// It stores when its leader stores, or as much later as it is behind.
///
/// For grids whose CTAs are all resident at once and share no output tiles.
class Followers : public TileObserver {
 public:
  /// `written_per_cycle`: what an SM writes to its shared memory.
  Followers(const MemorySpec& spec, double clock_mhz, int sms, Bytes written_per_cycle);

  /// Before a grid, from an empty memory on. `leaders`: SMs in rising order, the first one of each
  /// partition of the L2 among them.
  void start(double clock_mhz, const KernelLaunch& kernel, const std::vector<int>& leaders);

  /// Leader number `leader` reads or writes `range` for what `info` says: when it is answered. Call
  /// in the order of the cycles.
  std::int64_t access(std::size_t leader, const MemoryRange& range, bool write,
                      const RequestInfo& info, std::int64_t now);

  void tile_used(std::int64_t cta, std::int64_t tile, std::int64_t cycle) override;

  /// Lets the followers end. Cycle in which the last of them has its last answer.
  std::int64_t finish();

  MemoryCounters counters() const { return l2_and_dram_.counters(); }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 4;
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max() / 4;
  /// k-tiles of a CTA that may be under way at once.
  static constexpr std::size_t kUnderWay = 32;

  /// A transaction of a leader that its followers repeat when they have come as far.
  struct Event {
    std::int64_t cycle = 0;
    std::int64_t behind = -1;  ///< k-tile that had to be used before; -1: none
    std::int64_t tile = 0;     ///< that is copied; of a store, the last one of the result
    const WarpInstruction* instruction = nullptr;
    int warp = 0;
    bool write = false;
  };
  /// A k-tile of a CTA of a leader.
  struct Tile {
    std::int64_t asked = kUnknown;  ///< cycle of the first transaction
    std::int64_t there = kNever;    ///< cycle from which on it is in shared memory
    std::int64_t used = kNever;     ///< by the last warp
    int warps = 0;                  ///< that use it
    bool known = false;             ///< all do
    std::int64_t step = 0;          ///< from the use of the one before, at least
    std::size_t events = 0;         ///< that copy it
  };
  /// A k-tile of a CTA of a follower.
  struct Arrival {
    std::int64_t tile = -1;
    std::int64_t there = kNever;
    int pending = 0;  ///< transactions
  };
  /// The CTA of a follower that stands beside one of its leader.
  struct FollowerCta {
    std::int64_t cta = 0;
    std::int64_t tiles = 0;      ///< of its work; 0: there is no such CTA
    std::int64_t used = kNever;  ///< the latest k-tile
    std::int64_t tiles_used = 0;
    bool use_planned = false;
    std::size_t events = 0;  ///< of the leader that are repeated
    std::array<Arrival, kUnderWay> arrivals;

    Arrival& arrival(std::int64_t tile) {
      return arrivals[static_cast<std::size_t>(tile) % kUnderWay];
    }
  };
  struct LeaderCta {
    std::size_t leader = 0;
    std::int64_t cta = 0;
    std::vector<Event> events;
    std::vector<Tile> tiles;
    std::vector<FollowerCta> followers;

    Tile& tile(std::int64_t number);
  };
  struct Leader {
    int sm = 0;
    std::vector<int> followers;  ///< SMs
  };
  /// A copy of a warp in the main loop: so long behind the first one of the k-tile.
  struct Piece {
    const WarpInstruction* copy = nullptr;
    int warp = 0;
    std::int64_t offset = 0;
  };
  /// Something that a follower does.
  struct Action {
    enum class Kind {
      kRepeat,  ///< event `what` of the leader
      kAsk,     ///< for some pieces of k-tile `what`
      kUse,     ///< k-tile `what`
    };
    std::int64_t cycle;
    int sm;
    std::uint64_t order;
    Kind kind;
    std::size_t cta;  ///< of the leader
    std::size_t follower;
    std::int64_t what;
    std::size_t first_piece, pieces;
    /// In the order in which the memory looks at requests: of a cycle, SM after SM.
    bool operator>(const Action& other) const {
      return cycle != other.cycle ? cycle > other.cycle
             : sm != other.sm     ? sm > other.sm
                                  : order > other.order;
    }
  };

  void read_program(const KernelLaunch& kernel);
  void assign_followers(const std::vector<int>& leaders);
  std::size_t cta_of(std::size_t leader, std::int64_t cta);
  bool first_of_result(std::int64_t tile) const { return tile % kernel_->program->iterations == 0; }
  std::int64_t& delay_behind(std::int64_t tile) { return delay_[first_of_result(tile) ? 0 : 1]; }

  // What the leaders do.
  void note_read(std::size_t cta, const RequestInfo& info, std::int64_t now, std::int64_t there);
  void note_offset(std::size_t cta, const RequestInfo& info, std::int64_t offset);
  void note_delay(LeaderCta& cta, std::int64_t tile, std::int64_t now);
  void note_step(LeaderCta& cta, std::int64_t tile);
  void log_first_copy(LeaderCta& cta, const RequestInfo& info, std::int64_t now);

  // What the followers do.
  void plan(Action::Kind kind, std::int64_t cycle, std::size_t cta, std::size_t follower,
            std::int64_t what, std::size_t first_piece = 0, std::size_t pieces = 0);
  void plan_copies(const Action& behind, std::int64_t tile);
  void plan_all(std::size_t cta);
  void plan_events(std::size_t cta, std::size_t follower);
  void plan_use(std::size_t cta, std::size_t follower);
  bool may_use(LeaderCta& cta, FollowerCta& follower) const;
  std::int64_t use_cycle(LeaderCta& cta, FollowerCta& follower) const;
  void act_before(std::int64_t cycle, int sm);
  void repeat(const Action& action);
  void ask(const Action& action);
  void use(const Action& action);
  std::int64_t move(int sm, const MemoryRange& range, bool write, std::int64_t now);

  L2AndDram l2_and_dram_;
  int partitions_;
  int sms_;
  double written_per_cycle_;
  const KernelLaunch* kernel_ = nullptr;
  std::int64_t distance_ = 1;  ///< from the k-tile that is used to the one that is asked for then
  std::int64_t first_tiles_ = 1;  ///< that are asked for at the start
  /// Tiles pass the registers: what of them the L1 has is known for the leader alone, and all its
  /// transactions are repeated.
  bool staged_ = false;
  std::vector<Leader> leaders_;
  std::vector<LeaderCta> ctas_;
  std::unordered_map<std::int64_t, std::size_t> index_of_cta_;
  std::vector<Throughput> shared_memories_;  ///< per SM, in bytes
  std::priority_queue<Action, std::vector<Action>, std::greater<>> actions_;
  std::uint64_t order_ = 0;
  std::int64_t now_ = 0;
  std::int64_t end_ = 0;

  // As the leaders have shown it; kUnknown before.
  std::vector<Piece> pieces_;
  std::size_t offsets_cta_ = 0;
  std::int64_t offsets_tile_ = -1;     ///< of that CTA, from which the offsets of the pieces are
  std::int64_t least_gap_ = kUnknown;  ///< from a k-tile that is there to its use
  std::int64_t gap_ = kUnknown;        ///< the same, mean of those that were waited for
  std::int64_t gaps_ = 0, gap_sum_ = 0;
  std::int64_t step_ = kUnknown;  ///< least from use to use where nothing was waited for
  /// Least from a use to the next request: of the first k-tile of a result, of the others.
  std::array<std::int64_t, 2> delay_{};
};

}  // namespace sptc::sim
