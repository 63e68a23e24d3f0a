// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"
#include "sim/base/module.h"
#include "sim/base/throughput.h"
#include "sim/base/wire.h"
#include "sim/hardware/sm/sm_spec.h"
#include "sim/hardware/sm/tokens.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

namespace sptc::sm {

/// Shared memory of an SM. An access to all banks, a wavefront, moves 128 bytes in a cycle; a load of 32 lanes x 4
/// bytes takes as many wavefronts as lanes meet in the same bank. Stores of registers take their wavefronts in the same
/// way, so that a load behind a barrier finds what was stored before it. The data of a copied tile is always there:
/// warps wait for it before they load.
///
/// The wavefronts of a sub-partition follow each other at their own, slower pace. All compete for the banks in the
/// order in which they come, with the L1, copies and wgmma (claim(), write()). What TMA writes is the last of its
/// cycle, so that it does not matter which unit is evaluated first.
///
/// Elided requests (LoadRequest::elided) may wait until the first of them has to be answered: then one activation
/// serves many, each from the cycle in which it came.
class SharedMemory : public base::Module {
 public:
  // SystemC ports, a pair for each sub-partition.
  sc_core::sc_vector<sc_core::sc_port<base::WireIn<LoadRequest>>> request_in;
  sc_core::sc_vector<sc_core::sc_port<base::WireOut<LoadDone>>> done_out;

  SharedMemory(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec);

  /// Occupies the banks for `bytes` free of conflicts, behind everything that came before: writes of cp.async, loads
  /// into registers from the L1 or the L2, operands that wgmma reads. Returns the cycle in which the last of them is
  /// through. The unit that moves the bytes calls this in the cycle in which it wants to begin.
  std::int64_t claim(base::Bytes bytes);

  /// Occupies the banks for what TMA writes, behind all that comes in this cycle. Sets `through` to the cycle in which
  /// the last of it is through, at the latest by settle_writes() in a later cycle.
  void write(base::Bytes bytes, std::int64_t& through) { writes_.push_back({now(), bytes.count(), &through}); }
  /// Serves all that came before this cycle, so that `through` of each write is known.
  void settle_writes();

  /// Bytes of fragments that warps have loaded, without partial sums.
  std::int64_t loaded_bytes() const { return loaded_bytes_; }

 protected:
  void on_event() override;

 private:
  /// Serves all requests that have come, in the order of their cycles.
  void serve();
  /// Looks up when the next request of sub-partition `index` came.
  void see_next(std::size_t index);
  /// Reserves the banks for what TMA has written before `cycle`.
  void take_writes(std::int64_t cycle);
  void answer(std::size_t index, const LoadRequest& request);
  /// Takes the banks for `request` of sub-partition `index`; the cycle in which its last wavefront is through.
  std::int64_t access(std::size_t index, const LoadRequest& request);

  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  std::int64_t wavefront_bytes_;
  std::int64_t latency_;
  base::Throughput banks_;              ///< in bytes
  std::int64_t wavefront_cycles_;       ///< between wavefronts of one sub-partition
  std::vector<base::Throughput> pace_;  ///< per sub-partition, in cycles
  struct Write {
    std::int64_t arrival_cycle, bytes;
    std::int64_t* through;  ///< see write()
  };
  std::deque<Write> writes_;                ///< of TMA, not yet taken
  std::vector<std::int64_t> next_arrival_;  ///< per sub-partition, of the next request; or kNone
  std::int64_t loaded_bytes_ = 0;
};

}  // namespace sptc::sm
