// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"
#include "sim/base/cycle_queue.h"
#include "sim/base/throughput.h"
#include "sim/memory/l2_and_dram.h"
#include "sim/memory/memory_spec.h"
#include "sim/sampling/leader_log.h"
#include "sim/sm/kernel_launch.h"
#include "sim/sm/memory_request.h"

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sptc::sim {

/// L2 and DRAM of all SMs of which a few, the leaders, are simulated. Every other SM follows the
/// leader before it: it takes CTAs of its own as SMs become free, asks for their k-tiles and stores
/// their results, so that the memory sees the addresses and the load of the whole GPU. What a
/// follower computes is not simulated. It uses a k-tile when that is there, and as long after the
/// one before as its leader did where that did not wait for data; what its leader asked for,
/// stored, or ended after that, it does as long after.
class Followers : public TileObserver {
 public:
  /// `written_per_cycle`: what an SM writes to its shared memory.
  Followers(const MemorySpec& spec, double clock_mhz, int sms, Bytes written_per_cycle);

  /// Before a grid, from an empty memory on. `leaders`: SMs in rising order, the first one of each
  /// partition of the L2 among them. The L2 keeps as much as `l2_share` of its capacity holds.
  void start(double clock_mhz, const KernelLaunch& kernel, const std::vector<int>& leaders,
             double l2_share = 1);

  // What happens in one cycle comes in this order, whichever order the processes of the leaders
  // are evaluated in: next_cta(), leader after leader, then access(), then tile_used(), which is
  // noted until something of a later cycle comes.

  /// The next CTA of leader number `leader`, where CTA `ended` ended, if any; -1: none is left.
  /// Call in the order of the cycles, for the first CTAs in the order of their places on the SMs.
  std::int64_t next_cta(std::size_t leader, std::int64_t ended, std::int64_t now);

  /// Leader number `leader` reads or writes `range` for what `info` says: when it is answered. Call
  /// in the order of the cycles.
  std::int64_t access(std::size_t leader, const MemoryRange& range, bool write,
                      const RequestInfo& info, std::int64_t now);

  void tile_used(std::int64_t cta, std::int64_t tile, std::int64_t cycle,
                 std::int64_t now) override;

  /// Lets the followers end. Cycle in which the last of them has its last answer.
  std::int64_t finish();

  /// Whether replay() is the better answer. Not where most SMs lead, nor where SMs have several
  /// CTAs at once: what those take from each other only leaders know, unless it averages out over
  /// many output tiles. Where CTAs share output tiles it is all the same: until a leader has ended
  /// a segment with the same ending, a follower waits.
  bool replays() const;

  /// All again, the leaders included, as the leaders have shown it by now. Cycles of the grid.
  std::int64_t replay();

  /// A CTA of a follower, where the launch has a recorder. What several CTAs of an SM take from
  /// each other only leaders know: none of those.
  struct CtaOfFollower {
    int sm = 0;
    std::int64_t cta = 0;
    std::vector<std::int64_t> uses;  ///< cycles of its k-tiles
  };
  /// As they ended, by finish() or by the last replay(), which counts cycles from 0. Taking them
  /// empties the list.
  std::vector<CtaOfFollower> take_ctas() { return std::exchange(ended_ctas_, {}); }

  /// CTAs that did not end.
  std::int64_t ctas_left() const { return kernel_->ctas - ended_; }
  MemoryBytes counters() const { return l2_and_dram_.counters(); }

 private:
  static constexpr std::int64_t kNever = LeaderLog::kNever;
  static constexpr std::int64_t kUnknown = LeaderLog::kUnknown;
  /// k-tiles of a CTA that may be under way at once.
  static constexpr std::size_t kUnderWay = 32;

  /// A k-tile of a CTA of a follower.
  struct Arrival {
    std::int64_t tile = -1;
    LeaderLog::OfOperands there{kNever, kNever};
    int reads = 0;  ///< that were made
  };
  /// A phase that no leader has shown yet.
  struct Pending {
    enum class Kind { kCopies, kFinish };
    Kind kind = Kind::kCopies;
    LeaderLog::Reference reference;
    LeaderLog::Ending ending;  ///< of the segment, where that is what is pending
    std::int64_t tile = 0;     ///< of the CTA
    std::int64_t in_segment = 0;
    std::int64_t cta = 0;
    std::int64_t anchor = 0;
  };
  /// Where a follower has CTAs one after the other, as its leader has.
  struct Place {
    LeaderLog::Reference home;       ///< what it follows as far as that goes
    LeaderLog::Reference reference;  ///< that the segment follows
    int sm = 0;
    std::int64_t cta = -1;  ///< -1: none
    std::span<const WorkSegment> work;
    std::size_t segment = 0;      ///< of that work
    std::size_t segments = 0;     ///< of the CTAs before
    std::int64_t first_tile = 0;  ///< of the segment
    std::int64_t tiles = 0;       ///< of the CTA
    std::int64_t tiles_used = 0;
    std::int64_t used = kNever;  ///< the latest
    bool leads = false;          ///< in replay()
    std::vector<std::int64_t> uses;
    bool use_planned = false;
    std::vector<Pending> pending;
    std::array<Arrival, kUnderWay> arrivals;

    Arrival& arrival(std::int64_t tile) {
      return arrivals[static_cast<std::size_t>(tile) % kUnderWay];
    }
    std::int64_t in_segment() const { return tiles_used - first_tile; }
    std::int64_t segment_end() const { return first_tile + work[segment].k_tiles; }
  };
  /// A warp of a leader uses a k-tile.
  struct Use {
    std::int64_t now;  ///< when it was told
    std::int64_t cta, tile, cycle;
    auto operator<=>(const Use&) const = default;
  };
  /// Something that a follower does.
  struct Action {
    std::int64_t cycle;
    std::size_t place;
    std::int64_t cta;
    std::int64_t tile;               ///< to use, or behind which the transactions come
    LeaderLog::Phase* phase;         ///< none: uses the k-tile
    std::size_t first = 0, end = 0;  ///< transactions of the phase
  };

  bool lone_ctas() const { return kernel_->ctas_per_sm == 1 || kernel_->ctas <= sms_; }
  /// Before a grid or its replay: an empty memory, the first CTAs on their SMs, and nothing done.
  void reset();
  void assign_followers(const std::vector<int>& leaders);
  /// The next CTA for an SM where one of its CTAs ended, or -1: none is left, or the SM has had as
  /// many as any will have, were they handed out evenly. Followers lag behind their leaders, who
  /// would take what is left of a grid at its end.
  std::int64_t take_cta(int sm);
  // `index`: that of a place.
  void begin_cta(std::size_t index, std::int64_t cta, std::int64_t now);
  void begin_segment(std::size_t index, std::int64_t now);
  void end_segment(std::size_t index, std::int64_t now);
  void repeat(std::size_t index, const Pending& what);
  bool try_repeat(std::size_t index, const Pending& what, bool any);
  void repeat_phase(LeaderLog::Phase& phase, const LeaderLog::Repeater& repeater);
  void retry(std::size_t index, bool any = false);
  /// For all who repeat the phase.
  void plan_latest(const LeaderLog::Addition& added);
  void plan_repeat(LeaderLog::Phase& phase, std::size_t first, const LeaderLog::Repeater& repeater);
  void plan_use(std::size_t index);
  void plan(const Action& action);
  bool is_there(Place& place, const LeaderLog::Tile* shown);
  std::int64_t use_cycle(Place& place, const LeaderLog::Tile* shown) const;
  /// What the leaders used is known from the cycle after it was told.
  void look_at_uses(std::int64_t now);
  void act_before(std::int64_t cycle, int sm);
  void use(const Action& action);
  void make_transactions(const Action& action);
  /// When `bytes` that come at `cycle` are in the shared memory of an SM.
  std::int64_t written(int sm, std::int64_t cycle, std::int64_t bytes);
  void move(const Action& action, const LeaderLog::Transaction& transaction);

  L2AndDram l2_and_dram_;
  int partitions_;
  int sms_;
  double written_per_cycle_;
  double clock_mhz_ = 0, l2_share_ = 1;
  const KernelLaunch* kernel_ = nullptr;
  std::vector<int> leaders_;  ///< SMs
  LeaderLog log_;
  std::vector<Place> places_;
  std::vector<std::vector<std::size_t>> places_of_leader_;
  std::vector<Throughput> shared_memories_;  ///< per SM, in bytes
  /// In the order in which the memory looks at requests: of a cycle, SM after SM.
  CycleQueue<Action> actions_;
  std::vector<Use> uses_;  ///< that were told and not looked at
  std::int64_t handed_out_ = 0, ended_ = 0;
  std::vector<std::int64_t> ctas_of_sm_;                        ///< handed out
  std::vector<std::size_t> places_taken_;                       ///< of each leader
  std::vector<std::pair<std::int64_t, std::size_t>> resident_;  ///< CTA of a leader and its place
  std::vector<CtaOfFollower> ended_ctas_;
  std::int64_t now_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace sptc::sim
