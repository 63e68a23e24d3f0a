// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/staggered_ctas.h"

#include <algorithm>
#include <cmath>

namespace sptc::sim {
namespace {

// The part of the spread in which most SMs are. First and last of some hundred that are distributed
// normally are five standard deviations apart, and two thirds of them within two.
constexpr double kOfMost = 0.4;

}  // namespace

StaggeredCtas::StaggeredCtas(std::vector<int> sms, std::int64_t all_sms, std::int64_t resident,
                             std::int64_t ctas)
    : all_sms_(all_sms), resident_(resident), ctas_(ctas) {
  for (const int sm : sms) {
    parts_.push_back({sm, 0, {}, {}});
  }
}

std::int64_t StaggeredCtas::first(std::size_t part) {
  return parts_[part].sm + parts_[part].given * all_sms_ < ctas_ ? take(parts_[part]) : -1;
}

std::int64_t StaggeredCtas::next(std::size_t part, std::int64_t now, std::int64_t spread) {
  Part& of = parts_[part];
  const double before = static_cast<double>(of.sm) + given_at(0, now, of.ends, spread);
  of.ends.push_back(now);
  of.next_ctas.push_back(before < static_cast<double>(ctas_) ? take(of) : -1);
  return of.next_ctas.back();
}

std::int64_t StaggeredCtas::take(Part& part) {
  // Its own turn where all take the same time.
  std::int64_t cta = part.sm + part.given++ * all_sms_;
  if (cta < ctas_) {
    return cta;
  }
  // Else one that would be the turn of an SM that is not simulated.
  const auto is_theirs = [&](std::int64_t number) {
    return std::any_of(parts_.begin(), parts_.end(),
                       [&](const Part& of) { return of.sm == number % all_sms_; });
  };
  const auto is_taken = [&](std::int64_t number) {
    return std::find(taken_from_others_.begin(), taken_from_others_.end(), number) !=
           taken_from_others_.end();
  };
  for (cta = ctas_ - 1; cta >= 0 && (is_theirs(cta) || is_taken(cta));) {
    --cta;
  }
  taken_from_others_.push_back(cta);
  return cta;
}

double StaggeredCtas::given_at(double position, std::int64_t now,
                               std::span<const std::int64_t> ends, std::int64_t spread) const {
  auto given = static_cast<double>(resident_);
  for (const std::int64_t end : ends) {
    const double later =
        spread > 0 ? static_cast<double>(now - end) / (kOfMost * static_cast<double>(spread)) : 1;
    given += std::clamp(later + position, 0.0, 1.0);
  }
  return given * static_cast<double>(all_sms_);
}

double StaggeredCtas::last_position(const Part& part, std::int64_t now, std::int64_t spread) const {
  double low = 0, high = 1;
  if (given_at(high, now, part.ends, spread) <= static_cast<double>(ctas_)) {
    return high;
  }
  // More are given the later it is; as finely as there are SMs.
  while ((high - low) * static_cast<double>(all_sms_) > 0.5) {
    const double middle = (low + high) / 2;
    (given_at(middle, now, part.ends, spread) <= static_cast<double>(ctas_) ? low : high) = middle;
  }
  return low;
}

std::int64_t StaggeredCtas::last_end_behind(const std::vector<std::vector<CtaRecord>>& records,
                                            std::int64_t spread) const {
  constexpr double kMiddle = 0.5;
  std::int64_t last = 0;
  double last_of_all = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    for (const CtaRecord& record : records[i]) {
      const auto found = std::find(part.next_ctas.begin(), part.next_ctas.end(), record.cta);
      double behind = 0;  // the first CTAs of all SMs start together
      if (found != part.next_ctas.end()) {
        const std::int64_t room =
            part.ends[static_cast<std::size_t>(found - part.next_ctas.begin())];
        behind = (last_position(part, room, spread) - kMiddle) * static_cast<double>(spread);
      }
      last = std::max(last, record.end_cycle);
      last_of_all = std::max(last_of_all, static_cast<double>(record.end_cycle) + behind);
    }
  }
  return std::llround(last_of_all) - last;
}

}  // namespace sptc::sim
