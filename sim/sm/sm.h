// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sm/activity.h"
#include "sim/sm/async_copy.h"
#include "sim/sm/cta_unit.h"
#include "sim/sm/shared_memory.h"
#include "sim/sm/sm_spec.h"
#include "sim/sm/sub_partition.h"
#include "sim/sm/warpgroup_unit.h"

#include <memory>
#include <vector>

namespace sptc::sim {

/// One streaming multiprocessor: CTA unit, shared memory and sub-partitions, wired.
class Sm : public sc_core::sc_module {
 public:
  sc_core::sc_port<WireIn<CtaLaunch>> launch_in{"launch_in"};
  sc_core::sc_port<WireOut<CtaDone>> done_out{"done_out"};

  /// Of all blocks, since the start of the simulation.
  Activity activity() const;

  /// A grid begins in cycle `start`, with CTAs that have shared memory `of_ctas` bytes large.
  void start_grid(std::int64_t start, Bytes of_ctas);
  /// Of all its tensor cores, of the grid, which has ended in cycle `end`.
  StallCycles stalls(std::int64_t end);

  Sm(const sc_core::sc_module_name& name, const Clock& clock, const SmSpec& spec);

  CtaUnit cta_unit;
  SharedMemory shared_memory;
  WarpgroupUnit warpgroup_unit;
  AsyncCopyUnit async_copy;  ///< its socket `memory` is the SM's
  std::vector<std::unique_ptr<SubPartition>> sub_partitions;

 private:
  /// The wires between one sub-partition and the shared blocks of the SM.
  struct Links {
    Links(int index, const Clock& clock);
    Wire<WarpCommand> command;
    Wire<WarpReport> report;
    Wire<LoadRequest> load;
    Wire<LoadDone> load_done;
    Wire<WgmmaRequest> wgmma;
    Wire<WgmmaDone> wgmma_done;
    Wire<CopyRequest> copy;
    Wire<CopyDone> copy_done;
  };
  std::vector<std::unique_ptr<Links>> links_;
};

}  // namespace sptc::sim
