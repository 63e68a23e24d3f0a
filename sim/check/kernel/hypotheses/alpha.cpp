// SPDX-License-Identifier: Apache-2.0
//
// Another alpha, by what most of D says of it: a part may have a fault of its own.
#include "sim/check/kernel/hypotheses/families.h"

#include <limits>

namespace sptc::check::kernel::hypotheses {

Proposals alpha(const Trial& at) {
  constexpr std::size_t kLines = 8;  // rows, and columns, of which elements are looked at
  constexpr double kLeast = 1e-3, kSame = 1e-2;
  const WrongKernel& kernel = at.kernel();
  const auto& rows = at.lines(true);
  const auto& columns = at.lines(false);
  std::vector<std::pair<double, double>> ratios;  // and how large the sum is
  for (std::size_t i = 0; i < std::min(kLines, rows.size()) && !at.model().rules.is_integer(); ++i) {
    for (std::size_t j = 0; j < std::min(kLines, columns.size()); ++j) {
      const std::size_t row = rows[i * rows.size() / std::min(kLines, rows.size())];
      const std::size_t column = columns[j * columns.size() / std::min(kLines, columns.size())];
      const KSample sample(kernel, row, column);
      const double ratio = sample.missing_factor();
      if (std::isfinite(ratio) && ratio != 0) {
        ratios.emplace_back(ratio, std::fabs(kernel.computed_value(row, column)));
      }
    }
  }
  Proposals proposals;
  if (ratios.empty()) {
    return proposals;
  }
  std::ranges::sort(ratios);
  const double median = ratios[ratios.size() / 2].first;
  std::erase_if(ratios, [&](const auto& one) { return std::fabs(one.first / median - 1) > kSame; });
  const double ratio = std::ranges::max(ratios, {}, [](const auto& one) { return one.second; }).first;
  const float own = at.model().epilogue.alpha;
  if (std::fabs(ratio - 1) <= kLeast || std::fabs(own * ratio) > std::numeric_limits<float>::max()) {
    return proposals;
  }
  std::set<float> others;
  for (int digits = 1; digits <= 7; ++digits) {  // what somebody wrote into a program
    others.insert(static_cast<float>(std::stod(fmt::format("{:.{}g}", own * ratio, digits))));
  }
  for (const float other : others) {
    proposals.add_model("scale",
                        own == 1 ? fmt::format("D is {} times what it should be", other)
                                 : fmt::format("alpha is {} instead of {}", other, own),
                        at.model(), [&](KernelModel& model) { model.epilogue.alpha = other; });
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
