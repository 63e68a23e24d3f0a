// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/sub_partition.h"

#include "sim/tensor_core/issue_interval.h"

#include <algorithm>

namespace sptc::sim {
namespace {

// Matrix instructions that may wait between scheduler and operand fetch. Two keep the fetch busy:
// one that waits for its ports while another is on its way.
constexpr int kDispatchQueue = 2;

}  // namespace

SubPartition::SubPartition(const sc_core::sc_module_name& name, const Clock& clock,
                           const SmSpec& spec)
    : Module(name, clock),
      issue("issue", clock, 1),
      operands_read("operands_read", clock, 1),
      mma_done("mma_done", clock, 1),
      register_file_(spec.max_warps / spec.sub_partitions),
      tensor_core("tensor_core", clock, spec.tensor_core, register_file_),
      core_(spec.tensor_core),
      issue_per_cycle_(spec.issue_per_cycle),
      warps_(static_cast<std::size_t>(spec.max_warps / spec.sub_partitions)),
      dispatch_credits_(kDispatchQueue) {
  tensor_core.issue_in(issue);
  tensor_core.operands_read_out(operands_read);
  tensor_core.done_out(mma_done);
  run_on(command_in, load_done_in, wgmma_done_in, copy_done_in);
  sensitive << operands_read.default_event() << mma_done.default_event();
}

void SubPartition::on_event() {
  take_inputs();
  if (issue_cycle_ != now()) {
    issued_in_cycle_ = 0;
  }
  if (issue_free_cycle_ > now()) {
    wake_at(issue_free_cycle_);
    return;
  }
  bool issued = false;
  while (issued_in_cycle_ < issue_per_cycle_ && issue_one()) {
    issued = true;
  }
  if (issued) {
    wake_at(std::max(now() + 1, issue_free_cycle_));
  } else {
    wake_for_next_mma();
  }
}

void SubPartition::wake_for_next_mma() {
  std::int64_t next = 0;
  for (const Warp& warp : warps_) {
    if (warp.resident && warp.next_mma > now() && (next == 0 || warp.next_mma < next)) {
      next = warp.next_mma;
    }
  }
  if (next > 0) {
    wake_at(next);
  }
}

void SubPartition::take_inputs() {
  while (command_in->can_read()) {
    const WarpCommand command = command_in->read();
    if (command.kind == WarpCommand::Kind::kLaunch) {
      launch(command);
      continue;
    }
    for (std::size_t slot = 0; slot < warps_.size(); ++slot) {
      Warp& warp = warps_[slot];
      if (warp.resident && warp.name.cta_slot == command.warp.cta_slot && warp.at_barrier) {
        warp.at_barrier = false;
        warp.cursor.advance();
      }
    }
  }
  while (operands_read.can_read()) {
    const MmaIssue read = operands_read.read().issue;
    warp_at(read.warp_slot).scoreboard.sources_read(*read.instruction);
    ++dispatch_credits_;
  }
  while (mma_done.can_read()) {
    const MmaDoneToken done = mma_done.read();
    if (done.payload) {
      done.issue.registers->scatter(
          *done.payload,
          register_file_.write(done.issue.warp_slot, done.issue.instruction->d.base));
    }
    warp_at(done.issue.warp_slot).scoreboard.written(*done.issue.instruction);
    exit_if_done(done.issue.warp_slot);
  }
  while (load_done_in->can_read()) {
    const LoadDone done = load_done_in->read();
    const WarpInstruction& instruction = *done.request.instruction;
    if (done.payload) {
      std::copy_n(done.payload->begin(), instruction.d.count,
                  register_file_.write(done.request.warp_slot, instruction.d.base));
    }
    warp_at(done.request.warp_slot).scoreboard.written(instruction);
    exit_if_done(done.request.warp_slot);
  }
  while (wgmma_done_in->can_read()) {
    const int slot = wgmma_done_in->read().warp_slot;
    warp_at(slot).wgmma.complete();
    exit_if_done(slot);
  }
  while (copy_done_in->can_read()) {
    const CopyDone done = copy_done_in->read();
    warp_at(done.warp_slot).copies.arrived(done.group);
    exit_if_done(done.warp_slot);
  }
}

void SubPartition::launch(const WarpCommand& command) {
  const auto free =
      std::find_if(warps_.begin(), warps_.end(), [](const Warp& warp) { return !warp.resident; });
  ensure(free != warps_.end(), "a warp was launched and no slot is free");
  *free = Warp{};
  free->resident = true;
  free->age = launched_++;
  free->name = command.warp;
  free->launch = command.launch;
  free->cursor = WarpCursor(*command.launch.kernel->program);
  const int slot = static_cast<int>(free - warps_.begin());
  if (command.launch.kernel->memory != nullptr) {
    register_file_.allocate(slot, command.launch.kernel->program->registers_per_thread);
  }
  exit_if_done(slot);
}

bool SubPartition::issue_one() {
  const int slot = pick_warp();
  if (slot < 0) {
    return false;
  }
  last_warp_ = slot;
  issue_from(slot);
  issue_cycle_ = now();
  ++issued_in_cycle_;
  ++statistics_.issued;
  return true;
}

bool SubPartition::can_issue(const Warp& warp) const {
  if (!warp.resident || warp.at_barrier || warp.cursor.done()) {
    return false;
  }
  const WarpInstruction& instruction = warp.cursor.instruction();
  if (instruction.opcode == Opcode::kMma && (dispatch_credits_ == 0 || now() < warp.next_mma)) {
    return false;
  }
  if (instruction.opcode == Opcode::kWgmmaWait) {
    return warp.wgmma.groups_under_way() <= instruction.pending_groups;
  }
  if (instruction.opcode == Opcode::kWaitCopies && !warp.copies.at_most(instruction.copy_groups)) {
    return false;
  }
  return warp.scoreboard.can_issue(instruction);
}

int SubPartition::pick_warp() const {
  if (last_warp_ >= 0 && can_issue(warps_[static_cast<std::size_t>(last_warp_)])) {
    return last_warp_;
  }
  int oldest = -1;
  for (std::size_t slot = 0; slot < warps_.size(); ++slot) {
    const Warp& warp = warps_[slot];
    if (can_issue(warp) &&
        (oldest < 0 || warp.age < warps_[static_cast<std::size_t>(oldest)].age)) {
      oldest = static_cast<int>(slot);
    }
  }
  return oldest;
}

void SubPartition::issue_from(int slot) {
  Warp& warp = warp_at(slot);
  const KernelLaunch& kernel = *warp.launch.kernel;
  const WarpInstruction& instruction = warp.cursor.instruction();
  switch (instruction.opcode) {
    case Opcode::kMma:
      --dispatch_credits_;
      ++statistics_.mma_issued;
      warp.scoreboard.issue(instruction);
      // The scheduler counts whole cycles.
      warp.next_mma =
          now() + core_.same_warp_gap_cycles +
          static_cast<std::int64_t>(issue_interval(core_, *kernel.mma_context, instruction));
      issue.write({next_mma_id_++, kernel.mma_context, kernel.register_map, slot, &instruction,
                   kernel.memory != nullptr});
      break;
    case Opcode::kWgmma:
      ++statistics_.mma_issued;
      warp.wgmma.issue();
      wgmma_out->write({&kernel, &instruction, warp.launch.cta, warp.name.warp, slot});
      break;
    case Opcode::kWgmmaCommit:
      warp.wgmma.commit();
      break;
    case Opcode::kWgmmaWait:
      break;
    case Opcode::kLoadMatrix:
      ++statistics_.loads_issued;
      warp.scoreboard.issue(instruction);
      load_out->write(
          {&kernel, &instruction, warp.launch.cta, warp.cursor.iteration(), warp.name.warp, slot});
      break;
    case Opcode::kStoreAccumulator:
      if (kernel.memory != nullptr) {
        kernel.memory->store(warp.launch.cta, warp.name.warp, instruction,
                             register_file_.read(slot, instruction.c.base));
      }
      break;
    case Opcode::kCopy:
    case Opcode::kStoreGlobal:
      issue_copy(slot);
      break;
    case Opcode::kCommitCopies:
      warp.copies.commit();
      break;
    case Opcode::kWaitCopies:
      break;
    case Opcode::kBarrier:
      warp.at_barrier = true;
      report_out->write({WarpReport::Kind::kArrivedAtBarrier, warp.name});
      return;  // the release moves the warp on
  }
  warp.cursor.advance();
  exit_if_done(slot);
}

void SubPartition::issue_copy(int slot) {
  Warp& warp = warp_at(slot);
  const WarpInstruction& instruction = warp.cursor.instruction();
  if (instruction.first_warp_only && warp.name.warp != 0) {
    return;
  }
  issue_free_cycle_ = now() + instruction.issue_slots;
  const int group = instruction.opcode == Opcode::kCopy ? warp.copies.start() : 0;
  copy_out->write({warp.launch.kernel, &instruction, warp.launch.cta,
                   warp.cursor.iteration() + instruction.tiles_ahead, warp.name.warp, slot, group});
}

void SubPartition::exit_if_done(int slot) {
  Warp& warp = warp_at(slot);
  if (warp.resident && warp.cursor.done() && warp.idle()) {
    warp.resident = false;
    if (last_warp_ == slot) {
      last_warp_ = -1;  // the next warp in this slot is another one
    }
    report_out->write({WarpReport::Kind::kExited, warp.name});
  }
}

int SubPartition::resident_warps() const {
  return static_cast<int>(
      std::count_if(warps_.begin(), warps_.end(), [](const Warp& warp) { return warp.resident; }));
}

}  // namespace sptc::sim
