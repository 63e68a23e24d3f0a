// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/last_round.h"

#include <algorithm>
#include <cmath>

namespace sptc::sampling {

std::int64_t simulated_to_last_end(const std::vector<std::vector<sm::CtaRecord>>& simulated,
                                   const GridOfCtas& grid, std::int64_t spread) {
  constexpr double kMiddle = 0.5;  // where the simulated SMs are among all, from first to last
  std::int64_t last_simulated = 0;
  double last_of_all = 0;
  for (const std::vector<sm::CtaRecord>& records : simulated) {
    for (const sm::CtaRecord& record : records) {
      const std::int64_t earlier_ctas = record.cta / grid.sms;  // of the same SM
      double last_sm_behind = 0;  // the first CTAs of all SMs start together
      if (earlier_ctas >= grid.resident) {
        const std::int64_t takers = std::min(grid.sms, grid.ctas - earlier_ctas * grid.sms);
        const double last_taker = static_cast<double>(takers) / static_cast<double>(grid.sms);
        // An SM that is later by more than a CTA gets one less.
        const std::int64_t most = std::min(spread, record.end_cycle - record.start_cycle);
        last_sm_behind = (last_taker - kMiddle) * static_cast<double>(most);
      }
      last_simulated = std::max(last_simulated, record.end_cycle);
      last_of_all = std::max(last_of_all, static_cast<double>(record.end_cycle) + last_sm_behind);
    }
  }
  return std::llround(last_of_all) - last_simulated;
}

}  // namespace sptc::sampling
