// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/plan.h"
#include "sim/sweep/sweep_spec.h"

#include <string>

namespace sptc::sweep {

/// The plan of a sweep whose options exist and have the values that it gives them, whose axes can
/// change something, and that has a point at least. Throws InputError. `version`: as in SweepPlan.
SweepPlan checked_plan(SweepSpec spec, std::string version);

}  // namespace sptc::sweep
