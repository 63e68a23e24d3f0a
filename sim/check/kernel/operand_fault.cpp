// SPDX-License-Identifier: Apache-2.0
//
// Elements of operands, and sums, that stand elsewhere within the kernel.
#include "models/numerics/codec.h"
#include "sim/check/kernel/fault_finders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

using numerics::Word;
using WordMatrix = base::Matrix<Word>;

constexpr std::size_t kBlock = 8;  // rows and columns of a fragment that ldmatrix takes
constexpr std::size_t kChunkBytes = 16;

/// Where the element that a lane takes for (line, at) stands.
using Source = std::function<std::pair<std::size_t, std::size_t>(std::size_t line, std::size_t at)>;

/// Faults of the lines of A or of B.
class OperandFaults {
 public:
  OperandFaults(const WrongKernel& kernel, bool of_a)
      : kernel_(kernel),
        of_a_(of_a),
        name_(of_a ? "A" : "B"),
        whole_(of_a ? kernel.operands.a : kernel.operands.b_columns) {}

  /// What may happen to fragments, where elements are whole bytes.
  std::vector<Hypothesis> of_fragments() {
    const mma::MmaInstruction& instruction = kernel_.model.instruction;
    const auto bytes = static_cast<std::size_t>(
        numerics::storage_bits(of_a_ ? instruction.a_type : instruction.b_type) / 8);
    if (bytes == 0) {
      return {};
    }
    add("transposed-fragments",
        fmt::format("8 x 8 blocks of {} are transposed (ldmatrix with or without .trans)", name_),
        [](std::size_t line, std::size_t at) {
          return std::pair(line / kBlock * kBlock + at % kBlock,
                           at / kBlock * kBlock + line % kBlock);
        });
    struct Swizzle {
      int bytes;  ///< of a line in shared memory
      std::size_t shift, mask;
    };
    // The swizzles of shared memory of wgmma: chunk ^= line / 2^shift mod (mask + 1).
    constexpr std::array kSwizzles{Swizzle{128, 0, 7}, Swizzle{64, 1, 3}, Swizzle{32, 2, 1}};
    const std::size_t chunk = kChunkBytes / bytes;
    const auto moved = [chunk](const Swizzle& swizzle, std::size_t at, std::size_t line) {
      return ((at / chunk) ^ (line >> swizzle.shift & swizzle.mask)) * chunk + at % chunk;
    };
    for (const Swizzle& swizzle : kSwizzles) {
      const std::string text =
          fmt::format("the {}-byte swizzle of {} in shared memory", swizzle.bytes, name_);
      add("swizzle", text + " is not undone", [=](std::size_t line, std::size_t at) {
        return std::pair(line, moved(swizzle, at, line));
      });
      add("swizzle", text + ", where a line is of one k, is not undone",
          [=](std::size_t line, std::size_t at) {
            return std::pair(moved(swizzle, line, at), at);
          });
    }
    return std::move(faults_);
  }

  /// Lines of other lines in one k-tile alone: fragments that a stage of the pipeline holds
  /// elsewhere.
  std::vector<Hypothesis> of_tiles() {
    constexpr std::size_t kMostTiles = 64;
    const std::size_t k = kernel_.data.k;
    for (const std::size_t tile : {128U, 64U, 32U, 16U}) {
      const std::size_t tiles = (k + tile - 1) / tile;
      for (std::size_t t = 0; tiles > 1 && tiles <= kMostTiles && t < tiles; ++t) {
        for (std::size_t by = 1; by <= 32 && whole_.rows() % (2 * by) == 0; by *= 2) {
          add_tile(tile, t, fmt::format("i ^ {}", by),
                   [by](std::size_t line) { return line ^ by; });
        }
        add_tile(tile, t, "i + 1", [](std::size_t line) { return line + 1; });
        add_tile(tile, t, "i - 1", [](std::size_t line) { return line - 1; });
        add_tile(tile, t, "i + 1 within 8 lines",
                 [](std::size_t line) { return line / kBlock * kBlock + (line + 1) % kBlock; });
      }
    }
    return std::move(faults_);
  }

 private:
  /// Elements are those that `source` names; outside of the operand: 0.
  void add(const char* cause, std::string text, const Source& source) {
    faults_.push_back({{cause, std::move(text)},
                       [&whole = whole_, of_a = of_a_, source](KernelOperands& operands,
                                                               const Selection& selection) {
                         WordMatrix& into = of_a ? operands.a : operands.b_columns;
                         const auto& lines = of_a ? selection.rows : selection.columns;
                         for (std::size_t i = 0; i < lines.size(); ++i) {
                           for (std::size_t at = 0; at < whole.cols(); ++at) {
                             const auto [line, column] = source(lines[i], at);
                             into(i, at) = line < whole.rows() && column < whole.cols()
                                               ? whole(line, column)
                                               : 0;
                           }
                         }
                       }});
  }

  template <typename Moved>
  void add_tile(std::size_t tile, std::size_t t, const std::string& formula, Moved moved) {
    const std::size_t k = kernel_.data.k, width = whole_.cols();
    const std::size_t begin = t * tile, end = std::min(begin + tile, k);
    add("permuted-fragments",
        fmt::format("in k {} to {} line i of {} is line {}", begin, end - 1, name_, formula),
        [=](std::size_t line, std::size_t at) {
          const bool inside = at * k >= begin * width && at * k < end * width;
          return std::pair(inside ? moved(line) : line, at);
        });
  }

  const WrongKernel& kernel_;
  bool of_a_;
  const char* name_;
  const WordMatrix& whole_;
  std::vector<Hypothesis> faults_;
};

/// What `faults` of A, then of B, has that explains the region.
std::optional<RegionFault> find_in(const RegionTrial& trial,
                                   std::vector<Hypothesis> (OperandFaults::*faults)()) {
  return first_found(std::array{true, false}, [&](bool of_a) {
    OperandFaults operand(trial.kernel(), of_a);
    const std::vector<Hypothesis> hypotheses = (operand.*faults)();
    return trial.first_that_fits(hypotheses, 2 * static_cast<double>(hypotheses.size()));
  });
}

/// The tile that begins at (row, column) of the computed D, instead of C.
Change starting_from(const WrongKernel& kernel, const Region& region, std::size_t row,
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

}  // namespace

std::optional<RegionFault> find_fragment_fault(const RegionTrial& trial) {
  return find_in(trial, &OperandFaults::of_fragments);
}

std::optional<RegionFault> find_moved_lines_of_a_tile(const RegionTrial& trial) {
  return find_in(trial, &OperandFaults::of_tiles);
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
               trial.fits({{}, starting_from(kernel, region, row, column), model});
      });
  if (!place) {
    return std::nullopt;
  }
  return RegionFault{"uncleared-accumulator",
                     "the accumulators begin with the sums of " +
                         text_of(*place, kernel.data.m + 1, kernel.data.n + 1) + ", not with zero"};
}

}  // namespace sptc::check::kernel
