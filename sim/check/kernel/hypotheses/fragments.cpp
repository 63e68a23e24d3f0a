// SPDX-License-Identifier: Apache-2.0
//
// How fragments come from shared memory: 8 x 8 blocks that are transposed or in the registers of
// others, or 16-byte chunks that a swizzle moved and nobody moved back.
#include "models/numerics/codec.h"
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/kernel/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {
namespace {

/// Where the element that a kernel takes for (line, at) of an operand stands.
using ElementSource =
    std::function<std::pair<std::size_t, std::size_t>(std::size_t line, std::size_t at)>;

/// Stored elements of A, or of the columns of B, come from `source`; from outside of the operand
/// comes 0.
Hypothesis moved_elements(const WrongKernel& kernel, bool of_a, const char* cause, std::string text,
                          ElementSource source) {
  const auto& whole = of_a ? kernel.operands.a : kernel.operands.b_columns;
  return {cause, std::move(text),
          [&whole, of_a, source = std::move(source)](KernelOperands& operands,
                                                     const Selection& selection) {
            auto& into = of_a ? operands.a : operands.b_columns;
            const auto& lines = of_a ? selection.rows : selection.columns;
            for (std::size_t i = 0; i < lines.size(); ++i) {
              for (std::size_t at = 0; at < whole.cols(); ++at) {
                const auto [line, column] = source(lines[i], at);
                into(i, at) =
                    line < whole.rows() && column < whole.cols() ? whole(line, column) : 0;
              }
            }
          }};
}

constexpr std::size_t kBlock = 8;  // rows and columns of a fragment that ldmatrix takes
constexpr std::size_t kChunkBytes = 16;

struct Swizzle {
  int bytes;  ///< of a line in shared memory
  std::size_t shift, mask;
};
// The swizzles of shared memory of wgmma: chunk ^= line / 2^shift mod (mask + 1).
constexpr std::array kSwizzles{Swizzle{128, 0, 7}, Swizzle{64, 1, 3}, Swizzle{32, 2, 1}};

void add_fragments(const WrongKernel& kernel, bool of_a, std::vector<Hypothesis>& list) {
  const mma::MmaInstruction& instruction = kernel.model.instruction;
  const auto bytes = static_cast<std::size_t>(
      numerics::storage_bits(of_a ? instruction.a_type : instruction.b_type) / 8);
  if (bytes == 0) {
    return;
  }
  const char* const name = of_a ? "A" : "B";
  list.push_back(moved_elements(
      kernel, of_a, "transposed-fragments",
      fmt::format("8 x 8 blocks of {} are transposed (ldmatrix with or without .trans)", name),
      [](std::size_t line, std::size_t at) {
        return std::pair(line / kBlock * kBlock + at % kBlock,
                         at / kBlock * kBlock + line % kBlock);
      }));
  const std::size_t chunk = kChunkBytes / bytes;
  list.push_back(
      moved_elements(kernel, of_a, "permuted-fragments",
                     fmt::format("of every {} x {} block of {} the quarters off the diagonal "
                                 "change places (ldmatrix with the addresses of {})",
                                 2 * kBlock, 2 * chunk, name, of_a ? "B" : "A"),
                     [chunk](std::size_t line, std::size_t at) {
                       const bool moves = line / kBlock % 2 != at / chunk % 2;
                       return moves ? std::pair(line ^ kBlock, at ^ chunk) : std::pair(line, at);
                     }));
  for (const Swizzle& swizzle : kSwizzles) {
    const auto moved = [swizzle, chunk](std::size_t at, std::size_t line) {
      return ((at / chunk) ^ (line >> swizzle.shift & swizzle.mask)) * chunk + at % chunk;
    };
    const std::string text =
        fmt::format("the {}-byte swizzle of {} in shared memory", swizzle.bytes, name);
    list.push_back(moved_elements(
        kernel, of_a, "swizzle", text + " is not undone",
        [moved](std::size_t line, std::size_t at) { return std::pair(line, moved(at, line)); }));
    list.push_back(moved_elements(
        kernel, of_a, "swizzle", text + ", where a line is of one k, is not undone",
        [moved](std::size_t line, std::size_t at) { return std::pair(moved(line, at), at); }));
  }
}

}  // namespace

Proposals fragments(const Trial& at) {
  Proposals proposals;
  add_fragments(at.kernel(), true, proposals.list);
  add_fragments(at.kernel(), false, proposals.list);
  return proposals;
}

// In one k-tile lines of A, or of B, are other lines: fragments that a stage of the pipeline holds
// elsewhere.

namespace {

constexpr std::size_t kMostTiles = 64;

struct Move {
  std::string formula;
  std::function<std::size_t(std::size_t)> source;
};

/// What may happen to the lines of an operand of `count` lines.
std::vector<Move> moves_of(std::size_t count) {
  std::vector<Move> moves;
  for (std::size_t by = 1; by <= 32 && count % (2 * by) == 0; by *= 2) {
    moves.push_back({fmt::format("i ^ {}", by), [by](std::size_t line) { return line ^ by; }});
  }
  moves.push_back({"i + 1", [](std::size_t line) { return line + 1; }});
  moves.push_back({"i - 1", [](std::size_t line) { return line - 1; }});
  moves.push_back(
      {"i + 1 within 8 lines", [](std::size_t line) { return line / 8 * 8 + (line + 1) % 8; }});
  return moves;
}

}  // namespace

Proposals lines_of_k_tiles(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  const std::size_t k = kernel.data.k;
  Proposals proposals;
  for (const bool of_a : {true, false}) {
    const auto& whole = of_a ? kernel.operands.a : kernel.operands.b_columns;
    const std::vector<Move> moves = moves_of(whole.rows());
    for (const std::size_t tile : {128U, 64U, 32U, 16U}) {
      const std::size_t tiles = (k + tile - 1) / tile;
      for (std::size_t t = 0; tiles > 1 && tiles <= kMostTiles && t < tiles; ++t) {
        const std::size_t begin = t * tile, end = std::min(begin + tile, k);
        for (const Move& move : moves) {
          proposals.list.push_back(moved_elements(
              kernel, of_a, "permuted-fragments",
              fmt::format("in k {} to {} line i of {} is line {}", begin, end - 1, of_a ? "A" : "B",
                          move.formula),
              [=, width = whole.cols(), source = move.source](std::size_t line, std::size_t place) {
                const bool inside = place * k >= begin * width && place * k < end * width;
                return std::pair(inside ? source(line) : line, place);
              }));
        }
      }
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
