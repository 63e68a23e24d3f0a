// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/times/measurements.h"
#include "sim/workload/workload.h"

#include <string>
#include <vector>

namespace sptc::compare::times {

/// The launches of a recording as measurements, one for each kind of launch. What a measurement
/// cannot say (several batches, a convolution) is left out and said in `notes`. Throws InputError
/// where no time is left.
std::vector<Measurement> recorded_measurements(const workload::Workload& workload,
                                               const std::string& file,
                                               const MeasurementDefaults& defaults,
                                               std::vector<std::string>& notes);

}  // namespace sptc::compare::times
