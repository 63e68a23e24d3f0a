// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/sweep_spec.h"

#include <string>
#include <vector>

namespace sptc::sweep {

/// How near to the boards of a sweep pairs of its types, dense and sparse, were measured: a line
/// for each architecture, and one for the points that vary its parameters. Of several types the
/// farthest counts. None where the sweep has no type that is known.
std::vector<std::string> evidence_lines(const SweepSpec& spec);

}  // namespace sptc::sweep
