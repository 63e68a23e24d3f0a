// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/memory/memory_port.h"
#include "sim/memory/memory_spec.h"
#include "sim/memory/transfer_limits.h"
#include "sim/sm/memory_request.h"

#include <array>
#include <functional>

namespace sptc::sim {

/// What the other SMs do while one SM is simulated.
struct ShareOfCta {
  /// Of what is requested of an operand, the parts that DRAM delivers, and the part that waits for
  /// DRAM because it or another SM fetches it for the first time.
  struct OfOperand {
    double from_dram = 1;
    double waits_for_dram = 1;
  };
  /// SMs that do the same; a fraction where some of them move less, at the edges of the matrices.
  double active_sms = 1;
  /// Bytes that one SM asks for at once: a k-tile of a CTA; and of those, bytes from DRAM.
  double burst_bytes = 0, burst_dram_bytes = 0;
  /// By Operand. Partial sums of CTAs that share an output tile have just been written.
  std::array<OfOperand, kOperandCount> operands{{{}, {}, {}, {0, 0}}};
};

/// The memory system as one SM sees it whose fellows all do the same at the same time: each of its
/// transactions stands for as many as there are active SMs, and whether a block comes from the L2
/// or from DRAM is decided by ratios instead of tags. SMs drift apart, so that a request finds
/// itself anywhere in the bursts of its fellows: it waits for half of them, on average, not for
/// all. One socket.
class MemoryShare : public MemoryPorts {
 public:
  MemoryShare(const sc_core::sc_module_name& name, const Clock& clock, const MemorySpec& spec);

  /// An idle memory for the next grid: share of each CTA, SM clock.
  void reset(double clock_mhz, std::function<const ShareOfCta&(std::int64_t cta)> share);

  /// Of all SMs for which the simulated one stood.
  MemoryCounters counters() const { return limits_.counters(); }

 protected:
  std::int64_t complete(std::size_t port, const tlm::tlm_generic_payload& payload,
                        std::int64_t now) override;

 private:
  /// Spreads a ratio over transactions: carries what is owed to the next one.
  struct Owed {
    double from_dram = 0;
    double waits = 0;
  };

  /// Of an idle DRAM, for the last of the tiles of a CTA.
  std::int64_t dram_latency(const ShareOfCta& share) const;

  const MemorySpec spec_;
  TransferLimits limits_;
  double dram_bytes_per_cycle_ = 1;
  std::function<const ShareOfCta&(std::int64_t)> share_;
  std::array<Owed, kOperandCount> owed_{};
};

}  // namespace sptc::sim
