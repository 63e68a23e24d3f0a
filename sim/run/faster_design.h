// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/explain_thresholds.h"
#include "sim/run/resource.h"
#include "sim/run/run_result.h"

#include <array>
#include <optional>

namespace sptc::sim {

/// `speeds`, rounded up to what a design can have: dot units and banks of shared memory are whole.
Speeds in_whole_units(const GpuSpec& gpu, Speeds speeds);

/// `gpu` at `speeds`: all rates of the tensor core and of what feeds it, of that the register banks
/// alone, banks of shared memory, a bandwidth, or latencies outside the tensor cores. Not the
/// launch. For the SystemC model, whose kernels and calibration stay those of `gpu`.
GpuSpec faster(GpuSpec gpu, const Speeds& speeds);

/// `resource`, or each of `kRates` for Resource::kRates, twice as fast.
Speeds twice(Resource resource);

/// Each of `kRates`.
Speeds all_rates(double speed);

/// Of all rates, where the kernel may change: each may have its own.
inline constexpr std::array kRetunedRates{2.0, 4.0, 8.0, threshold::kBeyondAllRates};

/// `launch` on a design of which all rates are `times_as_fast`.
RetunedDesign retuned_design(double times_as_fast, double us, const KernelResult& kernel);

/// Takes `next` for `known` where that is not as good as 2x over `dense_us` and `next` is better.
void keep_better(const RetunedDesign& next, double dense_us, std::optional<RetunedDesign>& known);

}  // namespace sptc::sim
