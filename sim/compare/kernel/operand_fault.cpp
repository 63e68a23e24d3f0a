// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/operand_fault.h"

#include "sim/compare/kernel/moved_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace sptc::compare::kernel {
namespace {

using numerics::Word;
using WordMatrix = base::Matrix<Word>;

constexpr std::size_t kBlock = 8;  // rows and columns of a fragment that ldmatrix takes
constexpr std::size_t kChunkBytes = 16;

/// Where the element that a lane takes for (line, at) stands.
using Source = std::function<std::pair<std::size_t, std::size_t>(std::size_t line, std::size_t at)>;

/// The lines of a selection with the elements of `whole` that `source` names; outside of it: 0.
void take_from(const WordMatrix& whole, const std::vector<std::size_t>& lines, const Source& source,
               WordMatrix& into) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t at = 0; at < whole.cols(); ++at) {
      const auto [line, column] = source(lines[i], at);
      into(i, at) = line < whole.rows() && column < whole.cols() ? whole(line, column) : 0;
    }
  }
}

struct FragmentFault {
  const char* cause;
  std::string text;  ///< of "A" or "B"
  Source source;
};

/// What may happen to fragments of elements of `bytes` each.
std::vector<FragmentFault> fragment_faults(std::size_t bytes) {
  std::vector<FragmentFault> faults{
      {"transposed-fragments",
       "8 x 8 blocks of {} are transposed (ldmatrix with or without .trans)",
       [](std::size_t line, std::size_t at) {
         return std::pair(line / kBlock * kBlock + at % kBlock,
                          at / kBlock * kBlock + line % kBlock);
       }}};
  struct Swizzle {
    int bytes;  ///< of a line in shared memory
    std::size_t shift, mask;
  };
  // The swizzles of shared memory of wgmma: chunk ^= line / 2^shift mod (mask + 1).
  constexpr std::array kSwizzles{Swizzle{128, 0, 7}, Swizzle{64, 1, 3}, Swizzle{32, 2, 1}};
  const std::size_t chunk = kChunkBytes / bytes;
  for (const Swizzle& swizzle : kSwizzles) {
    faults.push_back(
        {"swizzle",
         fmt::format("the {}-byte swizzle of {{}} in shared memory is not undone", swizzle.bytes),
         [=](std::size_t line, std::size_t at) {
           const std::size_t moved = (at / chunk) ^ (line >> swizzle.shift & swizzle.mask);
           return std::pair(line, moved * chunk + at % chunk);
         }});
    faults.push_back(
        {"swizzle",
         fmt::format(
             "the {}-byte swizzle of {{}} in shared memory, where a line is of one k, is not "
             "undone",
             swizzle.bytes),
         [=](std::size_t line, std::size_t at) {
           const std::size_t moved = (line / chunk) ^ (at >> swizzle.shift & swizzle.mask);
           return std::pair(moved * chunk + line % chunk, at);
         }});
  }
  return faults;
}

std::size_t bytes_of(numerics::DataType type) {
  return static_cast<std::size_t>(numerics::storage_bits(type)) / 8;
}

/// Lines of A (of B) of other lines in one k-tile alone: fragments that a stage of the pipeline
/// holds elsewhere. A line of `whole` has elements of `k`.
std::vector<FragmentFault> moved_lines_of_a_tile(std::size_t k, const WordMatrix& whole) {
  const std::size_t width = whole.cols();
  constexpr std::size_t kMostTiles = 64;
  std::vector<FragmentFault> faults;
  const auto add = [&](std::size_t tile, std::size_t t, const std::string& formula, auto moved) {
    const std::size_t begin = t * tile, end = std::min(begin + tile, k);
    faults.push_back(
        {"permuted-fragments",
         fmt::format("in k {} to {} line i of {{}} is line {}", begin, end - 1, formula),
         [=](std::size_t line, std::size_t at) {
           const bool inside = at * k >= begin * width && at * k < end * width;
           return std::pair(inside ? moved(line) : line, at);
         }});
  };
  for (const std::size_t tile : {128U, 64U, 32U, 16U}) {
    const std::size_t tiles = (k + tile - 1) / tile;
    for (std::size_t t = 0; tiles > 1 && tiles <= kMostTiles && t < tiles; ++t) {
      for (std::size_t by = 1; by <= 32 && whole.rows() % (2 * by) == 0; by *= 2) {
        add(tile, t, fmt::format("i ^ {}", by), [by](std::size_t line) { return line ^ by; });
      }
      add(tile, t, "i + 1", [](std::size_t line) { return line + 1; });
      add(tile, t, "i - 1", [](std::size_t line) { return line - 1; });
      add(tile, t, "i + 1 within 8 lines",
          [](std::size_t line) { return line / kBlock * kBlock + (line + 1) % kBlock; });
    }
  }
  return faults;
}

