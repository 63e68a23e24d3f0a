// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/isa/warp_instruction.h"

#include <tlm>

#include <cstdint>

namespace sptc::sm {

/// Bytes of global memory, consecutive.
struct MemoryRange {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  /// CTAs that the L2 reads it for at once: TMA multicast, each CTA of a cluster asks for its part
  /// and all of them get it.
  int readers = 1;
};

/// What takes longest of a transaction: the way through an idle memory, or until one of its parts
/// has moved the last byte.
enum class MemoryLevel : std::uint8_t { kLatency, kSmPort, kL2, kDram };

/// What a transaction of an SM is for, beside its address: an ignorable extension of the generic
/// payload. A memory model that stands for the share of one SM needs it, one of all SMs for partial
/// sums; others do not look at it.
struct RequestInfo : public tlm::tlm_extension<RequestInfo> {
  tlm::tlm_extension_base* clone() const override { return new RequestInfo(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const RequestInfo&>(other);
  }

  std::int64_t cta = 0;
  isa::Operand operand = isa::Operand::kA;  ///< that is read, or partial sums that are written
  int readers = 1;                          ///< see MemoryRange
  // Who asks: a warp of a CTA with an instruction, in its k-tile `tile`, or for it.
  const isa::WarpInstruction* instruction = nullptr;
  std::int64_t asking_cta = 0;
  std::int64_t tile = 0;
  int warp = 0;
  /// Of the answer, by a memory that knows.
  mutable MemoryLevel waited_for = MemoryLevel::kLatency;
};

}  // namespace sptc::sm
