// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/space/plan.h"
#include "sim/sweep/space/sweep_spec.h"

#include <string>

namespace sptc::sweep::space {

/// The plan of a sweep whose options exist and have the values that it gives them, whose axes can
/// change something, and that has a point at least. Throws InputError. `version`: as in SweepPlan.
SweepPlan checked_plan(SweepSpec spec, std::string version);

}  // namespace sptc::sweep::space