/// The first of `faults` that explains the region.
std::optional<RegionFault> find_in(const RegionTrial& trial, bool of_a,
                                   const std::vector<FragmentFault>& faults) {
  const WrongKernel& kernel = trial.kernel();
  if (!trial.tells_apart(static_cast<double>(2 * faults.size()))) {
    return std::nullopt;
  }
  for (const FragmentFault& fault : faults) {
    const auto change = [&](KernelOperands& operands, const Selection& selection) {
      if (of_a) {
        take_from(kernel.operands.a, selection.rows, fault.source, operands.a);
      } else {
        take_from(kernel.operands.b_columns, selection.columns, fault.source, operands.b_columns);
      }
    };
    if (trial.fits(change)) {
      return RegionFault{fault.cause, fmt::format(fmt::runtime(fault.text), of_a ? "A" : "B")};
    }
  }
  return std::nullopt;
}

/// The tile that begins at (row, column) of the computed D, instead of C.
RegionTrial::Change starting_from(const WrongKernel& kernel, const Region& region, std::size_t row,
                                  std::size_t column) {
  return [&kernel, &region, row, column](KernelOperands& operands, const Selection& selection) {
    operands.c = WordMatrix(selection.rows.size(), selection.columns.size());
    for (std::size_t i = 0; i < selection.rows.size(); ++i) {
      for (std::size_t j = 0; j < selection.columns.size(); ++j) {
        operands.c(i, j) =
            kernel.computed(selection.rows[i] - region.rows.front().begin + row,
                            selection.columns[j] - region.columns.front().begin + column);
      }
    }
  };
}

/// Whether the strongest elements may be their own sum and that of the other tile.
bool may_start_from(const RegionTrial& trial, std::size_t row, std::size_t column) {
  const WrongKernel& kernel = trial.kernel();
  const auto value = [&](Word word) { return numerics::to_double(word, kernel.data.d_type); };
  for (const auto& [i, j] : trial.strongest()) {
    const double other = value(kernel.computed(i - trial.region().rows.front().begin + row,
                                               j - trial.region().columns.front().begin + column));
    const double own = value(kernel.computed(i, j));
    const double got = value(kernel.observed()(i, j));
    constexpr double kNear = 1e-2;
    if (!(std::fabs(own + other - got) <= kNear * (std::fabs(own) + std::fabs(other)))) {
      return false;
    }
  }
  return true;
}

/// The nearest other column of B with which `column` of D comes out right in the rows `probes`.
std::optional<std::size_t> partner_of(const WrongKernel& kernel, std::size_t column,
                                      const std::vector<std::size_t>& probes,
                                      const KernelOperands& every_column) {
  KernelOperands operands = every_column;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (!operands.c.empty()) {
      std::ranges::fill(operands.c.row(i), kernel.operands.c(probes[i], column));
    }
    if (!operands.bias.empty()) {
      std::ranges::fill(operands.bias.row(i), kernel.operands.bias(probes[i], column));
    }
  }
  const WordMatrix d = execute(kernel.data, kernel.model, operands, kernel.threads);
  std::optional<std::size_t> best;
  const auto distance = [&](std::size_t other) {
    return other > column ? other - column : column - other;
  };
  for (std::size_t other = 0; other < d.cols(); ++other) {
    bool fits = other != column && (!best || distance(other) < distance(*best));
    for (std::size_t i = 0; fits && i < probes.size(); ++i) {
      fits = d(i, other) == kernel.observed()(probes[i], column);
    }
    best = fits ? std::optional(other) : best;
  }
  return best;
}

}  // namespace

