// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/gemm_kernel.h"
#include "sim/gemm/gemm_traffic.h"
#include "sim/sampling/grid_reuse.h"
#include "sim/sampling/memory_share.h"

#include <array>
#include <compare>
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

  /// Only `ctas` of the grid are simulated from here on. The waves behind the first one are mean
  /// ones then, and the last one, where it `ends_as_the_whole`, is that of the whole grid.
  void shorten(std::int64_t ctas, bool ends_as_the_whole);

 private:
  struct Wave {
    std::vector<ShareOfCta> of_port;
  };
  /// A wave of the grid, the one that is simulated in its place, and whether it is like the mean of
  /// those behind the first one.
  struct WaveName {
    std::int64_t wave = 0, simulated = 0;
    bool mean = false;
    auto operator<=>(const WaveName&) const = default;
  };
  WaveName wave_of(std::int64_t cta) const;
  Wave look_at(const WaveName& name) const;
  /// That a CTA with this tile asks for, of A with its metadata and of B, and elements of its D.
  std::array<double, 3> bytes_of(const CtaTile& tile) const;

  const GemmKernel& kernel_;
  const GridReuse& reuse_;
  const GemmTraffic traffic_;
  std::int64_t partitions_;
  std::int64_t sms_;
  std::vector<int> parts_;
  std::int64_t ctas_;  ///< that are simulated
  bool ends_as_the_whole_ = true;
  std::map<WaveName, Wave> waves_;
};

}  // namespace sptc::sim
