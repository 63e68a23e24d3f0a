// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sm/cta_unit.h"

#include <cstdint>
#include <vector>

namespace sptc::sim {

/// A grid of `ctas` on `sms` SMs, each of which takes up to `resident` of them at the start and
/// another one whenever it has room.
struct GridOfCtas {
  std::int64_t ctas = 0, sms = 1, resident = 1;
};

/// Cycles by which the last CTA of `grid` ends behind the last of `simulated`, the CTAs of a few
/// SMs that stand for all. The SMs are out of step: behind their first CTAs from the first to the
/// last one it is `spread` cycles, or a CTA, with the simulated ones in the middle. A GPU gives the
/// next CTA to the SM that has room first, so that a last round that is not full is of the first
/// SMs, and ends before its time. Less than 0 there.
std::int64_t last_end_behind(const std::vector<std::vector<CtaRecord>>& simulated,
                             const GridOfCtas& grid, std::int64_t spread);

}  // namespace sptc::sim
