// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of D that are right, but stand in the wrong place, and those that took C of others.
#include "sim/check/kernel/hypotheses/families.h"

#include <algorithm>

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr std::size_t kLeastOfLine = 4;  // elements that tell one line from another

/// The line from which each wrong line may have come, where there is one: `fits(row, column, from_row, from_column)`
/// for all of its elements.
template <typename Fits>
LineMap sources_of_lines(const Trial& at, bool of_rows, std::size_t count, const Fits& fits) {
  constexpr std::size_t kMostCompared = std::size_t{1} << 29;  // words
  std::size_t compared = 0;
  const auto holds = [&](std::size_t line, std::size_t source) {
    return std::ranges::all_of(at.lines(!of_rows), [&](std::size_t other) {
      ++compared;
      return of_rows ? fits(line, other, source, other) : fits(other, line, other, source);
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

template <typename Fits>
Proposals moved_lines_of(const Trial& at, Moved parts, const char* cause, const char* what, const Fits& fits) {
  Proposals proposals{{}, static_cast<double>(at.data().m + at.data().n)};
  for (const bool of_rows : {true, false}) {
    const std::size_t count = of_rows ? at.data().m : at.data().n;
    if (at.lines(!of_rows).size() < kLeastOfLine || !at.tells_apart(static_cast<double>(count))) {
      continue;
    }
    const LineMap map = sources_of_lines(at, of_rows, count, fits);
    if (!map.empty() && at.tells_apart(static_cast<double>(count), map.size())) {
      proposals.list.push_back(moved_lines(at.kernel(), parts, of_rows, cause, what, map));
    }
  }
  return proposals;
}

}  // namespace

Proposals lines_of_d(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  return moved_lines_of(at, {.d = true}, "", "D",
                        [&](std::size_t row, std::size_t column, std::size_t from_row, std::size_t from_column) {
                          return kernel.agrees(row, column, kernel.computed(from_row, from_column));
                        });
}

Proposals lines_of_c(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  const base::Matrix<numerics::Word>& c = kernel.operands.c;
  if (c.empty() || kernel.model.epilogue.activation != Activation::kNone) {
    return {};
  }
  const double rounding = std::max(
      1e-4, std::ldexp(4, -numerics::info(kernel.data.d_type).format.value_or(numerics::kF32Format).mantissa_bits));
  return moved_lines_of(
      at, {.c = true}, "c-lines", "C",
      [&](std::size_t row, std::size_t column, std::size_t from_row, std::size_t from_column) {
        const auto added = [&](std::size_t i, std::size_t j) {
          return epilogue_value(kernel.model.epilogue, 0, numerics::to_double(c(i, j), kernel.data.c_type), 0);
        };
        const double own = kernel.computed_value(row, column),
                     change = added(from_row, from_column) - added(row, column);
        const double found = kernel.observed_value(row, column);
        return std::fabs(own + change - found) <= rounding * (std::fabs(own) + std::fabs(change) + std::fabs(found));
      });
}

}  // namespace sptc::check::kernel::hypotheses
