// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gemm/kernel_library_spec.h"
#include "sim/memory/memory_spec.h"
#include "sim/sm/sm_spec.h"

#include <cstdint>
#include <string_view>

namespace sptc::sim {

/// The GPU that a kernel is chosen for.
struct KernelTarget {
  const SmSpec& sm;
  const MemorySpec& memory;
  const KernelLibrarySpec& library;
  std::int64_t sms;
  double boost_clock_mhz;
  std::string_view instruction_set;  ///< whose matrix instructions it has: "ampere"
  std::string_view numerics;         ///< row set of models/mma/step_rules
};

}  // namespace sptc::sim
