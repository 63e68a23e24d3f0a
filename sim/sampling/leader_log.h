// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sm/kernel_launch.h"
#include "sim/sm/memory_request.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace sptc::sim {

/// What the simulated SMs of a grid do with their k-tiles, for others to do the same (Followers).
///
/// Transactions are noted in phases, by how long they come after what they wait for: the start of a
/// segment of work (its first copies), the use of a k-tile (the copies of a later one), the use of
/// the last one (stores). A k-tile is used when the last warp has it. Where a leader waited for its
/// bytes, a follower uses it as long after its own bytes are there; where it did not, as long after
/// the k-tile before, for that is how long a k-tile takes.
class LeaderLog {
 public:
  // Cycles before and after all others, from which others can be taken or to which added.
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 4;
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max() / 4;

  struct Transaction {
    enum class Kind {
      kRead,
      kWrite,
      kEnd,  ///< none: the next segment starts
    };
    Kind kind = Kind::kRead;
    std::int64_t cycle = 0;
    std::int64_t tiles_ahead = 0;  ///< its k-tile, from the one that it comes after
    const WarpInstruction* instruction = nullptr;
    int warp = 0;
  };
  /// Who repeats the transactions of a phase.
  struct Repeater {
    std::size_t place = 0;
    std::int64_t cta = 0;
    std::int64_t tile = 0;    ///< what the phase comes after, or the first one of the segment
    std::int64_t anchor = 0;  ///< cycle
  };
  /// Transactions that come after something.
  struct Phase {
    std::int64_t anchor = kUnknown;  ///< cycle of what they come after
    /// Of copies in the main loop, which wait for a free stage if it is not the data that they come
    /// behind: the least from there to the first of them.
    std::int64_t* delay = nullptr;
    std::vector<Transaction> transactions;
    std::vector<Repeater> repeaters;
  };
  /// Of A, with its metadata, and of B: what passes the registers is stored one after the other.
  using OfOperands = std::array<std::int64_t, 2>;
  std::size_t index_of(Operand operand) const { return staged_ && operand == Operand::kB ? 1 : 0; }

  struct Tile {
    OfOperands there{kNever, kNever};  ///< cycle from which on it is in shared memory
    std::int64_t used = kNever;        ///< by the last warp
    int warps = 0;                     ///< that use it
    int reads = 0;                     ///< transactions that copy it
    /// Cycles from the use of the k-tile before; of the first one 0.
    std::int64_t since_previous = 0;
    bool waited = true;               ///< for its bytes
    std::size_t last_operand = 0;     ///< that was there, by index_of()
    std::int64_t arrival_to_use = 0;  ///< cycles from when that was there
    bool first_of_segment = false;
    bool has_copies = false;  ///< a later k-tile is asked for behind it
    Phase copies_behind;
    bool known() const { return copies_behind.anchor != kUnknown; }
  };
  /// How a segment ends: with the output tile stored, after the partial sums of so many other CTAs
  /// were added; or, without a number, with partial sums of its own handed on.
  using Ending = std::optional<int>;
  static Ending ending_of(const WorkSegment& work) {
    return work.finishes ? Ending(work.peers) : std::nullopt;
  }
  struct Segment {
    std::int64_t cta = 0;
    std::int64_t first_tile = 0;  ///< of the CTA's
    bool begins_cta = false;
    Ending ending;
    Phase start;                     ///< first copies
    std::int64_t started_tiles = 0;  ///< of those
    std::vector<Tile> tiles;
    Phase finish;         ///< stores behind the last k-tile
    bool stores = false;  ///< some of them came
  };
  /// Where a leader has CTAs one after the other.
  struct Place {
    std::size_t leader = 0;
    std::deque<Segment> segments;
    std::size_t begun = 0;  ///< of those
  };

  /// Before a grid.
  void start(const KernelLaunch& kernel, std::size_t leaders);

  /// What `cta` works on, segment by segment.
  std::span<const WorkSegment> work_of(std::int64_t cta) const;

  /// What was added to a phase: its transactions from `first` on.
  struct Addition {
    Phase& phase;
    std::size_t first;
  };

  // What a leader does, in its place `number`.
  void begin_cta(std::size_t leader, std::size_t number, std::int64_t cta, std::int64_t now);
  /// A CTA, and with it its last segment, ends.
  Addition end_cta(std::int64_t cta, std::int64_t now);
  /// A transaction is about to be noted: the end of the segment before, if it is the first one of
  /// the next segment.
  std::optional<Addition> end_segment(const RequestInfo& info, bool write, std::int64_t now);
  /// A transaction, and from when on its bytes are there.
  Addition note(const RequestInfo& info, bool write, std::int64_t now, std::int64_t there);
  /// A warp uses k-tile `k_tile`. Whether it was the last warp.
  bool note_used(std::int64_t cta, std::int64_t k_tile, std::int64_t cycle);
  std::size_t leader_of(std::int64_t cta) const { return ctas_.at(cta).place->leader; }

  /// A segment of a leader, by its number in a place.
  struct Reference {
    std::size_t leader = 0, place = 0, segment = 0;
  };
  /// The segment that stands beside segment `to.segment` of a follower of `to.leader`: that of the
  /// leader's place or, where it has not come as far, the same of another leader, preferably in the
  /// same place. Where none has come as far, or CTAs stay and their segments pass into each other,
  /// the leader's latest one.
  Reference reference(const Reference& to) const;

