// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/isa/warp_instruction.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace sptc::kernels {

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
  std::array<OfOperand, isa::kOperandCount> operands{{{}, {}, {}, {0, 0, 0, 1}}};
};

/// Of the CTA on the SM that is built as number `port`.
using ShareOf = std::function<const ShareOfCta&(std::size_t port, std::int64_t cta)>;

}  // namespace sptc::kernels
