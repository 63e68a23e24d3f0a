// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/last_round.h"

#include <algorithm>
#include <cmath>

namespace sptc::sim {

std::int64_t last_end_behind(const std::vector<std::vector<CtaRecord>>& simulated,
                             const GridOfCtas& grid, std::int64_t spread) {
  constexpr double kMiddle = 0.5;
  std::int64_t last = 0;
  double last_of_all = 0;
  for (const std::vector<CtaRecord>& records : simulated) {
    for (const CtaRecord& record : records) {
      const std::int64_t turn = record.cta / grid.sms;
      double behind = 0;  // the first CTAs of all SMs start together
      if (turn >= grid.resident) {
        const std::int64_t takers = std::min(grid.sms, grid.ctas - turn * grid.sms);
        const double position = static_cast<double>(takers) / static_cast<double>(grid.sms);
        // An SM that is later by more than a CTA gets one less.
        const std::int64_t most = std::min(spread, record.end_cycle - record.start_cycle);
        behind = (position - kMiddle) * static_cast<double>(most);
      }
      last = std::max(last, record.end_cycle);
      last_of_all = std::max(last_of_all, static_cast<double>(record.end_cycle) + behind);
    }
  }
  return std::llround(last_of_all) - last;
}

}  // namespace sptc::sim
