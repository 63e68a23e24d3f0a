// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/followers.h"

#include "models/base/error.h"
#include "sim/memory/owning_partition.h"

#include <algorithm>

namespace sptc::sim {
namespace {

// A k-tile that is used so soon after it came was waited for, to the accuracy with which the
// banks of the shared memory are known here.
constexpr std::int64_t kSoon = 40;
// And where it came in so late a part of the time since the one before, if copies are farther
// ahead.
constexpr std::int64_t kLateShare = 4;
// Whole cycles in which a step that waits for nothing may differ from the shortest one.
constexpr std::int64_t kStepSpread = 8;

/// k-tiles of all work of a CTA; 0 where the grid has no such CTA.
std::int64_t tiles_of(const KernelLaunch& kernel, std::int64_t cta) {
  if (cta >= kernel.ctas) {
    return 0;
  }
  if (kernel.work == nullptr) {
    return kernel.program->iterations;
  }
  std::int64_t tiles = 0;
  for (const WorkSegment& segment : kernel.work->segments(cta)) {
    tiles += segment.k_tiles;
  }
  return tiles;
}

}  // namespace

Followers::Tile& Followers::LeaderCta::tile(std::int64_t number) {
  if (static_cast<std::int64_t>(tiles.size()) <= number) {
    tiles.resize(static_cast<std::size_t>(number) + 1);
  }
  return tiles[static_cast<std::size_t>(number)];
}

Followers::Followers(const MemorySpec& spec, double clock_mhz, int sms, Bytes written_per_cycle)
    : l2_and_dram_(spec, clock_mhz, sms),
      partitions_(spec.l2_partitions),
      sms_(sms),
      written_per_cycle_(static_cast<double>(written_per_cycle.count())) {}

void Followers::start(double clock_mhz, const KernelLaunch& kernel,
                      const std::vector<int>& leaders) {
  l2_and_dram_.reset(clock_mhz);
  kernel_ = &kernel;
  read_program(kernel);
  assign_followers(leaders);
  ctas_.clear();
  index_of_cta_.clear();
  shared_memories_.assign(static_cast<std::size_t>(sms_), Throughput(written_per_cycle_));
  actions_ = {};
  order_ = 0;
  now_ = end_ = 0;
  offsets_tile_ = -1;
  least_gap_ = gap_ = step_ = kUnknown;
  gaps_ = gap_sum_ = 0;
  delay_ = {kUnknown, kUnknown};
}

void Followers::read_program(const KernelLaunch& kernel) {
  const WarpProgram& program = *kernel.program;
  const bool producer = program.producer != nullptr;
  distance_ = 1;
  staged_ = false;
  pieces_.clear();
  for (const WarpInstruction& instruction : producer ? program.producer->loop : program.loop) {
    staged_ = staged_ || instruction.opcode == Opcode::kLoadGlobal;
    if (instruction.opcode == Opcode::kWaitStage) {
      // The last group that reads a stage is done when the one behind it is under way.
      distance_ = std::max<std::int64_t>(1, instruction.stages - 1);
    }
    if (instruction.opcode == Opcode::kCopy) {
      distance_ = std::max<std::int64_t>(distance_, instruction.tiles_ahead);
      for (int warp = 0; warp < (producer ? 1 : kernel.warps_per_cta); ++warp) {
        pieces_.push_back({&instruction, producer ? kernel.warps_per_cta : warp, 0});
      }
    }
  }
  first_tiles_ = producer ? distance_ + 1 : distance_;
  ensure(first_tiles_ < static_cast<std::int64_t>(kUnderWay), "a kernel copies too far ahead");
}

void Followers::assign_followers(const std::vector<int>& leaders) {
  leaders_.clear();
  for (const int sm : leaders) {
    leaders_.push_back({sm, {}});
  }
  const auto active = static_cast<int>(std::min<std::int64_t>(sms_, kernel_->ctas));
  const bool all_partitions = static_cast<int>(leaders.size()) >= partitions_;
  for (int sm = 0; sm < active; ++sm) {
    if (std::find(leaders.begin(), leaders.end(), sm) != leaders.end()) {
      continue;
    }
    const auto leader =
        std::find_if(leaders_.rbegin(), leaders_.rend(), [&](const Leader& candidate) {
          const bool alike =
              partition_of_sm(sm, partitions_) == partition_of_sm(candidate.sm, partitions_);
          return candidate.sm < sm && (alike || !all_partitions);
        });
    ensure(leader != leaders_.rend(), "an SM has nobody to follow");
    leader->followers.push_back(sm);
  }
}

std::size_t Followers::cta_of(std::size_t leader, std::int64_t number) {
  const auto [found, added] = index_of_cta_.try_emplace(number, ctas_.size());
  if (added) {
    LeaderCta& cta = ctas_.emplace_back();
    cta.leader = leader;
    cta.cta = number;
    for (const int sm : leaders_[leader].followers) {
      FollowerCta& follower = cta.followers.emplace_back();
      follower.cta = number + sm - leaders_[leader].sm;
      follower.tiles = tiles_of(*kernel_, follower.cta);
    }
  }
  return found->second;
}

std::int64_t Followers::access(std::size_t leader, const MemoryRange& range, bool write,
                               const RequestInfo& info, std::int64_t now) {
  const int sm = leaders_[leader].sm;
  act_before(now, sm);
  now_ = std::max(now_, now);
  const std::int64_t done = l2_and_dram_.access(static_cast<std::size_t>(sm), range, write, now);
  const std::size_t index = cta_of(leader, info.asking_cta);
  if (write) {
    ctas_[index].events.push_back({now, info.tile, info.tile, info.instruction, info.warp, true});
  } else {
    const std::int64_t there =
        shared_memories_[static_cast<std::size_t>(sm)].reserve(done, range.bytes);
    note_read(index, info, now, there);
  }
  for (std::size_t i = 0; i < ctas_[index].followers.size(); ++i) {
    plan_events(index, i);
  }
  return done;
}

void Followers::note_read(std::size_t index, const RequestInfo& info, std::int64_t now,
                          std::int64_t there) {
  LeaderCta& cta = ctas_[index];
  Tile& tile = cta.tile(info.tile);
  tile.there = std::max(tile.there, there);
  const bool first = tile.asked == kUnknown;
  tile.asked = std::min(tile.asked, now);
  if (staged_) {
    const bool ahead = info.instruction->tiles_ahead > 0;
    cta.events.push_back(
        {now, ahead ? info.tile - 1 : -1, info.tile, info.instruction, info.warp, false});
    return;
  }
  note_offset(index, info, now - tile.asked);
  if (info.tile < first_tiles_) {
    log_first_copy(cta, info, now);
  } else if (first) {
    note_delay(cta, info.tile - distance_, now);
  }
}

void Followers::note_offset(std::size_t index, const RequestInfo& info, std::int64_t offset) {
  // From the first k-tile, and from the first one in the main loop as soon as there is one.
  if (offsets_tile_ < 0 || (offsets_tile_ < first_tiles_ && info.tile >= first_tiles_)) {
    offsets_tile_ = info.tile;
    offsets_cta_ = index;
  }
  if (info.tile != offsets_tile_ || index != offsets_cta_) {
    return;
  }
  for (Piece& piece : pieces_) {
    if (piece.copy->operand == info.operand && piece.warp == info.warp) {
      piece.offset = offset;
    }
  }
}

void Followers::note_delay(LeaderCta& cta, std::int64_t tile, std::int64_t now) {
  if (!cta.tile(tile).known) {
    return;
  }
  std::int64_t& delay = delay_behind(tile);
  const bool first = delay == kUnknown;
  delay = std::min(delay, std::max<std::int64_t>(0, now - cta.tile(tile).used));
  for (std::size_t i = 0; first && i < ctas_.size(); ++i) {
    plan_all(i);
  }
}

void Followers::log_first_copy(LeaderCta& cta, const RequestInfo& info, std::int64_t now) {
  Tile& tile = cta.tile(info.tile);
  if (tile.events == 0) {
    // What lies beyond the edge of the matrix for the leader need not for all.
    for (const Piece& piece : pieces_) {
      if (kernel_->traffic->range(cta.cta, piece.warp, *piece.copy, info.tile).bytes == 0) {
        cta.events.push_back({now, -1, info.tile, piece.copy, piece.warp, false});
        ++tile.events;
      }
    }
  }
  cta.events.push_back({now, -1, info.tile, info.instruction, info.warp, false});
  ++tile.events;
}

void Followers::tile_used(std::int64_t number, std::int64_t tile_number, std::int64_t cycle) {
  const auto found = index_of_cta_.find(number);
  if (found == index_of_cta_.end()) {
    return;  // it got all from the L1 so far
  }
  LeaderCta& cta = ctas_[found->second];
  Tile& tile = cta.tile(tile_number);
  tile.used = std::max(tile.used, cycle);
  if (++tile.warps == kernel_->warps_per_cta) {
    note_step(cta, tile_number);
    tile.known = true;
    plan_all(found->second);
  }
}

void Followers::note_step(LeaderCta& cta, std::int64_t number) {
  Tile& tile = cta.tile(number);
  const std::int64_t gap = tile.used - tile.there;
  least_gap_ = std::min(least_gap_, gap);
  bool waited = gap <= least_gap_ + kSoon;
  if (number > 0) {
    const std::int64_t since = tile.used - cta.tile(number - 1).used;
    waited = waited || (distance_ > 1 && gap < since / kLateShare);
    if (!waited && !first_of_result(number)) {
      step_ = std::min(step_, since);
    }
    waited = waited || (step_ != kUnknown && since > step_ + kStepSpread && gap < step_);
    tile.step = !waited ? since : step_ == kUnknown ? 0 : std::min(step_, since);
  }
  if (waited) {
    gap_sum_ += gap;
    ++gaps_;
    gap_ = (gap_sum_ + gaps_ / 2) / gaps_;
  } else if (gaps_ == 0) {
    gap_ = least_gap_;
  }
}

void Followers::plan(Action::Kind kind, std::int64_t cycle, std::size_t cta, std::size_t follower,
                     std::int64_t what, std::size_t first_piece, std::size_t pieces) {
  const int sm = leaders_[ctas_[cta].leader].followers[follower];
  actions_.push(
      {std::max(cycle, now_), sm, order_++, kind, cta, follower, what, first_piece, pieces});
}

void Followers::plan_all(std::size_t index) {
  for (std::size_t i = 0; i < ctas_[index].followers.size(); ++i) {
    plan_use(index, i);
    plan_events(index, i);
  }
}

void Followers::plan_events(std::size_t index, std::size_t number) {
  LeaderCta& cta = ctas_[index];
  FollowerCta& follower = cta.followers[number];
  for (; follower.events < cta.events.size(); ++follower.events) {
    const Event& event = cta.events[follower.events];
    if (event.tile >= follower.tiles) {
      continue;
    }
    std::int64_t lag = 0;
    if (event.behind >= 0) {
      const Tile& tile = cta.tile(event.behind);
      if (follower.tiles_used <= event.behind || !tile.known) {
        return;
      }
      lag = std::max<std::int64_t>(0, follower.used - tile.used);
    }
    if (!event.write) {
      Arrival& arrival = follower.arrival(event.tile);
      if (arrival.tile != event.tile) {
        arrival = {event.tile, kNever, 0};
      }
      ++arrival.pending;
    }
    plan(Action::Kind::kRepeat, event.cycle + lag, index, number,
         static_cast<std::int64_t>(follower.events));
  }
}

bool Followers::may_use(LeaderCta& cta, FollowerCta& follower) const {
  const std::int64_t tile = follower.tiles_used;
  const Tile& of_leader = cta.tile(tile);
  const Arrival& arrival = follower.arrival(tile);
  if (staged_) {
    return of_leader.known && (arrival.tile != tile || arrival.pending == 0);
  }
  const bool all_asked = tile >= first_tiles_ || of_leader.events == pieces_.size();
  return arrival.tile == tile && arrival.pending == 0 && all_asked;
}

void Followers::plan_use(std::size_t index, std::size_t number) {
  LeaderCta& cta = ctas_[index];
  FollowerCta& follower = cta.followers[number];
  const std::int64_t tile = follower.tiles_used;
  if (follower.use_planned || tile >= follower.tiles || !may_use(cta, follower)) {
    return;
  }
  // Between two results the leader stores; how long that takes it has to show, as all that one
  // needs to go ahead of it.
  const bool behind_stores = tile > 0 && first_of_result(tile);
  if (!cta.tile(tile).known && (behind_stores || gap_ == kUnknown)) {
    return;
  }
  const std::int64_t next = tile + distance_;
  if (!staged_ && next >= first_tiles_ && next < follower.tiles && delay_behind(tile) == kUnknown) {
    return;
  }
  follower.use_planned = true;
  plan(Action::Kind::kUse, use_cycle(cta, follower), index, number, tile);
}

std::int64_t Followers::use_cycle(LeaderCta& cta, FollowerCta& follower) const {
  const Tile& tile = cta.tile(follower.tiles_used);
  const Arrival& arrival = follower.arrival(follower.tiles_used);
  const std::int64_t there = arrival.tile == follower.tiles_used ? arrival.there : kNever;
  const std::int64_t step = tile.known ? tile.step : step_ == kUnknown ? 0 : step_;
  return std::max(follower.used + step, there + gap_);
}

void Followers::act_before(std::int64_t cycle, int sm) {
  while (!actions_.empty() && (actions_.top().cycle < cycle ||
                               (actions_.top().cycle == cycle && actions_.top().sm < sm))) {
    const Action action = actions_.top();
    actions_.pop();
    now_ = std::max(now_, action.cycle);
    switch (action.kind) {
      case Action::Kind::kRepeat:
        repeat(action);
        break;
      case Action::Kind::kAsk:
        ask(action);
        break;
      case Action::Kind::kUse:
        use(action);
        break;
    }
  }
}

std::int64_t Followers::move(int sm, const MemoryRange& range, bool write, std::int64_t now) {
  if (range.bytes == 0) {
    return now;
  }
  const auto index = static_cast<std::size_t>(sm);
  const std::int64_t done = l2_and_dram_.access(index, range, write, now);
  end_ = std::max(end_, done);
  return write ? done : shared_memories_[index].reserve(done, range.bytes);
}

void Followers::repeat(const Action& action) {
  LeaderCta& cta = ctas_[action.cta];
  FollowerCta& follower = cta.followers[action.follower];
  const Event& event = cta.events[static_cast<std::size_t>(action.what)];
  const MemoryRange range =
      kernel_->traffic->range(follower.cta, event.warp, *event.instruction, event.tile);
  const std::int64_t done = move(action.sm, range, event.write, action.cycle);
  if (!event.write) {
    Arrival& arrival = follower.arrival(event.tile);
    arrival.there = std::max(arrival.there, done);
    --arrival.pending;
    plan_use(action.cta, action.follower);
  }
}

void Followers::ask(const Action& action) {
  FollowerCta& follower = ctas_[action.cta].followers[action.follower];
  Arrival& arrival = follower.arrival(action.what);
  for (std::size_t i = 0; i < action.pieces; ++i) {
    const Piece& piece = pieces_[action.first_piece + i];
    const MemoryRange range =
        kernel_->traffic->range(follower.cta, piece.warp, *piece.copy, action.what);
    arrival.there = std::max(arrival.there, move(action.sm, range, false, action.cycle));
  }
  if (--arrival.pending == 0) {
    plan_use(action.cta, action.follower);
  }
}

void Followers::use(const Action& action) {
  LeaderCta& cta = ctas_[action.cta];
  FollowerCta& follower = cta.followers[action.follower];
  if (const std::int64_t cycle = use_cycle(cta, follower); cycle > action.cycle) {
    plan(Action::Kind::kUse, cycle, action.cta, action.follower, action.what);
    return;  // the leader has shown meanwhile that it takes longer
  }
  follower.use_planned = false;
  follower.used = action.cycle;
  ++follower.tiles_used;
  const std::int64_t next = action.what + distance_;
  if (!staged_ && next >= first_tiles_ && next < follower.tiles) {
    plan_copies(action, next);
  }
  plan_use(action.cta, action.follower);
  plan_events(action.cta, action.follower);
}

void Followers::plan_copies(const Action& behind, std::int64_t tile) {
  Arrival& arrival = ctas_[behind.cta].followers[behind.follower].arrival(tile);
  arrival = {tile, kNever, 0};
  const std::int64_t begin = behind.cycle + delay_behind(behind.what);
  std::size_t end = 0;
  for (std::size_t first = 0; first < pieces_.size(); first = end) {
    const std::int64_t offset = pieces_[first].offset;
    while (end < pieces_.size() && pieces_[end].offset == offset) {
      ++end;  // warps that ask in the same cycle
    }
    ++arrival.pending;
    plan(Action::Kind::kAsk, begin + offset, behind.cta, behind.follower, tile, first, end - first);
  }
}

std::int64_t Followers::finish() {
  act_before(kUnknown, 0);
  return end_;
}

}  // namespace sptc::sim
