// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::sim {

/// Which SMs are simulated. kAll has the L2 and DRAM that all SMs share; kSampled too, with
/// followers in place of the other SMs (Followers), where all CTAs are resident at once or the
/// grid is small enough. Else an SM sees what its fellows leave it if they all do the same
/// (MemoryShare).
enum class SimulatedSms {
  kSampled,  ///< two to eight stand for all; no values
  kInTurn,   ///< every SM, one after the other on the same built SM: all CTAs, and the caches of
             ///< the host stay warm
  kAll,      ///< every SM built, all at once
};

}  // namespace sptc::sim
