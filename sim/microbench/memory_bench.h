// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/memory/memory_system.h"
#include "sim/microbench/memory_reader.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sptc::microbench {

enum class BandwidthOperation { kRead, kWrite, kCopy };

/// L2 and DRAM by themselves, one requester in the place of every SM. Part of a design that is
/// elaborated by its owner.
class MemoryBench {
 public:
  MemoryBench(const base::Clock& clock, const memory::MemorySpec& spec, int sms);

  /// Mean cycles of a load of 8 bytes whose address is the word before, over a ring of one word per
  /// `stride` bytes in `footprint` bytes, visited in scattered order, the second time round. Larger
  /// rings than four times the L2 take as long as that one: there is no TLB. Throws InputError
  /// unless 8 <= stride <= footprint.
  double chase_cycles(std::int64_t footprint, std::int64_t stride);

  /// Cycles of a load of a line that this SM and others have read before.
  double line_cycles();

  /// 1e9 bytes per second and SM clock while all SMs together walk over `footprint` bytes again and
  /// again; a copy reads its first half and writes the second. Larger footprints than four times
  /// the L2 count as that. Throws InputError for less than 4 KiB.
  double bandwidth_gb_per_s(BandwidthOperation operation, std::int64_t footprint);

 private:
  void forget_answers();
  std::int64_t at_most_four_caches(std::int64_t footprint) const;

  const base::Clock& clock_;
  std::int64_t l2_bytes_;
  memory::MemorySystem memory_;
  std::vector<std::unique_ptr<MemoryReader>> readers_;  ///< one per SM
};

}  // namespace sptc::microbench
