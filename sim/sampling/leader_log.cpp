// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/leader_log.h"

#include "models/base/error.h"

#include <algorithm>
#include <utility>

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

bool is_copy(const WarpInstruction& instruction) {
  return instruction.opcode == Opcode::kCopy || instruction.opcode == Opcode::kLoadGlobal;
}

}  // namespace

void LeaderLog::start(const KernelLaunch& kernel, std::size_t leaders) {
  kernel_ = &kernel;
  read_program();
  one_tile_ = {WorkSegment{0, 0, kernel.program->iterations}};
  ctas_.clear();
  places_.clear();
  for (std::size_t leader = 0; leader < leaders; ++leader) {
    places_.emplace_back(static_cast<std::size_t>(kernel.ctas_per_sm));
    for (Place& place : places_.back()) {
      place.leader = leader;
    }
  }
  latest_copying_ = nullptr;
  some_copy_ = false;
  fullest_start_ = nullptr;
  latest_finish_.clear();
  gaps_ = {};
  step_ = delay_ = {kUnknown, kUnknown};
}

void LeaderLog::read_program() {
  const WarpProgram& program = *kernel_->program;
  persistent_ = program.persistent;
  const bool producer = program.producer != nullptr;
  distance_ = 1;
  staged_ = false;
  copies_.clear();
  first_copying_warp_ = producer ? kernel_->warps_per_cta : 0;
  copying_warps_ = producer ? 1 : kernel_->warps_per_cta;
  for (const WarpInstruction& instruction : producer ? program.producer->loop : program.loop) {
    staged_ = staged_ || instruction.opcode == Opcode::kLoadGlobal;
    if (instruction.opcode == Opcode::kWaitStage) {
      // The last group that reads a stage is done when the one behind it is under way.
      distance_ = std::max<std::int64_t>(1, instruction.stages - 1);
    }
    if (is_copy(instruction)) {
      distance_ = std::max<std::int64_t>(distance_, instruction.tiles_ahead);
      copies_.push_back(&instruction);
    }
  }
  first_tiles_ = producer ? distance_ + 1 : distance_;
  at_once_ = {0, nullptr, {}, {}};
  for (const WarpInstruction* copy : copies_) {
    for (int warp = first_copying_warp_; warp < first_copying_warp_ + copying_warps_; ++warp) {
      at_once_.transactions.push_back({Transaction::Kind::kRead, 0, distance_, copy, warp});
    }
  }
}

std::span<const WorkSegment> LeaderLog::work_of(std::int64_t cta) const {
  return kernel_->work == nullptr ? one_tile_ : kernel_->work->segments(cta);
}

void LeaderLog::begin_cta(std::size_t leader, std::size_t number, std::int64_t cta,
                          std::int64_t now) {
  Place& place = places_[leader][number];
  const std::size_t first_segment = place.segments.size();
  ctas_[cta] = {&place, first_segment};
  std::int64_t tiles = 0, of_cta = 0;
  for (const WorkSegment& work : work_of(cta)) {
    of_cta += work.k_tiles;
  }
  for (const WorkSegment& work : work_of(cta)) {
    Segment& segment = place.segments.emplace_back();
    segment.cta = cta;
    segment.first_tile = tiles;
    segment.begins_cta = tiles == 0;
    segment.ending = ending_of(work);
    segment.tiles.resize(static_cast<std::size_t>(work.k_tiles));
    tiles += work.k_tiles;
    const std::int64_t first = persistent_ ? 0 : segment.first_tile;
    const std::int64_t end = persistent_ ? of_cta : tiles;
    while (segment.started_tiles < std::min(first_tiles_, end - segment.first_tile) &&
           !beyond_edge(cta, segment.first_tile + segment.started_tiles)) {
      ++segment.started_tiles;
    }
    for (std::size_t i = 0; i < segment.tiles.size(); ++i) {
      const std::int64_t tile = segment.first_tile + static_cast<std::int64_t>(i);
      segment.tiles[i].first_of_segment = i == 0;
      segment.tiles[i].copies_behind.delay = staged_ ? nullptr : &delay_[i == 0 ? 0 : 1];
      segment.tiles[i].has_copies =
          asks_behind(tile - first, end - first) && !beyond_edge(cta, tile + distance_);
      some_copy_ = some_copy_ || segment.tiles[i].has_copies;
    }
  }
  begin_segment({&place, first_segment}, now);
}

