// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gemm/gemm_traffic.h"
#include "sim/gemm/grid_reuse.h"
#include "sim/memory/memory_share.h"

#include <cstdint>
#include <map>
#include <vector>

namespace sptc::sim {

/// What a few simulated SMs leave of the memory to each other, wave by wave: GridReuse says what
/// DRAM delivers, and here the CTAs of a wave are told apart by the partition of the L2 that their
/// SMs ask. A partition may have the full tiles and the other one those of the edge.
class SampledShare {
 public:
  /// `parts`: the SMs that are simulated; part i asks partition i modulo their number, as it must
  /// be a multiple of theirs or one.
  SampledShare(const GemmKernel& kernel, const GridReuse& reuse, const MemorySpec& memory,
               std::int64_t sms, std::vector<int> parts);

  /// What CTA `cta` of simulated SM `port` stands for.
  const ShareOfCta& share_of(std::size_t port, std::int64_t cta);

  /// The waves behind the first one are mean ones from here on, or each as it is.
  void use_mean_waves(bool mean) { mean_waves_ = mean; }

 private:
  struct Wave {
    std::vector<ShareOfCta> of_port;
  };
  Wave look_at(std::int64_t wave, const ShareOfCta& share) const;

  const GemmKernel& kernel_;
  const GridReuse& reuse_;
  const GemmTraffic traffic_;
  std::int64_t partitions_;
  std::int64_t sms_;
  std::vector<int> parts_;
  bool mean_waves_ = false;
  std::map<std::pair<bool, std::int64_t>, Wave> waves_;  ///< mean ones or not, by number
};

}  // namespace sptc::sim
