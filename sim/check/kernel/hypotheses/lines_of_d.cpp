// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of D that are right, but stand in the wrong place.
#include "sim/check/kernel/hypotheses/families.h"

#include <unordered_map>

namespace sptc::check::kernel::hypotheses {
namespace {

/// The line that has the words of each wrong line, where there is one.
LineMap sources_of_lines(const Trial& at, bool of_rows, std::size_t count) {
  const WrongKernel& kernel = at.kernel();
  const auto hash_of = [&](const base::Matrix<numerics::Word>& words, std::size_t line) {
    std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
    for (const std::size_t other : at.lines(!of_rows)) {
      hash = (hash ^ (of_rows ? words(line, other) : words(other, line))) * 0x100000001B3;
    }
    return hash;
  };
  std::unordered_map<std::uint64_t, std::size_t> by_words;  // the first line of these
  for (std::size_t line = 0; line < count; ++line) {
    by_words.emplace(hash_of(kernel.computed, line), line);
  }
  LineMap map;
  for (const std::size_t line : at.lines(of_rows)) {
    const std::uint64_t hash = hash_of(kernel.observed(), line);
    const auto source = by_words.find(hash);
    if (source != by_words.end() && hash != hash_of(kernel.computed, line)) {
      map.emplace_back(line, source->second);
    }
  }
  return map;
}

}  // namespace

Proposals lines_of_d(const Trial& at) {
  Proposals proposals{{}, static_cast<double>(at.data().m + at.data().n)};
  for (const bool of_rows : {true, false}) {
    const std::size_t count = of_rows ? at.data().m : at.data().n;
    if (!at.tells_apart(static_cast<double>(count))) {
      continue;
    }
    if (const LineMap map = sources_of_lines(at, of_rows, count); !map.empty()) {
      proposals.list.push_back(moved_lines(at.kernel(), {.d = true}, of_rows, "", "D", map));
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
