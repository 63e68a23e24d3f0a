// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/launch_conditions.h"

namespace sptc::kernels {

/// How host and GPU launch kernels, whichever library they come from.
struct LaunchSpec {
  // Time that is not spent in the SMs.
  double launch_us = 0;            ///< from the end of a kernel to the first block of the next one
  double sparse_launch_us = 0;     ///< what a 2:4 kernel of warpgroups takes longer to its first copy
  double stream_us = 0;            ///< what a launch into a stream takes longer than one of a graph
  double sparse_stream_us = 0;     ///< the same of a 2:4 kernel, whose library does more
  double reduction_launch_us = 0;  ///< the second kernel of split-K, which sums the slices

  /// CTAs of a cluster of kernels of warpgroups; 1: none, each copies for itself.
  int cluster_ctas = 1;

  /// What the host's way of launching adds to each launch, a graph of launches being the least.
  double call_us(LaunchMode launch, bool sparse) const {
    const double of_stream = sparse ? sparse_stream_us : stream_us;
    return launch == LaunchMode::kGraph    ? 0
           : launch == LaunchMode::kStream ? of_stream
                                           : 2 * of_stream;  // there, and back
  }

  bool operator==(const LaunchSpec&) const = default;
};

}  // namespace sptc::kernels
