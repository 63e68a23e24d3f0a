// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/hardware/sm/tokens.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sptc::sm {

/// The life of a CTA on an SM.
struct CtaRecord {
  std::int64_t cta = 0;
  std::int64_t start_cycle = 0;
  std::int64_t end_cycle = 0;
};

/// Places the warps of a CTA on the sub-partitions, holds them at barriers, and notices when the CTA is done. It also
/// stands for the barriers in shared memory (mbarrier) between a CTA's producer, a warp that only copies k-tiles, and
/// its other warps, which read them: what arrives at one is known a barrier's latency later.
class CtaUnit : public base::Module {
 public:
  sc_core::sc_port<base::WireIn<CtaLaunch>> launch_in{"launch_in"};
  sc_core::sc_port<base::WireOut<CtaDone>> done_out{"done_out"};
  // SystemC ports, a pair for each sub-partition.
  sc_core::sc_vector<sc_core::sc_port<base::WireIn<WarpReport>>> report_in;
  sc_core::sc_vector<sc_core::sc_port<base::WireOut<WarpCommand>>> command_out;

  CtaUnit(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec);

  /// CTAs in the order in which they ended; taking them empties the log.
  std::vector<CtaRecord> take_records() { return std::exchange(records_, {}); }

 protected:
  void on_event() override;

 private:
  /// A place for a resident CTA.
  struct Slot {
    const KernelLaunch* kernel = nullptr;  ///< absent: free
    int warps_left = 0;                    ///< warps that have not exited, beside the producer
    int warps_at_barrier = 0;
    bool producer_left = false;             ///< whether there is a producer that has not exited
    std::vector<std::int64_t> tiles_freed;  ///< k-tiles that each warp beside the producer has read
    std::int64_t freed_by_all = 0;          ///< the least of them
    CtaRecord record;
  };

  void launch(const CtaLaunch& cta);
  void handle(const WarpReport& report);
  /// Releases the barrier where all warps that are left have arrived at it.
  void release_barrier(int slot);
  /// Tells the producer of k-tiles that all warps have read.
  void free_tiles(const WarpReport& report);
  /// Ends a warp, and with the last one its CTA.
  void leave(const WarpReport& report);
  /// Sends `command` to the warps of its CTA slot in every sub-partition, a barrier's latency after the report.
  void announce(const WarpCommand& command);

  int barrier_latency_;
  std::vector<Slot> slots_;
  std::vector<CtaRecord> records_;
};

}  // namespace sptc::sm