  /// Before all is repeated once more, now that all is known.
  void start_again();

  // What others repeat; none where no leader has shown it yet.
  /// Whether the leader has that k-tile, shown or not.
  bool has(const Reference& to, std::int64_t tile) {
    return tile < static_cast<std::int64_t>(at(to).tiles.size());
  }
  Tile* tile_of(const Reference& to, std::int64_t tile);
  /// Of a segment of `tiles`, and how many of those it asks for.
  struct Start {
    Phase* phase = nullptr;
    std::int64_t tiles = 0;
  };
  Start start_of(const Reference& to, std::int64_t tiles);
  /// A k-tile that no leader asks for in its place: all copies in one cycle.
  Phase& copies_at_once() { return at_once_; }
  Phase* copies_behind(const Reference& to, std::int64_t tile);
  /// Of a segment with that ending; where no leader has shown one, of a segment that finishes its
  /// tile, or does not, as well. `any`: even of one with another ending.
  Phase* finish_of(const Reference& to, Ending ending, bool any);

  /// When `transaction` of `phase` comes, from what the phase comes after.
  static std::int64_t offset(const Phase& phase, const Transaction& transaction);

  // Of the kernel.
  std::int64_t distance() const { return distance_; }
  std::int64_t first_tiles() const { return first_tiles_; }
  bool persistent() const { return persistent_; }
  /// Whether copies come behind tile `tile` of `end`, those that come at the start aside.
  bool asks_behind(std::int64_t tile, std::int64_t end) const {
    return tile + distance_ >= first_tiles_ && tile + distance_ < end;
  }
  bool staged() const { return staged_; }
  /// Transactions that copy a k-tile, those beyond the edge of a matrix included.
  int pieces() const { return static_cast<int>(copies_.size()) * copying_warps_; }

  /// First cycle in which a k-tile that is `there` is used, as `shown` was or, if none, the mean
  /// one; kUnknown at first.
  std::int64_t usable(const OfOperands& there, const Tile* shown) const;
  /// Whether some leader has shown a step from use to use, the later one the first of a segment or
  /// not, that waited for nothing.
  bool knows_step(bool first) const { return step_[first ? 0 : 1] != kUnknown; }
  /// Least cycles of such a step: the least that was shown, and no less than an SM needs.
  std::int64_t step(bool first) const {
    return std::max(knows_step(first) ? step_[first ? 0 : 1] : 0, kernel_->k_tile_cycles);
  }
  /// What `tile` took at least.
  std::int64_t step(const Tile& tile) const;

 private:
  struct Cta {
    Place* place = nullptr;
    std::size_t segment = 0;  ///< its first one
  };
  struct Found {
    Place* place = nullptr;
    std::size_t segment = 0;
    Segment& in() const { return place->segments[segment]; }
  };

  void read_program();
  Found find(std::int64_t cta, std::int64_t tile);
  Segment& at(const Reference& to) { return places_[to.leader][to.place].segments[to.segment]; }
  bool beyond_edge(std::int64_t cta, std::int64_t tile) const;
  void begin_segment(const Found& found, std::int64_t now);
  void add_beyond_edge(Phase& phase, const RequestInfo& info, bool write, std::int64_t now,
                       std::int64_t tiles_ahead);
  /// Where a copy is noted, and how far its k-tile is ahead of what the phase comes after.
  struct PlaceOfCopy {
    Phase& phase;
    std::int64_t tiles_ahead;
  };
  PlaceOfCopy place_of_copy(const RequestInfo& info, const Found& found);
  static Addition add_end(Phase& finish, std::int64_t now);
  void note_step(const Tile* before, Tile& tile);
  bool comes_late(const Tile& tile) const;
  void classify(Tile& tile);
  static void note_delay(Phase& phase);

  const KernelLaunch* kernel_ = nullptr;
  std::int64_t distance_ = 1;  ///< from the k-tile that is used to the one that is asked for then
  std::int64_t first_tiles_ = 1;  ///< that are asked for at the start
  bool persistent_ = false;       ///< copies run ahead into the next segment
  /// Tiles pass the registers: what of them the L1 has is known for the leader alone, and all its
  /// transactions are repeated.
  bool staged_ = false;
  std::vector<const WarpInstruction*> copies_;  ///< of a k-tile in the main loop
  int first_copying_warp_ = 0, copying_warps_ = 1;
  std::array<WorkSegment, 1> one_tile_;
  std::vector<std::vector<Place>> places_;  ///< per leader
  std::unordered_map<std::int64_t, Cta> ctas_;
  Tile* latest_copying_ = nullptr;
  bool some_copy_ = false;  ///< behind k-tiles of theirs
  Phase at_once_;           ///< copies_at_once()
  Segment* fullest_start_ = nullptr;
  std::map<Ending, Segment*> latest_finish_;

  /// Cycles from a k-tile that is there to its use, by what of it came last.
  struct Gap {
    std::int64_t least = kUnknown;
    std::int64_t mean = kUnknown;  ///< of those that were waited for
    std::int64_t count = 0, sum = 0;
  };
  std::array<Gap, 2> gaps_{};
  std::array<std::int64_t, 2> step_{};
  /// Least from a use to the next copy: of the first k-tile of a segment, of the others.
  std::array<std::int64_t, 2> delay_{};
};

}  // namespace sptc::sim
