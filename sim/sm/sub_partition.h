// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/sm/copy_groups.h"
#include "sim/sm/register_file.h"
#include "sim/sm/scoreboard.h"
#include "sim/sm/sm_spec.h"
#include "sim/sm/tokens.h"
#include "sim/sm/wgmma_groups.h"
#include "sim/tensor_core/tensor_core.h"

#include <vector>

namespace sptc::sim {

/// A quarter of an SM: warps, their registers, a scheduler that issues one instruction per cycle,
/// and a tensor core. The scheduler is greedy-then-oldest: it stays with a warp as long as it can
/// issue, then takes the oldest that can.
class SubPartition : public Module {
 public:
  struct Statistics {
    std::int64_t issued = 0;
    std::int64_t mma_issued = 0;
    std::int64_t loads_issued = 0;
  };

  sc_core::sc_port<WireIn<WarpCommand>> command_in{"command_in"};
  sc_core::sc_port<WireOut<WarpReport>> report_out{"report_out"};
  sc_core::sc_port<WireOut<LoadRequest>> load_out{"load_out"};
  sc_core::sc_port<WireIn<LoadDone>> load_done_in{"load_done_in"};
  sc_core::sc_port<WireOut<WgmmaRequest>> wgmma_out{"wgmma_out"};
  sc_core::sc_port<WireIn<WgmmaDone>> wgmma_done_in{"wgmma_done_in"};
  sc_core::sc_port<WireOut<CopyRequest>> copy_out{"copy_out"};
  sc_core::sc_port<WireIn<CopyDone>> copy_done_in{"copy_done_in"};

  SubPartition(const sc_core::sc_module_name& name, const Clock& clock, const SmSpec& spec);

  const Statistics& statistics() const { return statistics_; }
  /// Warps that have not exited, for the message about a simulation that got stuck.
  int resident_warps() const;

  Wire<MmaIssue> issue;
  Wire<OperandsReadToken> operands_read;
  Wire<MmaDoneToken> mma_done;

 private:
  RegisterFile register_file_;

 public:
  TensorCore tensor_core;

 protected:
  void on_event() override;

 private:
  struct Warp {
    bool resident = false;
    bool at_barrier = false;
    std::int64_t age = 0;  ///< order of launch
    WarpName name;
    CtaLaunch launch;
    WarpCursor cursor;
    Scoreboard scoreboard;
    WgmmaGroups wgmma;
    std::int64_t next_mma = 0;  ///< no matrix instruction before this cycle
    CopyGroups copies;
    bool idle() const { return scoreboard.idle() && wgmma.idle() && copies.idle(); }
  };

  void take_inputs();
  void launch(const WarpCommand& command);
  bool issue_one();
  bool can_issue(const Warp& warp) const;
  int pick_warp() const;
  void issue_from(int slot);
  void issue_copy(int slot);
  void exit_if_done(int slot);
  Warp& warp_at(int slot) { return warps_[static_cast<std::size_t>(slot)]; }

  void wake_for_next_mma();

  TensorCoreSpec core_;
  int issue_per_cycle_;
  std::vector<Warp> warps_;
  int last_warp_ = -1;
  int dispatch_credits_;
  std::int64_t launched_ = 0;
  std::uint64_t next_mma_id_ = 0;
  std::int64_t issue_cycle_ = -1;      ///< cycle of the latest issue
  std::int64_t issue_free_cycle_ = 0;  ///< behind an instruction of several issue slots
  int issued_in_cycle_ = 0;
  Statistics statistics_;
};

}  // namespace sptc::sim
