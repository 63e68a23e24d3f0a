// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/cache_tags.h"
#include "sim/hardware/sm/memory_range.h"
#include "sim/hardware/sm/sm_spec.h"

#include <optional>

namespace sptc::sm {

/// Which lines of global memory the L1 of an SM holds. It has what the shared memory of the
/// resident CTAs leaves of the array that both live in. Loads into registers look here first;
/// cp.async of 16 bytes (.cg), TMA and stores pass by. A load that does not find all of its bytes
/// asks the L2 for all of them, also where another load of them is under way.
class L1Cache {
 public:
  explicit L1Cache(const SmSpec& spec) : array_(spec.l1_and_shared_memory) { start({}); }

  /// Empty, beside `shared_memory` bytes of shared memory.
  void start(base::Bytes shared_memory);

  /// Whether all of `range` is there; marks it as used.
  bool holds(const MemoryRange& range);
  void fill(const MemoryRange& range);

 private:
  base::Bytes array_;
  std::optional<base::CacheTags> tags_;  ///< nothing is left: absent
};

}  // namespace sptc::sm
