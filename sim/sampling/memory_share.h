// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/share_of_cta.h"
#include "sim/memory/memory_spec.h"
#include "sim/memory/transfer_limits.h"
#include "sim/sm/memory_range.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sptc::sm {
struct RequestInfo;
}  // namespace sptc::sm

namespace sptc::sampling {

/// The memory system as a few SMs see it whose fellows do what they do: each of their transactions
/// stands for as many as there are SMs like it, and whether a block comes from the L2 or from DRAM
/// is decided by ratios instead of tags. A simulated SM is the last of those for which it stands.
/// At launch they ask at once; the queue at L2 and DRAM then spreads them, and later they are ahead
/// of it by the time that their bursts take to be served, so that it waits for them only where the
/// memory has no time to spare. What one waits for the first k-tile of a later CTA, behind the
/// stores of the CTAs before, spreads them further.
///
/// With as many ports as the L2 has partitions, or more, port i is an SM of partition i modulo
/// their number, each with its own load. With fewer the partitions work as one.
class MemoryShare {
 public:
  MemoryShare(const memory::MemorySpec& spec, double clock_mhz, int ports);

  /// An idle memory for the next grid: share of each CTA, SM clock, what DRAM has yet to take.
  void reset(double clock_mhz, kernels::ShareOf share, const memory::L2Contents& l2 = {});

  /// The SM of `port` reads or writes `range` for what `info` says: when it is answered. Call in
  /// the order of the cycles.
  std::int64_t access(std::size_t port, const sm::MemoryRange& range, bool write,
                      const sm::RequestInfo& info, std::int64_t now);

  /// Of all SMs.
  memory::MemoryActivity activity() const { return limits_.activity(); }

  /// Cycles from the first of all SMs to the last one in cycle `now`.
  std::int64_t spread(std::int64_t now) const;

 private:
  /// Spreads a ratio over transactions: carries what is owed to the next one.
  struct Owed {
    double from_dram = 0;
    double waits = 0;
  };

  /// The first k-tile of a CTA, for which the CTA waits: by what the last SM waits longer than the
  /// first one, they are further apart from then on.
  struct Start {
    std::int64_t cta = -1;
    std::int64_t bytes = 0;          ///< asked for
    std::int64_t spread_before = 0;  ///< cycles from the first SM to the last one
    std::int64_t spread = 0;         ///< the same, when the k-tile is there
    std::int64_t done = 0;           ///< cycle in which it is there
  };

  /// What a read of `range` moves and how long that takes in an idle system.
  void read(std::size_t port, const sm::MemoryRange& range, isa::Operand operand,
            const kernels::ShareOfCta& share, memory::Transfer& transfer);
  /// By how much the SMs for which this one stands are ahead of it.
  void set_ahead(std::size_t port, std::int64_t now, const kernels::ShareOfCta& share,
                 memory::Transfer& transfer) const;
  /// Counts a read of `cta` to the first k-tile of the newest CTA, if it is of it.
  void note_start(std::size_t port, std::int64_t cta, const kernels::ShareOfCta& share,
                  std::int64_t bytes, const memory::TransferLimits::Completion& done);
  /// Bytes of a read that another partition than that of `port` owns.
  std::int64_t owned_elsewhere(std::size_t port, const sm::MemoryRange& range) const;

  const memory::MemorySpec spec_;
  memory::TransferLimits limits_;
  double dram_bytes_per_cycle_ = 1;
  kernels::ShareOf share_;
  std::vector<std::array<Owed, isa::kOperandCount>> owed_;  ///< per port
  std::vector<Start> starts_;                               ///< of the newest CTA, per port
  std::vector<std::int64_t> first_response_;                ///< cycle, per port
};

}  // namespace sptc::sampling