void LeaderLog::begin_segment(const Found& found, std::int64_t now) {
  Segment& segment = found.in();
  segment.start.anchor = now;
  found.place->begun = found.segment + 1;
  if (fullest_start_ == nullptr || segment.started_tiles >= fullest_start_->started_tiles) {
    fullest_start_ = &segment;
  }
}

bool LeaderLog::beyond_edge(std::int64_t cta, std::int64_t tile) const {
  for (const WarpInstruction* copy : copies_) {
    for (int warp = first_copying_warp_; warp < first_copying_warp_ + copying_warps_; ++warp) {
      if (kernel_->traffic->range(cta, warp, *copy, tile).bytes > 0) {
        return false;
      }
    }
  }
  return true;
}

LeaderLog::Found LeaderLog::find(std::int64_t cta, std::int64_t tile) {
  const Cta& entry = ctas_.at(cta);
  std::size_t segment = entry.segment;
  const auto behind = [&](const Segment& at) {
    return at.first_tile + static_cast<std::int64_t>(at.tiles.size());
  };
  while (tile >= behind(entry.place->segments[segment])) {
    ++segment;
    ensure(segment < entry.place->segments.size(), "a CTA goes beyond its work");
  }
  return {entry.place, segment};
}

LeaderLog::Addition LeaderLog::add_end(Phase& finish, std::int64_t now) {
  finish.transactions.push_back({Transaction::Kind::kEnd, now, 0, nullptr, 0});
  return {finish, finish.transactions.size() - 1};
}

LeaderLog::Addition LeaderLog::end_cta(std::int64_t cta, std::int64_t now) {
  const Cta& entry = ctas_.at(cta);
  std::size_t last = entry.segment + work_of(cta).size() - 1;
  return add_end(entry.place->segments[last].finish, now);
}

std::optional<LeaderLog::Addition> LeaderLog::end_segment(const RequestInfo& info, bool write,
                                                          std::int64_t now) {
  if (write || persistent_ || info.operand == Operand::kPartialSum) {
    return std::nullopt;
  }
  const Found found = find(info.asking_cta, info.tile);
  if (found.in().start.anchor != kUnknown) {
    return std::nullopt;
  }
  begin_segment(found, now);
  return add_end(found.place->segments[found.segment - 1].finish, now);
}

LeaderLog::Addition LeaderLog::note(const RequestInfo& info, bool write, std::int64_t now,
                                    std::int64_t there) {
  const Found found = find(info.asking_cta, info.tile);
  Segment& segment = found.in();
  const bool copies = !write && info.operand != Operand::kPartialSum;
  const auto [phase, tiles_ahead] =
      copies ? place_of_copy(info, found) : PlaceOfCopy{segment.finish, 0};
  const std::size_t first = phase.transactions.size();
  if (copies) {
    Tile& tile = segment.tiles[static_cast<std::size_t>(info.tile - segment.first_tile)];
    std::int64_t& of_operand = tile.there[index_of(info.operand)];
    of_operand = std::max(of_operand, there);
    if (tile.reads++ == 0) {
      add_beyond_edge(phase, info, false, now, tiles_ahead);
    }
  } else if (write && segment.ending && !std::exchange(segment.stores, true)) {
    add_beyond_edge(phase, info, true, now, 0);
  }
  phase.transactions.push_back({write ? Transaction::Kind::kWrite : Transaction::Kind::kRead, now,
                                tiles_ahead, info.instruction, info.warp});
  note_delay(phase);
  return {phase, first};
}

LeaderLog::PlaceOfCopy LeaderLog::place_of_copy(const RequestInfo& info, const Found& found) {
  Segment& segment = found.in();
  const std::int64_t first = persistent_ ? 0 : segment.first_tile;
  if (info.tile - first >= first_tiles_) {
    const std::int64_t behind = info.tile - distance_;
    Segment& at = find(info.asking_cta, behind).in();
    return {at.tiles[static_cast<std::size_t>(behind - at.first_tile)].copies_behind, distance_};
  }
  return {persistent_ ? find(info.asking_cta, 0).in().start : segment.start, info.tile - first};
}