std::optional<RegionFault> find_moved_columns_of_b(const RegionTrial& trial) {
  constexpr std::size_t kProbed = 6, kMostColumns = 64;
  const WrongKernel& kernel = trial.kernel();
  const Selection& all = trial.selection();
  if ((kernel.operands.c.empty() && kernel.operands.bias.empty()) ||
      all.columns.size() > kMostColumns || !trial.tells_apart(static_cast<double>(kernel.data.n))) {
    return std::nullopt;
  }
  std::vector<std::size_t> probes(
      all.rows.begin(),
      all.rows.begin() + static_cast<std::ptrdiff_t>(std::min(kProbed, all.rows.size())));
  const KernelOperands every_column =
      taken(kernel.operands, {probes, Selection::all(kernel.data).columns});
  std::vector<std::size_t> source = Selection::all(kernel.data).columns;
  LineMap map;
  for (const std::size_t column : all.columns) {
    if (const auto other = partner_of(kernel, column, probes, every_column)) {
      source[column] = *other;
      map.emplace_back(column, *other);
    }
  }
  const auto change = [&](KernelOperands& operands, const Selection& selection) {
    for (std::size_t j = 0; j < selection.columns.size(); ++j) {
      std::ranges::copy(kernel.operands.b_columns.row(source[selection.columns[j]]),
                        operands.b_columns.row(j).begin());
    }
  };
  if (map.empty() || !trial.fits(change)) {
    return std::nullopt;
  }
  return RegionFault{is_permutation(map) ? "permuted-columns" : "duplicated-columns",
                     "of B " + describe_moved(map, "column")};
}

std::optional<RegionFault> find_fragment_fault(const RegionTrial& trial) {
  const mma::MmaInstruction& instruction = trial.kernel().model.instruction;
  for (const bool of_a : {true, false}) {
    const std::size_t bytes = bytes_of(of_a ? instruction.a_type : instruction.b_type);
    if (bytes == 0) {
      continue;
    }
    if (auto fault = find_in(trial, of_a, fragment_faults(bytes))) {
      return fault;
    }
  }
  return std::nullopt;
}

std::optional<RegionFault> find_moved_lines_of_a_tile(const RegionTrial& trial) {
  const WrongKernel& kernel = trial.kernel();
  for (const bool of_a : {true, false}) {
    const WordMatrix& whole = of_a ? kernel.operands.a : kernel.operands.b_columns;
    if (auto fault = find_in(trial, of_a, moved_lines_of_a_tile(kernel.data.k, whole))) {
      return fault;
    }
  }
  return std::nullopt;
}

std::optional<RegionFault> find_uncleared_accumulator(const RegionTrial& trial) {
  const WrongKernel& kernel = trial.kernel();
  const Region& region = trial.region();
  // C is in the accumulator's type only where the instruction's is, and D holds all of a sum.
  if (!region.is_rectangle() || !kernel.operands.c.empty() ||
      kernel.data.d_type != kernel.model.rules.output || kernel.data.c_type != kernel.data.d_type ||
      kernel.model.epilogue != Epilogue{}) {
    return std::nullopt;
  }
  KernelModel model = kernel.model;
  model.order.c_in_epilogue = false;
  const double candidates = static_cast<double>(kernel.data.m * kernel.data.n) /
                            static_cast<double>(kTileStep * kTileStep);
  if (!trial.tells_apart(candidates)) {
    return std::nullopt;
  }
  const auto place = find_other_place(
      region, kernel.data.m, kernel.data.n, [&](std::size_t row, std::size_t column) {
        return may_start_from(trial, row, column) &&
               trial.fits(model, starting_from(kernel, region, row, column));
      });
  if (!place) {
    return std::nullopt;
  }
  return RegionFault{"uncleared-accumulator",
                     "the accumulators begin with the sums of " +
                         text_of(*place, kernel.data.m + 1, kernel.data.n + 1) + ", not with zero"};
}

}  // namespace sptc::compare::kernel
