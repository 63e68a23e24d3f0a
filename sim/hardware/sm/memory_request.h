// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/isa/warp_instruction.h"
#include "sim/hardware/sm/memory_range.h"

#include <tlm>

#include <cstdint>

namespace sptc::sm {

/// What a transaction of an SM is for, beside its address: an ignorable extension of the generic payload of TLM-2.0. A
/// memory finds here what its address does not say, and leaves in `waited_for` what it knows.
struct RequestInfo : public tlm::tlm_extension<RequestInfo> {
  tlm::tlm_extension_base* clone() const override { return new RequestInfo(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const RequestInfo&>(other); }

  isa::Operand operand = isa::Operand::kA;  ///< that is read; of a write: kPartialSum, or any other for D
  int readers = 1;                          ///< see MemoryRange
  // The asker: warp `warp` of CTA `cta` with `instruction`, in or for its k-tile `tile`.
  const isa::WarpInstruction* instruction = nullptr;
  std::int64_t cta = 0;
  std::int64_t tile = 0;
  int warp = 0;
  /// What the response took longest for, written by a memory that knows it.
  mutable MemoryLevel waited_for = MemoryLevel::kLatency;
};

}  // namespace sptc::sm
