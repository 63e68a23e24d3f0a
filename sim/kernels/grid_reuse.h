// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_kernel.h"
#include "sim/kernels/share_of_cta.h"
#include "sim/kernels/traffic_counts.h"
#include "sim/memory/memory_spec.h"

#include <cstdint>
#include <vector>

namespace sptc::kernels {

/// How much of the operands of a grid DRAM has to deliver, in closed form. The CTAs that the GPU
/// holds at once (a wave) ask for each tile of A and B about the same time, so DRAM delivers it
/// once; whether it is still in the L2 from an earlier wave follows from what was fetched since.
class GridReuse {
 public:
  GridReuse(const GemmKernel& kernel, const memory::MemorySpec& memory, std::int64_t sms);

  /// Of the wave in which `cta` starts.
  const ShareOfCta& share_of(std::int64_t cta) const;

  /// Of the mean wave behind the first one.
  const ShareOfCta& later_share() const { return shares_.size() > 1 ? mean_ : last_; }
  std::int64_t ctas_per_wave() const { return ctas_per_wave_; }

  /// The share of its capacity with which the L2 keeps as much from wave to wave of a grid with
  /// `part` of the k-tiles as it keeps of the whole one. What the SMs of a wave share stays there
  /// until all have it.
  double l2_share_of(double part) const;

  /// Bytes that DRAM delivers for the whole grid.
  double dram_bytes() const { return dram_bytes_; }
  /// Share of what the grid writes that DRAM takes.
  double written_back() const { return written_back_; }

 private:
  std::int64_t ctas_per_wave_;
  std::int64_t last_wave_ = 0;
  /// Bytes that a mean wave uses of each partition of the L2, in units of its capacity.
  double operands_ = 0, written_ = 0;
  std::vector<ShareOfCta> shares_;  ///< of the first waves, by their number
  /// Of the waves behind those, which are like the second half of them, and of the last one.
  ShareOfCta mean_, last_;
  double dram_bytes_ = 0;
  double written_back_ = 1;
};

/// Bytes of a launch of `kernel` on `sms` SMs, whose DRAM traffic `reuse` knows.
MemoryTraffic closed_form_traffic(const GemmKernel& kernel, const GridReuse& reuse,
                                  std::int64_t sms);

}  // namespace sptc::kernels
