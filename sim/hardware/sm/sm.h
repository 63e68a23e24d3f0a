// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/sm/async_copy.h"
#include "sim/hardware/sm/cta_unit.h"
#include "sim/hardware/sm/shared_memory.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/hardware/sm/sub_partition.h"
#include "sim/hardware/sm/warpgroup_unit.h"
#include "sim/hardware/tensor_core/activity.h"

#include <functional>
#include <memory>
#include <vector>

namespace sptc::sm {

/// One streaming multiprocessor: CTA unit, shared memory and sub-partitions, wired.
class Sm : public sc_core::sc_module {
 public:
  sc_core::sc_port<base::WireIn<CtaLaunch>> launch_in{"launch_in"};
  sc_core::sc_port<base::WireOut<CtaDone>> done_out{"done_out"};

  /// Counts of all blocks, since the start of the simulation.
  tensor_core::Activity activity() const;

  /// Tells of every request of a sub-partition to the asynchronous copy unit, and of the answers.
  void tap_copies(const std::function<void(int partition, const CopyRequest&)>& request,
                  const std::function<void(int partition, const CopyDone&)>& done);

  /// A grid begins in cycle `start`, with CTAs that have shared memory `of_ctas` bytes large.
  void start_grid(std::int64_t start, base::Bytes of_ctas);
  /// Cycles of all tensor cores in the grid, which has ended in cycle `end`.
  StallCycles stalls(std::int64_t end);

  Sm(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec);

  CtaUnit cta_unit;
  SharedMemory shared_memory;
  WarpgroupUnit warpgroup_unit;
  AsyncCopyUnit async_copy;  ///< its socket `memory` is the SM's
  std::vector<std::unique_ptr<SubPartition>> sub_partitions;

 private:
  /// The wires between one sub-partition and the shared blocks of the SM.
  struct Links {
    Links(int index, const base::Clock& clock);
    base::Wire<WarpCommand> command;
    base::Wire<WarpReport> report;
    base::Wire<LoadRequest> load;
    base::Wire<LoadDone> load_done;
    base::Wire<WgmmaRequest> wgmma;
    base::Wire<WgmmaDone> wgmma_done;
    base::Wire<CopyRequest> copy;
    base::Wire<CopyDone> copy_done;
  };
  std::vector<std::unique_ptr<Links>> links_;
};

}  // namespace sptc::sm
