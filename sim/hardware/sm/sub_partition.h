// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/sm/resident_warp.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/hardware/sm/stall_counters.h"
#include "sim/hardware/sm/tokens.h"
#include "sim/hardware/tensor_core/activity.h"
#include "sim/hardware/tensor_core/register_file.h"
#include "sim/hardware/tensor_core/tensor_core.h"

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace sptc::sm {

/// A part of an SM: warps, their registers, a scheduler that issues SmSpec::issue_per_cycle instructions per cycle, and
/// a tensor core. The scheduler is greedy-then-oldest: it stays with a warp as long as that can issue, then takes the
/// oldest that can. Three places know it: pick_warp() takes the latest warp, `last_warp_`, first; issue_ahead() relies
/// on that; exit_if_done() forgets the latest warp when it leaves. A scheduler of another policy changes all three.
///
/// The scheduler sleeps as long as no other block could see what it does. Where a warp's instructions are elided
/// (ResidentWarp::elided) the tensor core says at once when a matrix instruction will be done, and no other block sees
/// it. So the scheduler wakes only when something comes in, or when a warp may do something that another block sees
/// (wake_for_next()). The invariant: all that it issues late are such matrix instructions
/// (ResidentWarp::next_is_unseen()), each in the cycle in which an awake scheduler would have issued it, and all before
/// it looks at what has come in. issue_ahead() is the mirror image: it sends loads early, with a delay, where nothing
/// that may still come in could change when they are issued.
class SubPartition : public base::Module {
 public:
  sc_core::sc_port<base::WireIn<WarpCommand>> command_in{"command_in"};
  sc_core::sc_port<base::WireOut<WarpReport>> report_out{"report_out"};
  sc_core::sc_port<base::WireOut<LoadRequest>> load_out{"load_out"};
  sc_core::sc_port<base::WireIn<LoadDone>> load_done_in{"load_done_in"};
  sc_core::sc_port<base::WireOut<WgmmaRequest>> wgmma_out{"wgmma_out"};
  sc_core::sc_port<base::WireIn<WgmmaDone>> wgmma_done_in{"wgmma_done_in"};
  sc_core::sc_port<base::WireOut<CopyRequest>> copy_out{"copy_out"};
  sc_core::sc_port<base::WireIn<CopyDone>> copy_done_in{"copy_done_in"};

  SubPartition(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec);

  /// What its scheduler and its tensor core have done since the start of the simulation.
  tensor_core::Activity activity() const;
  /// Cycles of its tensor core: one in which it does not multiply goes to what the instruction waited for that was
  /// issued next, of any warp but a producer (ResidentWarp::producer).
  StallCounters stalls;
  using WarpObserver = std::function<void(int slot, std::int64_t begin, std::int64_t end, StallReason reason)>;
  /// Tells `observer` what each warp does or waits for, as `stalls` does of the tensor core: a warp multiplies as long
  /// as its latest matrix instruction takes of the multipliers.
  void observe_warps(const WarpObserver& observer);
  /// How many warps have not exited, for the message about a simulation that got stuck.
  int resident_warps() const { return static_cast<int>(by_age_.size()); }
  const ResidentWarp& warp_at(int slot) const { return warps_[static_cast<std::size_t>(slot)]; }
  const tensor_core::RegisterFile& registers() const { return register_file_; }

  /// Places for matrix instructions between scheduler and operand fetch. Two keep the fetch busy: one instruction waits
  /// for its ports while another is on its way.
  static constexpr int kDispatchQueue = 2;

  // Wires to the tensor core and back.
  base::Wire<tensor_core::MmaIssue> issue;
  base::Wire<tensor_core::OperandsReadToken> operands_read;
  base::Wire<tensor_core::MmaDoneToken> mma_done;

 private:
  tensor_core::RegisterFile register_file_;

 public:
  tensor_core::TensorCore tensor_core;

 protected:
  void on_event() override;

 private:
  /// Issues what an awake scheduler would have issued in the cycles before this one.
  void issue_what_it_slept_through();
  void take_inputs();
  void obey(const WarpCommand& command);
  void end_load(const LoadDone& done);
  void end_copy(const CopyDone& done);
  void release_barrier(int cta_slot);
  /// Lets the warps of a CTA slot know that k-tiles have arrived, or its producer that all have freed them.
  void take_tiles(const WarpCommand& command);
  /// Reports k-tiles of `producer` that have arrived since its last report.
  void report_tiles(ResidentWarp& producer);
  /// Executes kFreeTiles: reports k-tiles that `warp` has read.
  void free_tiles(ResidentWarp& warp);
  void launch(const WarpCommand& command);
  /// Issues all that can be issued up to `cycle`. Where that has passed, it must be nothing that another block sees.
  /// Leaves in idle_before_ when the next one can be.
  void issue_up_to(std::int64_t cycle);
  /// Issues what follows in the next cycles whatever comes in until then: elided loads of the warp that the scheduler
  /// is with. Each can be issued in the cycle behind the one before, and the scheduler is greedy, so that no other warp
  /// gets a turn between them. Does nothing where several are issued per cycle: there others have a turn in the same
  /// cycle.
  void issue_ahead();
  /// The first cycle in which a warp can issue, as far as it is known, and the warp that issues then.
  struct Pick {
    std::int64_t cycle = ResidentWarp::kUnknown;
    int slot = -1;
  };
  /// Picks the latest warp where it can issue as soon as the scheduler can, else the oldest of those that can first.
  Pick pick_warp() const;
  /// First cycle in which the warp in `slot` may issue, as far as it is known.
  std::int64_t ready_at(int slot) const;
  /// Issues the next instruction of the warp in `slot`.
  void issue_from(int slot, std::int64_t cycle);
  /// Tells `counters` what the next instruction of `warp` has waited for until it is issued in `cycle`.
  void count_stall(const ResidentWarp& warp, std::int64_t cycle, StallCounters& counters) const;
  void count_stall_of_mma(const ResidentWarp& warp, std::int64_t cycle, StallCounters& counters) const;
  /// Ends a wait of the warp in `slot` in this cycle, where somebody observes warps.
  void wait_of_warp(int slot, StallReason reason) {
    if (StallCounters* const of_warp = stalls_of_warp(slot)) {
      of_warp->wait(now(), reason);
    }
  }
  /// Counters of the warp in `slot`; null where nobody observes warps.
  StallCounters* stalls_of_warp(int slot) {
    return stalls_of_warps_.empty() ? nullptr : &stalls_of_warps_[static_cast<std::size_t>(slot)];
  }
  /// Makes the warp in `slot` the latest one and takes its place among the issues of `cycle`.
  void take_issue_slot(int slot, std::int64_t cycle);
  /// Takes the issue slots behind the first one of an instruction that stands for several: no other instruction shares
  /// their cycles.
  void take_further_slots(int slots, std::int64_t cycle);
  /// Executes any instruction but a barrier, which others end.
  void execute(ResidentWarp& warp, int slot, std::int64_t cycle);
  /// Issues a load from shared memory, or a store to it.
  void issue_load(ResidentWarp& warp, int slot, std::int64_t cycle);
  /// Tells the kernel's observer, if it has one, that the warp has a k-tile in shared memory, or in its registers.
  void tell_tile(const ResidentWarp& warp, std::int64_t cycle) const;
  void issue_mma(ResidentWarp& warp, int slot, std::int64_t cycle);
  /// Notes that the operands of a matrix instruction are read in `cycle`, no earlier than those before it.
  void note_operands_read(std::int64_t cycle);
  /// Least cycles from one matrix instruction of a warp to its next one.
  std::int64_t same_warp_interval(const mma::StepContext& context, const isa::WarpInstruction& instruction,
                                  int metadata_wait) const;
  void issue_copy(ResidentWarp& warp, int slot, std::int64_t cycle);
  /// Lets the warp in `slot` go, if its program has ended and nothing of it is under way; whether it did.
  bool exit_if_done(int slot);
  /// Whether a wire of the tensor core has a tap (base::Wire::add_tap()): somebody sees each message on it.
  bool tapped() const { return issue.tapped() || operands_read.tapped() || mma_done.tapped() || tensor_core.tapped(); }
  /// Wakes the scheduler for the next thing that another block sees and whose cycle is known.
  void wake_for_next();
  /// A cycle no later than the first in which another block may see something of the warp in `slot`: to wake too early
  /// costs host time, too late would break the invariant.
  std::int64_t next_seen_outside(int slot) const;
  /// The warp in `slot`, for a change: ready_at() then looks up again when it may go on.
  ResidentWarp& change_warp(int slot) {
    next_[static_cast<std::size_t>(slot)].ready_at = kNotLookedUp;
    return warps_[static_cast<std::size_t>(slot)];
  }

  static constexpr std::int64_t kNotLookedUp = -1;

  /// What the scheduler remembers of the next instruction of a warp: it asks for those of all warps whenever it issues
  /// one.
  struct NextInstruction {
    std::int64_t ready_at = kNotLookedUp;
    bool is_mma = false;
  };

  tensor_core::TensorCoreSpec core_;
  int issue_per_cycle_;
  std::vector<ResidentWarp> warps_;
  mutable std::vector<NextInstruction> next_;   ///< per slot
  std::vector<StallCounters> stalls_of_warps_;  ///< per slot; empty: nobody observes them
  std::vector<int> by_age_;                     ///< slots of the resident warps, in the order of their launch
  int last_warp_ = -1;                          ///< slot of the warp that issued last; -1: none, or it has left
  /// Credits: free places between scheduler and operand fetch. A matrix instruction that is not elided takes one when
  /// it is issued, and gives it back when its operands are read.
  int dispatch_credits_;
  /// Cycles in which the operands of the latest matrix instructions are read, as far as that is known: an elided one
  /// takes its place in the queue by them, without a credit. The oldest is in front.
  std::array<std::int64_t, kDispatchQueue> operands_read_at_{};
  std::uint64_t next_mma_id_ = 0;
  std::int64_t next_issue_ = 0;  ///< the scheduler is busy before this cycle
  int issued_in_cycle_ = 0;      ///< instructions, in cycle `next_issue_`
  /// Nothing can be issued before this cycle unless something comes in, and that wakes the scheduler: where it wakes no
  /// later than this, it has missed nothing.
  std::int64_t idle_before_ = 0;
  tensor_core::Activity activity_;  ///< of the scheduler
};

}  // namespace sptc::sm
