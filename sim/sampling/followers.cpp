// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/followers.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "sim/memory/owning_partition.h"

#include <algorithm>
#include <utility>

namespace sptc::sim {
namespace {

// Output tiles of a CTA over which it averages out what CTAs of an SM take from each other.
constexpr std::size_t kManySegments = 4;

}  // namespace

using Phase = LeaderLog::Phase;
using Transaction = LeaderLog::Transaction;

Followers::Followers(const MemorySpec& spec, double clock_mhz, int sms, Bytes written_per_cycle)
    : l2_and_dram_(spec, clock_mhz, sms),
      partitions_(spec.l2_partitions),
      sms_(sms),
      written_per_cycle_(static_cast<double>(written_per_cycle.count())),
      ctas_of_sm_(static_cast<std::size_t>(sms)) {}

void Followers::start(double clock_mhz, const KernelLaunch& kernel, const std::vector<int>& leaders,
                      double l2_share) {
  clock_mhz_ = clock_mhz;
  l2_share_ = l2_share;
  kernel_ = &kernel;
  reset();
  leaders_ = leaders;
  log_.start(kernel, leaders.size());
  ensure(log_.first_tiles() < static_cast<std::int64_t>(kUnderWay),
         "a kernel copies too far ahead");
  places_taken_.assign(leaders.size(), 0);
  resident_.clear();
  assign_followers(leaders);
}

void Followers::reset() {
  l2_and_dram_.reset(clock_mhz_, l2_share_);
  shared_memories_.assign(static_cast<std::size_t>(sms_), Throughput(written_per_cycle_));
  actions_.clear();
  uses_.clear();
  ended_ctas_.clear();
  now_ = end_ = ended_ = 0;
  handed_out_ = std::min<std::int64_t>(kernel_->ctas, std::int64_t{sms_} * kernel_->ctas_per_sm);
  for (std::int64_t sm = 0; sm < sms_; ++sm) {
    ctas_of_sm_[static_cast<std::size_t>(sm)] =
        ceil_div(std::max<std::int64_t>(0, handed_out_ - sm), std::int64_t{sms_});
  }
}

void Followers::assign_followers(const std::vector<int>& leaders) {
  places_.clear();
  places_of_leader_.assign(leaders.size(), {});
  const auto active = static_cast<int>(std::min<std::int64_t>(sms_, kernel_->ctas));
  const bool all_partitions = static_cast<int>(leaders.size()) >= partitions_;
  for (int sm = 0; sm < active; ++sm) {
    if (std::find(leaders.begin(), leaders.end(), sm) != leaders.end()) {
      continue;
    }
    const auto leader = std::find_if(leaders.rbegin(), leaders.rend(), [&](int candidate) {
      const bool same_partition =
          partition_of_sm(sm, partitions_) == partition_of_sm(candidate, partitions_);
      return candidate < sm && (same_partition || !all_partitions);
    });
    ensure(leader != leaders.rend(), "an SM has nobody to follow");
    const auto index = static_cast<std::size_t>(leaders.rend() - leader) - 1;
    for (int number = 0; number < kernel_->ctas_per_sm; ++number) {
      places_of_leader_[index].push_back(places_.size());
      Place& place = places_.emplace_back();
      place.home = {index, static_cast<std::size_t>(number), 0};
      place.sm = sm;
    }
  }
}

// --- what the leaders do

std::int64_t Followers::next_cta(std::size_t leader, std::int64_t ended, std::int64_t now) {
  look_at_uses(now);
  act_before(now, leaders_[leader]);
  now_ = std::max(now_, now);
  std::size_t number = 0;
  std::int64_t cta = -1;
  if (ended < 0) {  // the first ones, SM after SM
    number = places_taken_[leader]++;
    cta = leaders_[leader] + static_cast<std::int64_t>(number) * sms_;
    cta = cta < handed_out_ ? cta : -1;
  } else {
    ++ended_;
    const auto place = std::find_if(resident_.begin(), resident_.end(),
                                    [&](const auto& entry) { return entry.first == ended; });
    ensure(place != resident_.end(), "a CTA ended that was not there");
    number = place->second;
    resident_.erase(place);
    plan_latest(log_.end_cta(ended, now));
    cta = take_cta(leaders_[leader]);
  }
  if (cta >= 0) {
    resident_.emplace_back(cta, number);
    log_.begin_cta(leader, number, cta, now);
  }
  for (const std::size_t index : places_of_leader_[leader]) {
    Place& place = places_[index];
    if (place.home.place != number) {
      continue;
    }
    if (const std::int64_t first = place.sm + static_cast<std::int64_t>(number) * sms_;
        ended < 0 && first < handed_out_) {
      begin_cta(index, first, now);
    } else {
      retry(index);
    }
  }
  return cta;
}

std::int64_t Followers::access(std::size_t leader, const MemoryRange& range, bool write,
                               const RequestInfo& info, std::int64_t now) {
  const int sm = leaders_[leader];
  look_at_uses(now);
  act_before(now, sm);
  now_ = std::max(now_, now);
  const std::int64_t done = l2_and_dram_.access(static_cast<std::size_t>(sm), range, write, now,
                                                info.operand, &info.waited_for);
  const std::int64_t there = write ? done : written(sm, done, range.bytes);
  if (const auto ended = log_.end_segment(info, write, now)) {
    plan_latest(*ended);
  }
  plan_latest(log_.note(info, write, now, there));
  return done;
}

std::int64_t Followers::written(int sm, std::int64_t cycle, std::int64_t bytes) {
  // What passes the registers goes into the L1 and from there to its stage.
  const std::int64_t passes = log_.staged() ? 2 : 1;
  return shared_memories_[static_cast<std::size_t>(sm)].reserve(cycle, passes * bytes);
}

void Followers::tile_used(std::int64_t cta, std::int64_t tile, std::int64_t cycle,
                          std::int64_t now) {
  look_at_uses(now);
  uses_.push_back({now, cta, tile, cycle});
}

void Followers::look_at_uses(std::int64_t now) {
  if (uses_.empty() || uses_.front().now >= now) {
    return;
  }
  std::sort(uses_.begin(), uses_.end());
  for (const Use& use : uses_) {
    if (log_.note_used(use.cta, use.tile, use.cycle)) {
      for (const std::size_t place : places_of_leader_[log_.leader_of(use.cta)]) {
        retry(place);
      }
    }
  }
  uses_.clear();
}

// --- what the followers do
//
// begin_segment() repeats the first copies of a leader: plan_repeat() plans each for its cycle, and
// make_transactions() makes it then. When all of a k-tile has come, plan_use() plans its use; use()
// repeats the copies that the leader made behind that k-tile and, behind the last one of the
// segment, the stores, whose end is that of the segment: end_segment(). What no leader has shown
// yet stays pending, and is tried again when one has shown more: retry().

std::int64_t Followers::take_cta(int sm) {
  std::int64_t& taken = ctas_of_sm_[static_cast<std::size_t>(sm)];
  if (handed_out_ == kernel_->ctas || taken == kernel_->most_ctas_of_sm(sms_)) {
    return -1;
  }
  ++taken;
  return handed_out_++;
}

void Followers::begin_cta(std::size_t index, std::int64_t cta, std::int64_t now) {
  Place& place = places_[index];
  place.cta = cta;
  place.work = log_.work_of(cta);
  place.segment = 0;
  place.first_tile = place.tiles_used = place.tiles = 0;
  for (const WorkSegment& work : place.work) {
    place.tiles += work.k_tiles;
  }
  place.used = kNever;
  place.arrivals.fill({});
  begin_segment(index, now);
}

void Followers::begin_segment(std::size_t index, std::int64_t now) {
  Place& place = places_[index];
  place.home.segment = place.segments + place.segment;
  const LeaderLog::Reference reference = place.reference = log_.reference(place.home);
  std::vector<std::size_t>& waiting = places_of_leader_[reference.leader];
  if (std::find(waiting.begin(), waiting.end(), index) == waiting.end()) {
    waiting.push_back(index);
  }
  if (place.segment == 0 || !log_.persistent()) {
    place.used = kNever;
    const std::int64_t tiles =
        log_.persistent() ? place.tiles : place.segment_end() - place.first_tile;
    const LeaderLog::Start start = log_.start_of(reference, tiles);
    repeat_phase(*start.phase, {index, place.cta, place.first_tile, now});
    for (std::int64_t tile = start.tiles; tile < std::min(log_.first_tiles(), tiles); ++tile) {
      repeat_phase(log_.copies_at_once(),
                   {index, place.cta, place.first_tile + tile - log_.distance(), now});
    }
  }
  plan_use(index);
}

void Followers::end_segment(std::size_t index, std::int64_t now) {
  Place& place = places_[index];
  if (place.segment + 1 < place.work.size()) {
    place.first_tile = place.segment_end();
    ++place.segment;
    begin_segment(index, now);
    return;
  }
  ++ended_;
  end_ = std::max(end_, now);
  if (!place.uses.empty()) {
    ended_ctas_.push_back({place.sm, place.cta, std::exchange(place.uses, {})});
  }
  place.segments += place.work.size();
  place.cta = -1;
  if (const std::int64_t cta = take_cta(place.sm); cta >= 0) {
    begin_cta(index, cta, now);
  }
}

void Followers::repeat(std::size_t index, const Pending& what) {
  if (!try_repeat(index, what, false)) {
    places_[index].pending.push_back(what);
  }
}

bool Followers::try_repeat(std::size_t index, const Pending& what, bool any) {
  Phase* phase = nullptr;
  switch (what.kind) {
    case Pending::Kind::kCopies:
      phase = log_.copies_behind(what.reference, what.in_segment);
      break;
    case Pending::Kind::kFinish:
      phase = log_.finish_of(what.reference, what.ending, any);
      break;
  }
  if (phase == nullptr) {
    return false;
  }
  repeat_phase(*phase, {index, what.cta, what.tile, what.anchor});
  return true;
}

void Followers::repeat_phase(Phase& phase, const LeaderLog::Repeater& repeater) {
  phase.repeaters.push_back(repeater);
  plan_repeat(phase, 0, repeater);
}

void Followers::retry(std::size_t index, bool any) {
  std::vector<Pending>& pending = places_[index].pending;
  if (!pending.empty()) {
    std::erase_if(pending, [&](const Pending& what) { return try_repeat(index, what, any); });
  }
  plan_use(index);
}

void Followers::plan_latest(const LeaderLog::Addition& added) {
  for (const LeaderLog::Repeater& repeater : added.phase.repeaters) {
    plan_repeat(added.phase, added.first, repeater);
  }
}

void Followers::plan_repeat(Phase& phase, std::size_t first, const LeaderLog::Repeater& repeater) {
  const std::vector<Transaction>& all = phase.transactions;
  for (std::size_t end = first; first < all.size(); first = end) {
    while (end < all.size() && all[end].cycle == all[first].cycle) {
      ++end;  // warps that ask in the same cycle
    }
    const std::int64_t cycle = repeater.anchor + LeaderLog::offset(phase, all[first]);
    plan({std::max(cycle, now_), repeater.place, repeater.cta, repeater.tile, &phase, first, end});
  }
}

bool Followers::is_there(Place& place, const LeaderLog::Tile* shown) {
  const Arrival& arrival = place.arrival(place.tiles_used);
  const int reads = arrival.tile == place.tiles_used ? arrival.reads : 0;
  if (log_.staged() && log_.has(place.reference, place.in_segment())) {
    return shown != nullptr && reads >= shown->reads;
  }
  return reads >= log_.pieces();
}

void Followers::plan_use(std::size_t index) {
  Place& place = places_[index];
  if (place.cta < 0 || place.use_planned || place.tiles_used == place.segment_end()) {
    return;
  }
  LeaderLog::Tile* const shown = log_.tile_of(place.reference, place.in_segment());
  // Between two results a leader stores; how long that takes it has to show, as all that one
  // needs to go ahead of it.
  const bool behind_stores = place.in_segment() == 0 && place.used != kNever;
  if (!is_there(place, shown) || log_.usable({}, nullptr) == kUnknown ||
      (shown == nullptr && behind_stores && !log_.knows_step(true))) {
    return;
  }
  place.use_planned = true;
  plan({std::max(use_cycle(place, shown), now_), index, place.cta, place.tiles_used, nullptr});
}

void Followers::plan(const Action& action) {
  actions_.push(action.cycle, places_[action.place].sm, action);
}

std::int64_t Followers::use_cycle(Place& place, const LeaderLog::Tile* shown) const {
  const Arrival& arrival = place.arrival(place.tiles_used);
  const std::int64_t usable =
      arrival.tile == place.tiles_used ? log_.usable(arrival.there, shown) : kNever;
  const std::int64_t step =
      shown != nullptr ? log_.step(*shown) : log_.step(place.in_segment() == 0);
  return std::max(place.used == kNever ? kNever : place.used + step, usable);
}

void Followers::use(const Action& action) {
  Place& place = places_[action.place];
  if (const std::int64_t cycle =
          use_cycle(place, log_.tile_of(place.reference, place.in_segment()));
      cycle > action.cycle) {
    // The leader has shown meanwhile that it takes longer.
    plan({cycle, action.place, action.cta, action.tile, nullptr});
    return;
  }
  place.use_planned = false;
  place.used = action.cycle;
  if (kernel_->recorder != nullptr && lone_ctas() && !place.leads) {
    place.uses.push_back(action.cycle);
  }
  const std::int64_t in_segment = place.in_segment();
  const WorkSegment& work = place.work[place.segment];
  const bool last = ++place.tiles_used == place.segment_end();
  const std::int64_t first = log_.persistent() ? 0 : place.first_tile;
  const std::int64_t end = log_.persistent() ? place.tiles : place.segment_end();
  Pending what{Pending::Kind::kCopies,
               place.reference,
               {},
               action.tile,
               in_segment,
               place.cta,
               action.cycle};
  if (log_.asks_behind(action.tile - first, end - first)) {
    repeat(action.place, what);
  }
  if (last) {
    what.kind = Pending::Kind::kFinish;
    what.ending = LeaderLog::ending_of(work);
    repeat(action.place, what);
    if (log_.persistent()) {
      end_segment(action.place, action.cycle);
    }
  }
  plan_use(action.place);
}

void Followers::make_transactions(const Action& action) {
  for (std::size_t i = action.first; i < action.end; ++i) {
    const Transaction transaction = action.phase->transactions[i];
    if (transaction.kind != Transaction::Kind::kEnd) {
      move(action, transaction);
    } else if (!log_.persistent()) {
      end_segment(action.place, action.cycle);
    }
  }
}

void Followers::move(const Action& action, const Transaction& transaction) {
  Place& place = places_[action.place];
  const bool write = transaction.kind == Transaction::Kind::kWrite;
  const bool copies = !write && transaction.instruction->operand != Operand::kPartialSum;
  const std::int64_t tile = action.tile + transaction.tiles_ahead;
  if (copies && (place.cta != action.cta ||
                 tile >= (log_.persistent() ? place.tiles : place.segment_end()))) {
    return;
  }
  const MemoryRange range =
      kernel_->traffic->range(action.cta, transaction.warp, *transaction.instruction, tile);
  std::int64_t there = action.cycle;
  if (range.bytes > 0) {
    const auto sm = static_cast<std::size_t>(place.sm);
    const std::int64_t done =
        l2_and_dram_.access(sm, range, write, action.cycle, transaction.instruction->operand);
    end_ = std::max(end_, done);
    there = write ? done : written(place.sm, done, range.bytes);
  }
  if (copies) {
    Arrival& arrival = place.arrival(tile);
    if (arrival.tile != tile) {
      arrival = {tile, {kNever, kNever}, 0};
    }
    std::int64_t& of_operand = arrival.there[log_.index_of(transaction.instruction->operand)];
    of_operand = std::max(of_operand, there);
    ++arrival.reads;
    plan_use(action.place);
  }
}

void Followers::act_before(std::int64_t cycle, int sm) {
  for (Action action; actions_.take_before(cycle, sm, action);) {
    now_ = std::max(now_, action.cycle);
    if (action.phase != nullptr) {
      make_transactions(action);
    } else {
      use(action);
    }
  }
}

std::int64_t Followers::finish() {
  look_at_uses(kUnknown);
  act_before(kUnknown, 0);
  // A segment with an ending that no leader has shown ends as one with another. What begins behind
  // it may end so, too.
  for (bool more = true; more;) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      retry(i, true);
    }
    more = actions_.first_cycle() < kUnknown;
    act_before(kUnknown, 0);
  }
  return end_;
}

bool Followers::replays() const {
  const bool shares_tiles = kernel_->work != nullptr && kernel_->work->shares_tiles();
  const bool many = log_.persistent() ? log_.work_of(0).size() > kManySegments : shares_tiles;
  const std::size_t leading = leaders_.size() * static_cast<std::size_t>(kernel_->ctas_per_sm);
  return places_.size() > leading && (lone_ctas() || many);
}

std::int64_t Followers::replay() {
  reset();
  log_.start_again();
  for (std::size_t leader = 0; leader < leaders_.size(); ++leader) {
    for (int number = 0; number < kernel_->ctas_per_sm; ++number) {
      Place& place = places_.emplace_back();
      place.home = {leader, static_cast<std::size_t>(number), 0};
      place.sm = leaders_[leader];
      place.leads = true;
    }
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    place.segments = 0;
    place.uses.clear();
    const std::int64_t first = place.sm + static_cast<std::int64_t>(place.home.place) * sms_;
    if (first < handed_out_) {
      begin_cta(i, first, 0);
    }
  }
  return finish();
}

}  // namespace sptc::sim
