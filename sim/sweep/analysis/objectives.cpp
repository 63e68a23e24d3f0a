// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/analysis/objectives.h"

#include <algorithm>
#include <array>

namespace sptc::sweep::analysis {

bool more_is_better(std::string_view total) {
  constexpr std::array<std::string_view, 4> kWords = {"speedup", "flops", "accuracy",
                                                      "performance"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return total.find(word) != std::string_view::npos;
  });
}

std::vector<std::string> objectives_among(std::span<const std::string> totals) {
  for (const std::string variant : {"sparse_", "dense_"}) {
    const std::string time = variant + "time_us";
    if (std::find(totals.begin(), totals.end(), time) == totals.end()) {
      continue;
    }
    std::vector<std::string> objectives{time};
    const auto add_first = [&](std::string_view word) {
      const auto found = std::find_if(totals.begin(), totals.end(), [&](const std::string& total) {
        return total.find(word) != std::string::npos &&
               (total.starts_with(variant) || total == word || total.starts_with("total_"));
      });
      if (found != totals.end()) {
        objectives.push_back(*found);
      }
      return found != totals.end();
    };
    // The whole, not its first part in the alphabet.
    const bool energy = add_first("energy_uj_total") || add_first("energy");
    const bool area = add_first("area_mm2") || add_first("area");
    if (!energy && !area) {
      add_first("accuracy");
    }
    return objectives;
  }
  return {};
}

}  // namespace sptc::sweep::analysis
