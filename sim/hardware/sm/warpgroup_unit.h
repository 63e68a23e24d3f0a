// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/mma_fwd.h"
#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/sm/shared_memory.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/hardware/sm/stall_counters.h"
#include "sim/hardware/sm/tokens.h"
#include "sim/hardware/tensor_core/activity.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

namespace sptc::sm {

/// Cycles that an SM `spec` takes for the arithmetic of an asynchronous `instruction` (wgmma, tcgen05.mma), or for its
/// part of it where `cta_group` SMs run it together.
std::int64_t asynchronous_multiply_cycles(const mma::MmaInstruction& instruction, const SmSpec& spec, int cta_group);

/// Runs instructions of a warpgroup, four warps, on the tensor cores of all sub-partitions together: wgmma, of 64 rows
/// of A, 16 per sub-partition, and tcgen05.mma, of 128 rows for each SM that takes part. B, and A where it does not
/// come from registers, are read from shared memory once for the whole warpgroup and take their part of its bandwidth;
/// the operands of one instruction arrive while the one before it is multiplied. An instruction begins when its four
/// warps have issued it, and instructions run in that order. Only time is simulated.
///
/// The tensor cores are those of the sub-partitions; a kernel uses wgmma or mma.sync, not both at once.
class WarpgroupUnit : public base::Module {
 public:
  static constexpr int kWarps = mma::kWarpsPerWarpgroup;

  // SystemC ports, a pair for each sub-partition.
  sc_core::sc_vector<sc_core::sc_port<base::WireIn<WgmmaRequest>>> request_in;
  sc_core::sc_vector<sc_core::sc_port<base::WireOut<WgmmaDone>>> done_out;

  WarpgroupUnit(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec,
                SharedMemory& shared_memory);

  const tensor_core::Activity& activity() const { return activity_; }

  /// Calls `tell` with each instruction when it begins.
  void on_begin(std::function<void(const WarpgroupMultiply&)> tell) { tell_ = std::move(tell); }

 protected:
  void on_event() override;

 private:
  using WarpgroupName = std::pair<std::int64_t, int>;  ///< CTA, index in the CTA
  struct Warpgroup {
    std::array<std::deque<WgmmaRequest>, kWarps> issued;  ///< by each warp, and not yet by all
  };

  /// Takes a warp's part of an instruction, which is complete with the part of its fourth warp.
  void take(const WgmmaRequest& request);
  void begin_next();

  SmSpec spec_;
  SharedMemory& shared_memory_;
  std::map<WarpgroupName, Warpgroup> gathering_;          ///< those of which some warps have issued
  std::deque<std::array<WgmmaRequest, kWarps>> waiting_;  ///< complete, in order
  std::int64_t next_begin_ = 0;                           ///< the operands of the next one may be read from here on
  std::int64_t multiplied_ = 0;                           ///< cycle in which the latest one is through the multipliers
  tensor_core::Activity activity_;
  std::function<void(const WarpgroupMultiply&)> tell_;
};

}  // namespace sptc::sm
