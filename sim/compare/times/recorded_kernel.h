// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/kernels/gemm_problem.h"

#include <optional>
#include <string_view>

namespace sptc::compare::times {

/// What a profiler says of the kernel of a launch, as columns of a file of measured times have it;
/// empty where it says nothing.
struct KernelFields {
  std::string_view tile = {};     ///< "112x128x64": m, n and logical k of a CTA
  std::string_view cluster = {};  ///< "2x1"
  std::string_view stages = {};
  std::string_view notes = {};  ///< "sm80 mma.sync", "segment_k", nvjet's "v_bz_coopA_splitK_TNN"
  std::string_view grid = {}, block = {};  ///< "2x64x1"
};

/// The kernel of `fields` for D[m, n], to be simulated; nothing where they have no tile. Throws
/// InputError for numbers that are none.
std::optional<kernels::KernelOverrides> recorded_kernel(const KernelFields& fields,
                                                        const base::GemmShape& shape);

}  // namespace sptc::compare::times
