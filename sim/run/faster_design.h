// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"
#include "sim/run/resource.h"

namespace sptc::sim {

/// Speed-up of a design that 2x was asked of, from which on it is no less: kernels come in steps.
inline constexpr double kAsGoodAsTwo = 1.95;

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

}  // namespace sptc::sim
