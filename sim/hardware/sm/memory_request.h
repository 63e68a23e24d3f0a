// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/isa/warp_instruction.h"
#include "sim/hardware/sm/memory_range.h"

#include <tlm>

#include <cstdint>

namespace sptc::sm {

/// What a transaction of an SM is for, beside its address: an ignorable extension of the generic
/// payload. A memory model needs it for partial sums; others do not look at it.
struct RequestInfo : public tlm::tlm_extension<RequestInfo> {
  tlm::tlm_extension_base* clone() const override { return new RequestInfo(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const RequestInfo&>(other); }

  isa::Operand operand = isa::Operand::kA;  ///< that is read, or partial sums that are written
  int readers = 1;                          ///< see MemoryRange
  // The asker: a warp of a CTA with an instruction, in its k-tile `tile`, or for it.
  const isa::WarpInstruction* instruction = nullptr;
  std::int64_t cta = 0;
  std::int64_t tile = 0;
  int warp = 0;
  /// What the answer took longest for, by a memory that knows.
  mutable MemoryLevel waited_for = MemoryLevel::kLatency;
};

}  // namespace sptc::sm
