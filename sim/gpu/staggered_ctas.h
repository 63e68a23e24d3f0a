// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sm/cta_unit.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sptc::sim {

/// Which CTAs the simulated SMs of a GPU get, and when the grid ends. A GPU gives the next CTA to
/// the SM that has room first. All SMs do the same, but out of step: from the first to the last one
/// it is `spread` cycles, with the simulated ones in the middle, and who gets what is decided among
/// most of them, which are evenly spread over less. So the CTAs of the last round go to the first
/// SMs; and where an SM holds several, the first one may get two while the last one gets none.
class StaggeredCtas {
 public:
  /// A grid of `ctas` on `all_sms` SMs that hold `resident` of them each; `sms` are simulated.
  StaggeredCtas(std::vector<int> sms, std::int64_t all_sms, std::int64_t resident,
                std::int64_t ctas);

  /// The first CTAs of simulated SM number `part`, one at each call; -1 where there are no more.
  std::int64_t first(std::size_t part);

  /// What the first of the SMs for which it stands gets when a CTA of simulated SM number `part`
  /// has ended in cycle `now`; -1 where others had the rest before.
  std::int64_t next(std::size_t part, std::int64_t now, std::int64_t spread);

  /// Cycles by which the last CTA of all SMs ends behind the last of `records`, those of the
  /// simulated ones; less than 0 where only the first SMs get CTAs at last.
  std::int64_t last_end_behind(const std::vector<std::vector<CtaRecord>>& records,
                               std::int64_t spread) const;

 private:
  struct Part {
    std::int64_t sm = 0;
    std::int64_t given = 0;
    std::vector<std::int64_t> ends;       ///< cycles, of its CTAs
    std::vector<std::int64_t> next_ctas;  ///< that got the room of those
  };

  /// CTAs that all SMs have got when an SM at `position`, from 0, the first one, to 1, has room
  /// that one in the middle has in cycle `now`, after `ends`.
  double given_at(double position, std::int64_t now, std::span<const std::int64_t> ends,
                  std::int64_t spread) const;
  /// Of the last SM that gets a CTA for the room that `part` has in cycle `now`.
  double last_position(const Part& part, std::int64_t now, std::int64_t spread) const;
  std::int64_t take(Part& part);

  std::int64_t all_sms_, resident_, ctas_;
  std::vector<Part> parts_;
  std::vector<std::int64_t> taken_from_others_;
};

}  // namespace sptc::sim
