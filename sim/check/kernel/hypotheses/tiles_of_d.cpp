// SPDX-License-Identifier: Apache-2.0
//
// A tile of D that is another one, transposed, or begins with the sums of another one.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr std::size_t kStep = 8;  // rows and columns at whose multiples tiles may begin

/// Moves the place by whole steps through D, row after row, to the first other one at which `holds(row, column)`.
template <typename Holds>
std::optional<Region> other_place(const Trial& at, const Holds& holds) {
  const Interval rows = at.region().rows.front(), columns = at.region().columns.front();
  for (std::size_t row = rows.begin % kStep; row + rows.size() <= at.data().m; row += kStep) {
    for (std::size_t column = columns.begin % kStep; column + columns.size() <= at.data().n; column += kStep) {
      if (holds(row, column)) {
        return Region{{{row, row + rows.size()}}, {{column, column + columns.size()}}};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Proposals tiles_of_d(const Trial& at) {
  constexpr std::size_t kLeast = 64;  // elements
  const WrongKernel& kernel = at.kernel();
  if (!at.region().is_rectangle() || at.region().elements() < kLeast) {
    return {};
  }
  const Interval rows = at.region().rows.front(), columns = at.region().columns.front();
  const auto place = other_place(at, [&](std::size_t top, std::size_t left) {
    return std::ranges::all_of(at.lines(true), [&](std::size_t row) {
      return std::ranges::all_of(at.lines(false), [&](std::size_t column) {
        return kernel.explained(row, column) != 0 ||
               kernel.agrees(row, column, kernel.computed(row - rows.begin + top, column - columns.begin + left));
      });
    });
  });
  if (place) {
    const std::size_t down = place->rows.front().begin - rows.begin,
                      right = place->columns.front().begin - columns.begin;
    return {{moved(kernel, {.d = true}, "moved-tile", "D holds the tile that belongs at " + text_of(*place),
                   [=](std::size_t i, std::size_t j) { return std::pair(i + down, j + right); })}};
  }
  if (rows.size() != columns.size()) {
    return {};
  }
  return {{moved(kernel, {.d = true}, "transposed-tile", "D is transposed within the tile",
                 [=](std::size_t i, std::size_t j) {
                   return std::pair(rows.begin + j - columns.begin, columns.begin + i - rows.begin);
                 })}};
}

// Accumulators of a tile that begin with what another tile of D left in them.
Proposals uncleared_accumulator(const Trial& at) {
  constexpr double kNear = 1e-2;
  const WrongKernel& kernel = at.kernel();
  const KernelData& data = kernel.data;
  Proposals proposals{{}, static_cast<double>(data.m * data.n) / static_cast<double>(kStep * kStep)};
  // C is in the accumulator's type only where the instruction's is, and D holds all of a sum.
  if (!at.region().is_rectangle() || !kernel.operands.c.empty() || data.d_type != kernel.model.rules.output ||
      data.c_type != data.d_type || kernel.model.epilogue != Epilogue{} || !at.tells_apart(proposals.among)) {
    return proposals;
  }
  const std::size_t top = at.lines(true).front(), left = at.lines(false).front();
  // Most of the strongest elements may be their own sum and that of the tile which begins at (row, column).
  const auto place = other_place(at, [&](std::size_t row, std::size_t column) {
    std::size_t refused = 0;
    return std::ranges::all_of(at.strongest(), [&](const auto& element) {
      const auto [i, j] = element;
      const double other = kernel.computed_value(i - top + row, j - left + column), own = kernel.computed_value(i, j);
      const double slack = kNear * (std::fabs(own) + std::fabs(other));
      refused += std::fabs(own + other - kernel.observed_value(i, j)) <= slack ? 0 : 1;
      return 2 * refused <= at.strongest().size();
    });
  });
  if (!place) {
    return proposals;
  }
  const std::size_t down = place->rows.front().begin - top, right = place->columns.front().begin - left;
  Hypothesis begun{"uncleared-accumulator",
                   "the accumulators begin with the sums of " + text_of(*place) + ", not with zero"};
  begun.model = kernel.model;
  begun.model->order.c_in_epilogue = false;
  begun.change = [&kernel, down, right](KernelOperands& operands, const Selection& selection) {
    operands.c = operands.d;
    selection.each([&](std::size_t row, std::size_t column, std::size_t i, std::size_t j) {
      operands.c(i, j) = kernel.computed(row + down, column + right);
    });
  };
  proposals.list.push_back(std::move(begun));
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
