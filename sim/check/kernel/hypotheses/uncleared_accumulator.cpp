// SPDX-License-Identifier: Apache-2.0
//
// Accumulators of a tile that begin with what another tile of D left in them.
#include "models/numerics/codec.h"
#include "sim/check/kernel/hypotheses/families.h"

#include <cmath>
#include <cstddef>

namespace sptc::check::kernel::hypotheses {
namespace {

using numerics::Word;

/// Whether most of the strongest elements may be their own sum and that of the tile which begins at
/// (row, column).
bool may_start_from(const Trial& at, std::size_t row, std::size_t column) {
  constexpr double kNear = 1e-2;
  const WrongKernel& kernel = at.kernel();
  const std::size_t top = at.selection().rows.front(), left = at.selection().columns.front();
  const auto value = [&](Word word) { return numerics::to_double(word, kernel.data.d_type); };
  std::size_t refused = 0;
  for (const auto& [i, j] : at.strongest()) {
    const double other = value(kernel.computed(i - top + row, j - left + column));
    const double own = value(kernel.computed(i, j));
    const double got = value(kernel.observed()(i, j));
    refused += std::fabs(own + other - got) <= kNear * (std::fabs(own) + std::fabs(other)) ? 0 : 1;
    if (2 * refused > at.strongest().size()) {
      return false;
    }
  }
  return true;
}

/// The accumulators of the place begin with the tile that begins at (row, column).
Hypothesis starting_from(const Trial& at, std::size_t row, std::size_t column,
                         const Region& place) {
  const WrongKernel& kernel = at.kernel();
  KernelModel model = kernel.model;
  model.order.c_in_epilogue = false;
  Hypothesis begun{"uncleared-accumulator",
                   "the accumulators begin with the sums of " +
                       text_of(place, kernel.data.m + 1, kernel.data.n + 1) + ", not with zero"};
  begun.model = model;
  begun.change = [&kernel, row, column, top = at.selection().rows.front(),
                  left = at.selection().columns.front()](KernelOperands& operands,
                                                         const Selection& selection) {
    operands.c = base::Matrix<Word>(selection.rows.size(), selection.columns.size());
    for (std::size_t i = 0; i < selection.rows.size(); ++i) {
      for (std::size_t j = 0; j < selection.columns.size(); ++j) {
        operands.c(i, j) =
            kernel.computed(selection.rows[i] - top + row, selection.columns[j] - left + column);
      }
    }
  };
  return begun;
}

}  // namespace

Proposals uncleared_accumulator(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  const Region& region = at.region();
  Proposals proposals{{},
                      static_cast<double>(kernel.data.m * kernel.data.n) /
                          static_cast<double>(kTileStep * kTileStep)};
  // C is in the accumulator's type only where the instruction's is, and D holds all of a sum.
  if (!region.is_rectangle() || !kernel.operands.c.empty() ||
      kernel.data.d_type != kernel.model.rules.output || kernel.data.c_type != kernel.data.d_type ||
      kernel.model.epilogue != Epilogue{} || !at.tells_apart(proposals.among)) {
    return proposals;
  }
  const auto place = find_other_place(
      region, kernel.data.m, kernel.data.n,
      [&](std::size_t row, std::size_t column) { return may_start_from(at, row, column); });
  if (place) {
    proposals.list.push_back(
        starting_from(at, place->rows.front().begin, place->columns.front().begin, *place));
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
