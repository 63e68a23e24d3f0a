// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/architecture.h"
#include "sim/run/design_cost.h"

#include <cstdint>
#include <string>

namespace sptc::run {

/// The silicon of an architecture, and how far the numbers of its energy file leave it open.
struct AreaEstimate {
  std::string arch;
  int node_nm = 0;
  int selector_kept = 0, selector_inputs = 0;  ///< 2 and 4 of 2:4
  std::int64_t sms = 0;
  std::int64_t tensor_cores = 0;  ///< of the whole GPU
  std::int64_t multipliers = 0;   ///< f16, of one tensor core
  GpuArea usual;
  GpuArea low, high;  ///< with every number at that end of its range
};

/// Throws InputError where `architecture` has no energies.
AreaEstimate estimate_area(const config::Architecture& architecture);

}  // namespace sptc::run
