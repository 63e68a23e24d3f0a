// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/gemm_traffic.h"
#include "sim/kernels/grid_reuse.h"
#include "sim/kernels/share_of_cta.h"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace sptc::sampling {

/// What a few simulated SMs leave of the memory to each other, wave by wave: GridReuse says what
/// DRAM delivers, and here the CTAs of a wave are told apart by the partition of the L2 that their
/// SMs ask. A partition may have the full tiles and the other one those of the edge.
class SampledShare {
 public:
  /// `sm_numbers`: of those of the `sms` SMs that are simulated; the one at place i asks partition
  /// i modulo their number, as it must be a multiple of theirs or one.
  SampledShare(const kernels::GemmKernel& kernel, const kernels::GridReuse& reuse,
               const memory::MemorySpec& memory, std::int64_t sms, std::vector<int> sm_numbers);

  /// What CTA `cta` of simulated SM `port` stands for.
  const kernels::ShareOfCta& share_of(std::size_t port, std::int64_t cta);

  /// Only `ctas` of the grid are simulated from here on. The waves behind the first one are mean
  /// ones then, and the last one, where it `ends_as_the_whole`, is that of the whole grid.
  void shorten(std::int64_t ctas, bool ends_as_the_whole);

 private:
  /// A wave of the grid that is simulated, and the wave of the whole grid for which it stands.
  struct StandIn {
    std::int64_t simulated = 0, whole = 0;
    bool mean = false;  ///< it takes from DRAM what the mean one behind the first takes
    auto operator<=>(const StandIn&) const = default;
  };
  /// Of the wave in which `cta` is.
  StandIn stand_in_of(std::int64_t cta) const;
  /// What CTAs ask for, of A with its metadata and of B in bytes, and store, in elements of D.
  using Moved = std::array<double, 3>;
  /// Of the CTAs of a wave on the SMs of one partition of the L2.
  struct Asked {
    Moved moved{};
    std::array<double, 2> distinct{};  ///< of operands, each tile counted once
  };
  /// Of those of them that are simulated.
  struct Simulated {
    Moved moved{};
    double full = 0;  ///< of operands, were none of their tiles at an edge
  };
  Moved moved_by(const kernels::CtaTile& tile) const;
  /// Of a wave of the whole grid, per partition.
  std::vector<Asked> asked_in(std::int64_t wave) const;
  /// Of a wave of the grid that is simulated, per partition.
  std::vector<Simulated> simulated_in(std::int64_t wave) const;
  /// `share`, of all SMs, with what is different for those of a partition.
  static kernels::ShareOfCta share_of_partition(kernels::ShareOfCta share, const Asked& asked,
                                                const Simulated& simulated);
  /// Of the simulated SMs of each partition.
  std::vector<kernels::ShareOfCta> shares_of(const StandIn& wave) const;

  const kernels::GemmKernel& kernel_;
  const kernels::GridReuse& reuse_;
  const kernels::GemmTraffic traffic_;
  std::int64_t partitions_;
  std::int64_t sms_;
  std::vector<int> sm_numbers_;
  std::int64_t ctas_;  ///< that are simulated
  bool ends_as_the_whole_ = true;
  std::map<StandIn, std::vector<kernels::ShareOfCta>> shares_;  ///< per partition
};

}  // namespace sptc::sampling
