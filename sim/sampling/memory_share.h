// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/memory/memory_port.h"
#include "sim/memory/memory_spec.h"
#include "sim/memory/transfer_limits.h"
#include "sim/sampling/followers.h"
#include "sim/sm/memory_request.h"

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace sptc::sim {

/// What the SMs do for which a simulated one stands.
struct ShareOfCta {
  /// Of what is requested of an operand: the part that DRAM delivers, the part that waits for DRAM
  /// because it or another SM fetches it for the first time, and, of what another partition of the
  /// L2 owns, the part that comes from there.
  struct OfOperand {
    double from_dram = 1;
    double waits_for_dram = 1;
    double from_other_partition = 1;
    /// Bytes that all SMs of the partition read of it, for each that the simulated one reads. More
    /// than there are SMs where that one has a tile at an edge of the matrices and others have not.
    double reads_per_simulated = 1;
  };
  /// SMs that ask at the same time, the simulated one included; one that asks for less than a full
  /// tile counts as that part of an SM.
  double sms_asking = 1;
  double stores_per_simulated = 1;  ///< the same of bytes that are stored
  /// Bytes that one SM asks for at once: a k-tile of a CTA; of those, what the L2 reads for this SM
  /// (its part of what it reads for several), and bytes from DRAM.
  double burst_bytes = 0, burst_l2_bytes = 0, burst_dram_bytes = 0;
  /// By Operand. Partial sums of CTAs that share an output tile have just been written.
  std::array<OfOperand, kOperandCount> operands{{{}, {}, {}, {0, 0, 0, 1}}};
};

/// Of the CTA on the SM that is built as number `port`.
using ShareOf = std::function<const ShareOfCta&(std::size_t port, std::int64_t cta)>;

/// The memory system as a few SMs see it whose fellows do what they do: each of their transactions
/// stands for as many as there are SMs like it, and whether a block comes from the L2 or from DRAM
/// is decided by ratios instead of tags. A simulated SM is the last of those for which it stands.
/// At launch they ask at once; the queue at L2 and DRAM then spreads them, and later they are ahead
/// of it by the time that their bursts take to be served, so that it waits for them only where the
/// memory has no time to spare. What one waits for the first k-tile of a later CTA, behind the
/// stores of the CTAs before, spreads them further.
///
/// With as many sockets as the L2 has partitions, or more, socket i is an SM of partition i modulo
/// their number, each with its own load. With fewer the partitions work as one.
class MemoryShare : public MemoryPorts {
 public:
  MemoryShare(const sc_core::sc_module_name& name, const Clock& clock, const MemorySpec& spec,
              int ports);

  /// An idle memory for the next grid: share of each CTA, SM clock.
  void reset(double clock_mhz, ShareOf share);

  /// Until the next reset() the memory is that of `followers`, whose leaders are behind the
  /// sockets. `end_ctas` tells them which CTAs of leaders ended in a cycle, and is called before
  /// the first request of each.
  void follow(Followers& followers, std::function<void()> end_ctas) {
    followers_ = &followers;
    end_ctas_ = std::move(end_ctas);
  }

  /// Cycles from the first of all SMs to the last one in cycle `now`.
  std::int64_t spread(std::int64_t now) const;

 protected:
  std::int64_t complete(std::size_t port, const tlm::tlm_generic_payload& payload,
                        std::int64_t now) override;

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

  /// What `payload`, a read, moves and how long that takes in an idle system.
  void read(std::size_t port, const tlm::tlm_generic_payload& payload, const RequestInfo& info,
            const ShareOfCta& share, Transfer& transfer);
  /// By how much the SMs for which this one stands are ahead of it.
  void set_ahead(std::size_t port, std::int64_t now, const ShareOfCta& share,
                 Transfer& transfer) const;
  /// Counts a read of `cta` to the first k-tile of the newest CTA, if it is of it.
  void note_start(std::size_t port, std::int64_t cta, const ShareOfCta& share, std::int64_t bytes,
                  const TransferLimits::Completion& done);
  /// Bytes of a read that another partition than that of `port` owns.
  std::int64_t owned_elsewhere(std::size_t port, const tlm::tlm_generic_payload& payload) const;

  const MemorySpec spec_;
  TransferLimits limits_;
  double dram_bytes_per_cycle_ = 1;
  Followers* followers_ = nullptr;
  std::function<void()> end_ctas_;
  std::int64_t looked_at_ = -1;  ///< cycle of the latest request of a leader
  ShareOf share_;
  std::vector<std::array<Owed, kOperandCount>> owed_;  ///< per port
  std::vector<Start> starts_;                          ///< of the newest CTA, per port
  std::vector<std::int64_t> first_response_;           ///< cycle, per port
};

}  // namespace sptc::sim
