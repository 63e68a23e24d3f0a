// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/sub_partition.h"

#include "sim/hardware/tensor_core/issue_interval.h"

#include <algorithm>
#include <limits>

namespace sptc::sm {
namespace {

/// The next instruction of `warp`.
WarpRequest request_of(const ResidentWarp& warp, int slot) {
  return {warp.launch.kernel, &warp.cursor.instruction(), warp.launch.cta, warp.name.warp, slot};
}

}  // namespace

SubPartition::SubPartition(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec)
    : base::Module(name, clock),
      issue("issue", clock, 1),
      operands_read("operands_read", clock, 1),
      mma_done("mma_done", clock, 1),
      register_file_(spec.max_warps / spec.sub_partitions),
      tensor_core("tensor_core", clock, spec.tensor_core, register_file_),
      core_(spec.tensor_core),
      issue_per_cycle_(spec.issue_per_cycle),
      warps_(static_cast<std::size_t>(spec.max_warps / spec.sub_partitions)),
      next_(warps_.size()),
      dispatch_credits_(kDispatchQueue) {
  tensor_core.issue_in(issue);
  tensor_core.operands_read_out(operands_read);
  tensor_core.done_out(mma_done);
  run_on(command_in, load_done_in, wgmma_done_in, copy_done_in);
  sensitive << operands_read.default_event() << mma_done.default_event();
}

/// Runs a cycle: takes what came in, lets warps issue, and sleeps until another block can see something of it.
void SubPartition::on_event() {
  issue_what_it_slept_through();
  take_inputs();
  issue_up_to(now());
  issue_ahead();
  wake_for_next();
}

void SubPartition::issue_what_it_slept_through() {
  if (idle_before_ < now()) {
    issue_up_to(now() - 1);
  }
  if (next_issue_ < now()) {
    next_issue_ = now();
    issued_in_cycle_ = 0;
  }
}

void SubPartition::issue_up_to(std::int64_t cycle) {
  Pick pick = pick_warp();
  for (; pick.cycle <= cycle; pick = pick_warp()) {
    base::ensure(pick.cycle == now() || warp_at(pick.slot).next_is_unseen(),
                 "the scheduler slept when a warp could do what others see");
    issue_from(pick.slot, pick.cycle);
  }
  idle_before_ = pick.cycle;
}

void SubPartition::take_inputs() {
  while (command_in->can_read()) {
    obey(command_in->read());
  }
  while (operands_read.can_read()) {
    const tensor_core::MmaIssue read = operands_read.read().issue;
    change_warp(read.warp_slot).scoreboard.sources_read(*read.instruction, now());
    ++dispatch_credits_;
    note_operands_read(now());
  }
  while (mma_done.can_read()) {
    const tensor_core::MmaDoneToken done = mma_done.read();
    if (done.payload) {
      done.issue.registers->scatter(*done.payload,
                                    register_file_.write(done.issue.warp_slot, done.issue.instruction->d.base));
    }
    change_warp(done.issue.warp_slot).scoreboard.written(*done.issue.instruction, now());
  }
  while (load_done_in->can_read()) {
    end_load(load_done_in->read());
  }
  while (wgmma_done_in->can_read()) {
    const int slot = wgmma_done_in->read().warp_slot;
    ResidentWarp& warp = change_warp(slot);
    warp.wgmma.oldest_arrived();
    warp.came = now();
  }
  while (copy_done_in->can_read()) {
    end_copy(copy_done_in->read());
  }
  for (std::size_t i = 0; i < by_age_.size();) {
    i += exit_if_done(by_age_[i]) ? 0 : 1;
  }
}

void SubPartition::obey(const WarpCommand& command) {
  switch (command.kind) {
    case WarpCommand::Kind::kLaunch:
      launch(command);
      break;
    case WarpCommand::Kind::kReleaseBarrier:
      release_barrier(command.warp.cta_slot);
      break;
    default:
      take_tiles(command);
      break;
  }
}

void SubPartition::end_load(const LoadDone& done) {
  const isa::WarpInstruction& instruction = *done.request.instruction;
  ResidentWarp& warp = change_warp(done.request.warp_slot);
  const bool reads = instruction.opcode == isa::Opcode::kStoreShared;
  if (reads) {
    warp.scoreboard.sources_read(instruction, now());
  }
  if (done.payload) {
    std::copy_n(done.payload->begin(), instruction.d.count,
                register_file_.write(done.request.warp_slot, instruction.d.base));
  }
  warp.scoreboard.written(instruction, now());
  if (done.ready_cycle > now()) {
    warp.scoreboard.pass(instruction, reads ? done.ready_cycle : 0, done.ready_cycle);
  }
}

void SubPartition::end_copy(const CopyDone& done) {
  ResidentWarp& warp = change_warp(done.warp_slot);
  warp.waited_for = done.waited_for;
  warp.came = now();
  if (done.load != nullptr) {
    warp.scoreboard.written(*done.load, now());
  } else {
    warp.copies.arrived(done.group);
    report_tiles(warp);
  }
}

void SubPartition::release_barrier(int cta_slot) {
  for (const int slot : by_age_) {
    if (warp_at(slot).name.cta_slot == cta_slot && warp_at(slot).at_barrier) {
      ResidentWarp& warp = change_warp(slot);
      const StallReason reason = warp.cursor.in_main_loop() ? StallReason::kBarrier : StallReason::kEnds;
      stalls.wait(now(), reason);
      wait_of_warp(slot, reason);
      warp.at_barrier = false;
      warp.cursor.advance();
    }
  }
}

void SubPartition::take_tiles(const WarpCommand& command) {
  const bool arrived = command.kind == WarpCommand::Kind::kTilesArrived;
  for (const int slot : by_age_) {
    ResidentWarp& warp = change_warp(slot);
    // Tiles arrive for those who read them, stages become free for the producer.
    if (warp.name.cta_slot == command.warp.cta_slot && warp.producer != arrived) {
      (arrived ? warp.tiles_arrived : warp.tiles_freed) = command.tiles;
      warp.waited_for = command.waited_for;
      warp.came = now();
    }
  }
}

void SubPartition::report_tiles(ResidentWarp& producer) {
  const std::int64_t complete = producer.copies.complete();
  if (producer.producer && complete > producer.tiles_arrived) {
    producer.tiles_arrived = complete;
    report_out->write({WarpReport::Kind::kTilesArrived, producer.name, complete, producer.waited_for});
  }
}

void SubPartition::free_tiles(ResidentWarp& warp) {
  const isa::WarpInstruction& instruction = warp.cursor.instruction();
  const std::int64_t read = warp.cursor.iteration() + 1 - instruction.pending_groups;
  if (read > warp.tiles_freed) {
    warp.tiles_freed = read;
    report_out->write({WarpReport::Kind::kTilesFreed, warp.name, read});
  }
}

void SubPartition::launch(const WarpCommand& command) {
  const auto free = std::find_if(warps_.begin(), warps_.end(), [](const ResidentWarp& warp) { return !warp.resident; });
  base::ensure(free != warps_.end(), "a warp was launched and no slot is free");
  if (std::none_of(by_age_.begin(), by_age_.end(), [this](int slot) { return !warp_at(slot).producer; })) {
    stalls.wait(now(), StallReason::kNoCta);
  }
  *free = ResidentWarp{};
  free->resident = true;
  free->elided = command.launch.kernel->memory == nullptr && !tapped();
  if (!free->elided) {
    tensor_core.expect_tokens();
  }
  free->name = command.warp;
  free->launch = command.launch;
  const KernelLaunch& kernel = *command.launch.kernel;
  free->producer = command.warp.warp == kernel.warps_per_cta;
  const isa::WarpProgram& program = free->producer ? *kernel.program->producer : *kernel.program;
  free->cursor = kernel.work == nullptr ? isa::WarpCursor(program)
                                        : isa::WarpCursor(program, kernel.work->segments(command.launch.cta));
  free->scoreboard = Scoreboard(program);
  const int slot = static_cast<int>(free - warps_.begin());
  next_[static_cast<std::size_t>(slot)] = {};
  if (StallCounters* const of_warp = stalls_of_warp(slot)) {
    of_warp->start(now());
  }
  by_age_.push_back(slot);
  tensor_core.operand_fetch.banks.overwrite(slot, {0, std::numeric_limits<int>::max()});
  if (command.launch.kernel->memory != nullptr) {
    register_file_.allocate(slot, command.launch.kernel->program->registers_per_thread);
  }
  exit_if_done(slot);
}

void SubPartition::issue_ahead() {
  // The scheduler is greedy: it stays with its warp as long as that can issue; nobody else can in the same cycle.
  while (issue_per_cycle_ == 1 && last_warp_ >= 0 && next_issue_ > now() && warp_at(last_warp_).next_is_load() &&
         ready_at(last_warp_) <= next_issue_) {
    issue_from(last_warp_, next_issue_);
  }
}

SubPartition::Pick SubPartition::pick_warp() const {
  Pick pick;
  if (last_warp_ >= 0) {
    pick = {std::max(ready_at(last_warp_), next_issue_), last_warp_};
    if (pick.cycle == next_issue_) {
      return pick;
    }
  }
  for (const int slot : by_age_) {
    if (slot == last_warp_) {
      continue;
    }
    const std::int64_t cycle = std::max(ready_at(slot), next_issue_);
    if (cycle < pick.cycle) {
      pick = {cycle, slot};
      if (cycle == next_issue_) {
        break;
      }
    }
  }
  return pick;
}

std::int64_t SubPartition::ready_at(int slot) const {
  NextInstruction& next = next_[static_cast<std::size_t>(slot)];
  if (next.ready_at == kNotLookedUp) {
    const ResidentWarp& warp = warp_at(slot);
    next.ready_at = warp.ready_at();
    next.is_mma = !warp.cursor.done() && warp.cursor.instruction().opcode == isa::Opcode::kMma;
  }
  if (!next.is_mma) {
    return next.ready_at;
  }
  return dispatch_credits_ == 0 ? ResidentWarp::kUnknown : std::max(next.ready_at, operands_read_at_.front());
}

void SubPartition::issue_from(int slot, std::int64_t cycle) {
  ResidentWarp& warp = change_warp(slot);
  if (stalls.open(cycle) && !warp.producer) {
    count_stall(warp, cycle, stalls);
  }
  if (StallCounters* const of_warp = stalls_of_warp(slot)) {
    count_stall(warp, cycle, *of_warp);
  }
  take_issue_slot(slot, cycle);
  if (warp.cursor.instruction().opcode == isa::Opcode::kBarrier) {
    warp.at_barrier = true;
    report_out->write({WarpReport::Kind::kArrivedAtBarrier, warp.name, 0});
    return;  // the release moves the warp on
  }
  execute(warp, slot, cycle);
  warp.cursor.advance();
  if (warp.cursor.done() && cycle <= now()) {
    exit_if_done(slot);
  }
}

void SubPartition::take_issue_slot(int slot, std::int64_t cycle) {
  last_warp_ = slot;
  issued_in_cycle_ = cycle == next_issue_ ? issued_in_cycle_ + 1 : 1;
  next_issue_ = cycle;
  if (issued_in_cycle_ == issue_per_cycle_) {
    issued_in_cycle_ = 0;
    ++next_issue_;
  }
  ++activity_.instructions;
}

void SubPartition::take_further_slots(int slots, std::int64_t cycle) {
  if (slots > 1 && cycle + slots > next_issue_) {
    next_issue_ = cycle + slots;
    issued_in_cycle_ = 0;
  }
}

void SubPartition::execute(ResidentWarp& warp, int slot, std::int64_t cycle) {
  const KernelLaunch& kernel = *warp.launch.kernel;
  const isa::WarpInstruction& instruction = warp.cursor.instruction();
  switch (instruction.opcode) {
    case isa::Opcode::kMma:
      issue_mma(warp, slot, cycle);
      break;
    case isa::Opcode::kWgmma:
      ++activity_.mma_instructions;
      warp.wgmma.start();
      wgmma_out->write(request_of(warp, slot));
      break;
    case isa::Opcode::kWgmmaCommit:
      warp.wgmma.commit();
      break;
    case isa::Opcode::kLoadMatrix:
    case isa::Opcode::kStoreShared:
      issue_load(warp, slot, cycle);
      break;
    case isa::Opcode::kStoreAccumulator:
      if (kernel.memory != nullptr) {
        kernel.memory->store(warp.launch.cta, warp.name.warp, instruction,
                             register_file_.read(slot, instruction.c.base));
      }
      break;
    case isa::Opcode::kLoadGlobal:
      warp.scoreboard.issue(instruction);
      tensor_core.operand_fetch.banks.overwrite(slot, instruction.d);
      issue_copy(warp, slot, cycle);
      break;
    case isa::Opcode::kCopy:
    case isa::Opcode::kStoreGlobal:
      issue_copy(warp, slot, cycle);
      break;
    case isa::Opcode::kCommitCopies:
      warp.copies.commit();
      report_tiles(warp);
      break;
    case isa::Opcode::kFreeTiles:
      free_tiles(warp);
      break;
    case isa::Opcode::kWaitCopies:
    case isa::Opcode::kWaitTile:
      tell_tile(warp, cycle);
      break;
    // What these wait for is there when they are issued.
    case isa::Opcode::kWgmmaWait:
      take_further_slots(instruction.issue_slots, cycle);
      break;
    case isa::Opcode::kWaitStage:
    case isa::Opcode::kBarrier:
      break;
  }
}

void SubPartition::issue_load(ResidentWarp& warp, int slot, std::int64_t cycle) {
  const isa::WarpInstruction& instruction = warp.cursor.instruction();
  // B is the last operand of a k-tile that passes the registers.
  if (instruction.opcode == isa::Opcode::kStoreShared && instruction.operand == isa::Operand::kB) {
    tell_tile(warp, cycle);
  }
  take_further_slots(instruction.issue_slots, cycle);
  warp.scoreboard.issue(instruction);
  tensor_core.operand_fetch.banks.overwrite(slot, instruction.d);
  load_out->write_after({request_of(warp, slot), warp.cursor.iteration(), cycle + 1, warp.elided}, cycle + 1 - now());
}

std::int64_t SubPartition::same_warp_interval(const mma::StepContext& context, const isa::WarpInstruction& instruction,
                                              int metadata_wait) const {
  // The scheduler counts whole cycles.
  const double interval = tensor_core::issue_interval(core_, context, instruction, metadata_wait);
  return core_.same_warp_gap_cycles + static_cast<std::int64_t>(interval);
}

void SubPartition::issue_mma(ResidentWarp& warp, int slot, std::int64_t cycle) {
  const KernelLaunch& kernel = *warp.launch.kernel;
  const isa::WarpInstruction& instruction = warp.cursor.instruction();
  ++activity_.mma_instructions;
  if (warp.mmas_ahead == 0) {
    warp.mmas_ahead = warp.count_mmas_ahead();
    tensor_core.expect(*kernel.mma_context, instruction);
    warp.multiply_cycles = tensor_core::multiply_cycles(core_, *kernel.mma_context);
    warp.mma_interval = same_warp_interval(*kernel.mma_context, instruction, 0);
    warp.other_selector_interval = same_warp_interval(*kernel.mma_context, instruction, core_.selector_change_cycles);
  }
  --warp.mmas_ahead;
  stalls.multiply(cycle, warp.multiply_cycles);
  if (StallCounters* const of_warp = stalls_of_warp(slot)) {
    of_warp->multiply(cycle, warp.multiply_cycles);
  }
  warp.next_mma = cycle + warp.mma_interval;
  if (instruction.metadata.count > 0 && instruction.selector != warp.selector) {
    warp.selector = instruction.selector;
    warp.next_mma = cycle + warp.other_selector_interval;
  }
  if (!warp.elided) {
    --dispatch_credits_;
    warp.scoreboard.issue(instruction);
    issue.write(
        {next_mma_id_++, kernel.mma_context, kernel.register_map, slot, &instruction, kernel.memory != nullptr});
    return;
  }
  const tensor_core::Passage passage = tensor_core.pass(slot, instruction, cycle + 1);
  note_operands_read(passage.operands_read + 1);
  warp.scoreboard.pass(instruction, passage.operands_read + 1, passage.done);
}

void SubPartition::note_operands_read(std::int64_t cycle) {
  std::copy(operands_read_at_.begin() + 1, operands_read_at_.end(), operands_read_at_.begin());
  operands_read_at_.back() = cycle;
}

void SubPartition::issue_copy(ResidentWarp& warp, int slot, std::int64_t cycle) {
  const isa::WarpInstruction& instruction = warp.cursor.instruction();
  if (instruction.first_warp_only && warp.name.warp != 0 && !warp.producer) {
    return;
  }
  take_further_slots(instruction.issue_slots, cycle);
  const int group = instruction.opcode == isa::Opcode::kCopy ? warp.copies.start() : 0;
  copy_out->write_after({request_of(warp, slot), warp.cursor.iteration() + instruction.tiles_ahead, group},
                        cycle + 1 - now());
}

bool SubPartition::exit_if_done(int slot) {
  const ResidentWarp& warp = warp_at(slot);
  if (!warp.resident || !warp.cursor.done() || warp.idle_at() > now()) {
    return false;
  }
  change_warp(slot).resident = false;
  if (!warp.producer) {
    stalls.wait(now(), StallReason::kEnds);
  }
  wait_of_warp(slot, StallReason::kEnds);
  by_age_.erase(std::find(by_age_.begin(), by_age_.end(), slot));
  if (last_warp_ == slot) {
    last_warp_ = -1;  // the next warp in this slot is another one, to which the scheduler is not bound
  }
  report_out->write({WarpReport::Kind::kExited, warp.name, 0});
  if (by_age_.empty()) {
    tensor_core.catch_up();
  }
  return true;
}

tensor_core::Activity SubPartition::activity() const {
  tensor_core::Activity sum = activity_;
  sum += tensor_core.operand_fetch.activity();
  sum += tensor_core.metadata_selector.activity();
  sum += tensor_core.multiply.activity();
  return sum;
}

void SubPartition::wake_for_next() {
  std::int64_t next = ResidentWarp::kUnknown;
  for (const int slot : by_age_) {
    next = std::min(next, next_seen_outside(slot));
  }
  if (next != ResidentWarp::kUnknown) {
    wake_at(std::max(next, now() + 1));
  }
}

std::int64_t SubPartition::next_seen_outside(int slot) const {
  const ResidentWarp& warp = warp_at(slot);
  if (warp.cursor.done()) {
    return warp.idle_at();  // then it exits
  }
  const std::int64_t ready = ready_at(slot);
  if (ready == ResidentWarp::kUnknown) {
    return ready;
  }
  const std::int64_t next = std::max(ready, next_issue_);
  if (!warp.next_is_unseen()) {
    return next;
  }
  // Its n matrix instructions come first: one now, n - 1 more at least an interval behind the one
  // before, and then what is seen, not in the same cycle where one is issued per cycle. Turns of
  // other warps in between can only make it later.
  const std::int64_t behind_last = issue_per_cycle_ == 1 ? 1 : 0;
  return warp.mmas_ahead == 0 ? next : next + (warp.mmas_ahead - 1) * warp.mma_interval + behind_last;
}

}  // namespace sptc::sm
