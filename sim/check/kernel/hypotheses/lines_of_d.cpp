// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of D that are right, but stand in the wrong place.
#include "sim/check/kernel/hypotheses/families.h"

#include <algorithm>

namespace sptc::check::kernel::hypotheses {
namespace {

/// The line that has the words of each wrong line, where there is one.
LineMap sources_of_lines(const Trial& at, bool of_rows, std::size_t count) {
  constexpr std::size_t kMostCompared = std::size_t{1} << 29;  // words
  const WrongKernel& kernel = at.kernel();
  std::size_t compared = 0;
  const auto holds = [&](std::size_t line, std::size_t source) {
    return std::ranges::all_of(at.lines(!of_rows), [&](std::size_t other) {
      ++compared;
      return of_rows ? kernel.agrees(line, other, kernel.computed(source, other))
                     : kernel.agrees(other, line, kernel.computed(other, source));
    });
  };
  LineMap map;
  for (const std::size_t line : at.lines(of_rows)) {
    std::size_t source = holds(line, line) ? count : 0;
    while (source < count && compared < kMostCompared && !holds(line, source)) {
      ++source;
    }
    if (source < count && compared < kMostCompared) {
      map.emplace_back(line, source);
    }
  }
  return map;
}

}  // namespace

Proposals lines_of_d(const Trial& at) {
  constexpr std::size_t kLeastOfLine = 4;  // elements that tell one line from another
  Proposals proposals{{}, static_cast<double>(at.data().m + at.data().n)};
  for (const bool of_rows : {true, false}) {
    const std::size_t count = of_rows ? at.data().m : at.data().n;
    if (at.lines(!of_rows).size() < kLeastOfLine || !at.tells_apart(static_cast<double>(count))) {
      continue;
    }
    const LineMap map = sources_of_lines(at, of_rows, count);
    if (!map.empty() && at.tells_apart(static_cast<double>(count), map.size())) {
      proposals.list.push_back(moved_lines(at.kernel(), {.d = true}, of_rows, "", "D", map));
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