// What lies beyond the edge of the matrix for the leader need not for all.
void LeaderLog::add_beyond_edge(Phase& phase, const RequestInfo& info, bool write, std::int64_t now,
                                std::int64_t tiles_ahead) {
  const auto add = [&](const WarpInstruction& instruction, int first_warp, int warps) {
    for (int warp = first_warp; warp < first_warp + warps; ++warp) {
      if (kernel_->traffic->range(info.asking_cta, warp, instruction, info.tile).bytes == 0) {
        phase.transactions.push_back({write ? Transaction::Kind::kWrite : Transaction::Kind::kRead,
                                      now, tiles_ahead, &instruction, warp});
      }
    }
  };
  if (!write) {
    for (const WarpInstruction* copy : copies_) {
      add(*copy, first_copying_warp_, copying_warps_);
    }
    return;
  }
  for (const WarpInstruction& instruction : kernel_->program->epilogue) {
    if (instruction.opcode == Opcode::kStoreGlobal) {
      add(instruction, 0, kernel_->warps_per_cta);
    }
  }
}

bool LeaderLog::note_used(std::int64_t cta, std::int64_t k_tile, std::int64_t cycle) {
  const Found found = find(cta, k_tile);
  Segment& segment = found.in();
  const auto index = static_cast<std::size_t>(k_tile - segment.first_tile);
  Tile& tile = segment.tiles[index];
  tile.used = std::max(tile.used, cycle);
  if (++tile.warps < kernel_->warps_per_cta) {
    return false;
  }
  const Tile* before = nullptr;
  if (index > 0) {
    before = &segment.tiles[index - 1];
  } else if (persistent_ && !segment.begins_cta) {
    before = &found.place->segments[found.segment - 1].tiles.back();
  }
  note_step(before, tile);
  tile.copies_behind.anchor = tile.used;
  note_delay(tile.copies_behind);
  if (tile.has_copies) {
    latest_copying_ = &tile;
  }
  if (index + 1 == segment.tiles.size()) {
    segment.finish.anchor = tile.used;
    latest_finish_[segment.ending] = &segment;
  }
  found.place->begun = std::max(found.place->begun, found.segment + 1);
  return true;
}

void LeaderLog::note_step(const Tile* before, Tile& tile) {
  tile.last_operand = tile.there[1] >= tile.there[0] ? 1 : 0;
  tile.arrival_to_use = tile.used - tile.there[tile.last_operand];
  std::int64_t& least_gap = gaps_[tile.last_operand].least;
  least_gap = std::min(least_gap, tile.arrival_to_use);
  if (before != nullptr) {
    tile.since_previous = tile.used - before->used;
    if (tile.arrival_to_use > least_gap + kSoon && !comes_late(tile)) {
      std::int64_t& least = step_[tile.first_of_segment ? 0 : 1];
      least = std::min(least, tile.since_previous);
    }
  }
  classify(tile);
}

bool LeaderLog::comes_late(const Tile& tile) const {
  return distance_ > 1 && tile.arrival_to_use < tile.since_previous / kLateShare;
}

void LeaderLog::classify(Tile& tile) {
  Gap& of_last = gaps_[tile.last_operand];
  const std::int64_t gap = tile.arrival_to_use - of_last.least;  // beyond what it takes at least
  tile.waited = gap <= kSoon;
  if (tile.since_previous > 0) {
    const bool known = knows_step(tile.first_of_segment);
    const std::int64_t least = step(tile.first_of_segment);
    if (known && tile.arrival_to_use > least) {
      // Longer than a k-tile takes: it waited for its turn, behind other CTAs of the SM.
      tile.waited = false;
      return;
    }
    const std::int64_t more = tile.since_previous - least;
    tile.waited =
        tile.waited || (known ? more > kStepSpread && gap <= more + kSoon : comes_late(tile));
  }
  if (tile.waited) {
    of_last.sum += tile.arrival_to_use;
    ++of_last.count;
    of_last.mean = (of_last.sum + of_last.count / 2) / of_last.count;
  } else if (of_last.count == 0) {
    of_last.mean = of_last.least;
  }
}

std::int64_t LeaderLog::usable(const OfOperands& there, const Tile* shown) const {
  if (gaps_[0].mean == kUnknown && gaps_[1].mean == kUnknown) {
    return kUnknown;
  }
  std::int64_t cycle = kNever;
  for (std::size_t i = 0; i < there.size(); ++i) {
    // What never came last is taken for the other.
    const bool as_shown = shown != nullptr && shown->waited && shown->last_operand == i;
    const std::int64_t gap = as_shown                    ? shown->arrival_to_use
                             : gaps_[i].mean == kUnknown ? gaps_[1 - i].mean
                                                         : gaps_[i].mean;
    cycle = std::max(cycle, there[i] + gap);
  }
  return cycle;
}

