// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::sim {

/// Which SMs are simulated, and with which memory: all at once have the L2 and DRAM that SMs share,
/// one in turn has what its fellows leave it if they all do the same (MemoryShare). What stands for
/// the other SMs where a few are sampled, and which of the two memories these have,
/// sampling_plan.h says.
enum class SimulatedSms {
  kSampled,  ///< two to eight stand for all; no values
  kInTurn,   ///< every SM, one after the other on the same built SM: all CTAs, and the caches of
             ///< the host stay warm
  kAll,      ///< every SM built, all at once
};

}  // namespace sptc::sim
