// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::sampling {

/// Which SMs are simulated.
enum class SimulatedSms {
  kSampled,  ///< two to eight stand for all, and have what the others leave of the memory; no
             ///< values
  kAll,      ///< every SM, with the L2 and DRAM that they share
};

}  // namespace sptc::sampling