void LeaderLog::note_delay(Phase& phase) {
  if (phase.delay != nullptr && phase.anchor != kUnknown && !phase.transactions.empty()) {
    const std::int64_t delay = phase.transactions.front().cycle - phase.anchor;
    *phase.delay = std::min(*phase.delay, std::max<std::int64_t>(0, delay));
  }
}

std::int64_t LeaderLog::offset(const Phase& phase, const Transaction& transaction) {
  return phase.delay == nullptr
             ? transaction.cycle - phase.anchor
             : *phase.delay + transaction.cycle - phase.transactions.front().cycle;
}

std::int64_t LeaderLog::step(const Tile& tile) const {
  return tile.waited ? std::min(step(tile.first_of_segment), tile.since_previous)
                     : tile.since_previous;
}

void LeaderLog::start_again() {
  at_once_.repeaters.clear();
  for (Gap& gap : gaps_) {
    gap.sum = gap.count = 0;
  }
  for (std::vector<Place>& of_leader : places_) {
    for (Place& place : of_leader) {
      for (Segment& segment : place.segments) {
        segment.start.repeaters.clear();
        segment.finish.repeaters.clear();
        for (Tile& tile : segment.tiles) {
          tile.copies_behind.repeaters.clear();
          classify(tile);
        }
      }
    }
  }
}

LeaderLog::Reference LeaderLog::reference(const Reference& to) const {
  const auto begun = [&](std::size_t leader, std::size_t number) {
    return places_[leader][number].begun;
  };
  const std::size_t own = begun(to.leader, to.place);
  ensure(own > 0, "a leader has no CTA to follow");
  const Reference latest{to.leader, to.place, std::min(to.segment, own - 1)};
  if (own > to.segment || persistent_) {
    return latest;
  }
  const std::size_t numbers = places_[to.leader].size();
  for (std::size_t i = 0; i < numbers; ++i) {
    const std::size_t number = (to.place + i) % numbers;
    for (std::size_t other = 1; other < places_.size(); ++other) {
      const std::size_t leader = (to.leader + other) % places_.size();
      if (begun(leader, number) > to.segment) {
        return {leader, number, to.segment};
      }
    }
  }
  return latest;
}

LeaderLog::Tile* LeaderLog::tile_of(const Reference& to, std::int64_t tile) {
  Segment& segment = at(to);
  const auto index = static_cast<std::size_t>(tile);
  const bool known = index < segment.tiles.size() && segment.tiles[index].known();
  return known ? &segment.tiles[index] : nullptr;
}

LeaderLog::Start LeaderLog::start_of(const Reference& to, std::int64_t tiles) {
  Segment& segment = at(to);
  const bool full = segment.started_tiles >= std::min(first_tiles_, tiles);
  Segment& shown = full || fullest_start_ == nullptr ? segment : *fullest_start_;
  return {&shown.start, shown.started_tiles};
}

LeaderLog::Phase* LeaderLog::copies_behind(const Reference& to, std::int64_t tile) {
  const bool copies = has(to, tile) && at(to).tiles[static_cast<std::size_t>(tile)].has_copies;
  if (Tile* const shown = tile_of(to, tile); copies && shown != nullptr) {
    return &shown->copies_behind;
  }
  if (staged_) {
    return copies ? nullptr : &at_once_;
  }
  if (latest_copying_ != nullptr) {
    return &latest_copying_->copies_behind;
  }
  return some_copy_ ? nullptr : &at_once_;
}

LeaderLog::Phase* LeaderLog::finish_of(const Reference& to, Ending ending, bool any) {
  Segment& segment = at(to);
  if (segment.ending == ending && segment.finish.anchor != kUnknown) {
    return &segment.finish;
  }
  // The nearest one with more peers, or else the one with the most.
  auto found = latest_finish_.lower_bound(ending);
  if (found == latest_finish_.end() && !latest_finish_.empty()) {
    --found;
  }
  if (found == latest_finish_.end()) {
    return nullptr;
  }
  const bool alike = found->first.has_value() == ending.has_value();
  return alike || any ? &found->second->finish : nullptr;
}

}  // namespace sptc::sim
