// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/units.h"
#include "sim/hardware/sm/sm_spec.h"

#include <string_view>
#include <vector>

namespace sptc::sm {

/// What a CTA asks of an SM.
struct CtaResources {
  int threads = 0;
  int registers_per_thread = 0;
  base::Bytes shared_memory;
};

/// How many CTAs of a kernel an SM holds, and what stops one more.
struct Occupancy {
  int ctas = 0;
  std::string_view limited_by;  ///< "registers", "shared memory", "warps" or "CTAs"
  base::Bytes carve_out;        ///< of the SM's memory for shared memory: the least that holds the CTAs
};

/// Applies the rules of NVIDIA's occupancy calculator (CUDA C++ Programming Guide, technical specifications per compute
/// capability; cuda_occupancy.h of the CUDA toolkit):
/// - registers come per warp in units of 256, from the file of the sub-partition where the warp runs;
/// - warps of a CTA count in fours, here in multiples of the sub-partitions, also where slots of warps are the limit:
///   warp w runs on sub-partition w mod their number;
/// - shared memory comes in units, with what the system keeps of it for each CTA.
Occupancy occupancy(const CtaResources& cta, const SmSpec& sm);

/// Sizes that the shared memory of an SM can have: 0, 8, 16, 32, 64, 100, 132, 164, 196 and 228 KB
/// up to the largest that it has, and that one (CUDA C++ Programming Guide, shared memory of each
/// compute capability). The L1 has the rest.
std::vector<base::Bytes> carve_outs(const SmSpec& sm);

}  // namespace sptc::sm
