// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sm/cta_record.h"

#include <cstdint>
#include <vector>

namespace sptc::sampling {

/// A grid of `ctas` on `sms` SMs, each of which takes up to `resident` of them at the start and
/// another one whenever it has room.
struct GridOfCtas {
  std::int64_t ctas = 0, sms = 1, resident = 1;
};

/// What has to be added to the cycle in which the last of `simulated` ends, the CTAs of a few SMs
/// that stand for all, for the cycle in which the last CTA of `grid` does. It is a correction in
/// either direction:
///  - All SMs take their first CTAs together and are out of step from then on: `spread` cycles, or
///  a
///    CTA if that is less, lie between the first SM and the last one. The simulated ones are in the
///    middle, so that a full round ends half of that after theirs.
///  - The next CTA goes to the SM that has room first. So a last round that does not fill the GPU
///  is
///    on those SMs that are ahead, and where it is on less than half of them ends before that of
///    the simulated ones: less than 0.
std::int64_t simulated_to_last_end(const std::vector<std::vector<sm::CtaRecord>>& simulated,
                                   const GridOfCtas& grid, std::int64_t spread);

}  // namespace sptc::sampling
