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
#include <string>
#include <vector>

namespace sptc::sm {

/// One streaming multiprocessor: sub-partitions, the blocks that they share, and the wires between them.
class Sm : public sc_core::sc_module {
 public:
  sc_core::sc_port<base::WireIn<CtaLaunch>> launch_in{"launch_in"};
  sc_core::sc_port<base::WireOut<CtaDone>> done_out{"done_out"};

  /// What all blocks have done since the start of the simulation.
  tensor_core::Activity activity() const;

  /// Tells `request` of every request of a sub-partition to the asynchronous copy unit, and `done` of every answer.
  void tap_copies(const std::function<void(int partition, const CopyRequest&)>& request,
                  const std::function<void(int partition, const CopyDone&)>& done);

  /// Begins a grid in cycle `start`: shared memory gets `of_ctas` bytes for its CTAs, the L1 the rest.
  void start_grid(std::int64_t start, base::Bytes of_ctas);
  /// Gives each cycle of each tensor core in the grid, which has ended in cycle `end`, to a reason.
  StallCycles stalls(std::int64_t end);

  Sm(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec);

  CtaUnit cta_unit;
  SharedMemory shared_memory;
  WarpgroupUnit warpgroup_unit;
  AsyncCopyUnit async_copy;  ///< its socket `memory` is the SM's
  std::vector<std::unique_ptr<SubPartition>> sub_partitions;

 private:
  /// Puts a wire of one cycle between a sub-partition and a block that they share.
  template <typename T>
  base::Wire<T>& link(const std::string& name, sc_core::sc_port<base::WireOut<T>>& from,
                      sc_core::sc_port<base::WireIn<T>>& to, const base::Clock& clock) {
    const auto wire = std::make_shared<base::Wire<T>>(name.c_str(), clock, 1);
    base::connect(from, *wire, to);
    wires_.push_back(wire);
    return *wire;
  }

  std::vector<std::shared_ptr<void>> wires_;
  std::vector<base::Wire<CopyRequest>*> copies_;  ///< of wires_, per sub-partition
  std::vector<base::Wire<CopyDone>*> copies_done_;
};

}  // namespace sptc::sm
