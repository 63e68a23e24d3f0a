// SPDX-License-Identifier: Apache-2.0
//
// How fragments come from shared memory: 8 x 8 blocks that are transposed or in the registers of others, or 16-byte
// chunks that a swizzle moved and nobody moved back.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

Proposals fragments(const Trial& at) {
  constexpr std::size_t kBlock = 8;  // rows and columns of a fragment that ldmatrix takes
  constexpr int kChunkBits = 128;
  const mma::MmaInstruction& instruction = at.kernel().model.instruction;
  Proposals proposals;
  for (const bool of_a : {true, false}) {
    const int bits = numerics::storage_bits(of_a ? instruction.a_type : instruction.b_type);
    const auto chunk = static_cast<std::size_t>(kChunkBits / bits);
    const std::string_view name = of_a ? "A" : "B", other = of_a ? "B" : "A";
    const auto add = [&](const char* cause, std::string text, Source source) {
      if (bits >= 8) {
        proposals.list.push_back(
            moved(at.kernel(), {.values = of_a, .b = !of_a}, cause, std::move(text), std::move(source)));
      }
    };
    for (const std::size_t edge : {kBlock, 2 * kBlock, 4 * kBlock, 8 * kBlock}) {
      add("transposed-fragments",
          fmt::format("{0} x {0} blocks of {1} are transposed{2}", edge, name,
                      edge == kBlock ? " (ldmatrix with or without .trans)" : ""),
          [edge](std::size_t line, std::size_t k) {
            return std::pair(line / edge * edge + k % edge, k / edge * edge + line % edge);
          });
    }
    // ldmatrix moves pairs of bytes.
    if (bits == 8) {
      const std::string pairs =
          fmt::format("8 x 8 blocks of pairs of bytes of {} are transposed (ldmatrix.trans)", name);
      add("transposed-fragments", pairs, [](std::size_t line, std::size_t k) {
        return std::pair(line / 8 * 8 + k / 2 % 8, k / 16 * 16 + line % 8 * 2 + k % 2);
      });
      add("transposed-fragments", pairs + ", along its lines", [](std::size_t line, std::size_t k) {
        return std::pair(line / 16 * 16 + k % 8 * 2 + line % 2, k / 8 * 8 + line / 2 % 8);
      });
    }
    add("permuted-fragments",
        fmt::format("of every {} x {} block of {} the quarters off the diagonal change places (ldmatrix with the "
                    "addresses of {})",
                    2 * kBlock, 2 * chunk, name, other),
        [chunk](std::size_t line, std::size_t k) {
          return line / kBlock % 2 != k / chunk % 2 ? std::pair(line ^ kBlock, k ^ chunk) : std::pair(line, k);
        });
    // The swizzles of shared memory of wgmma: chunk ^= line / 2^shift mod (mask + 1).
    for (std::size_t shift = 0, mask = 7, bytes = 128; shift < 3; ++shift, mask >>= 1, bytes /= 2) {
      const auto swizzled = [=](std::size_t k, std::size_t line) {
        return ((k / chunk) ^ (line >> shift & mask)) * chunk + k % chunk;
      };
      const std::string text = fmt::format("the {}-byte swizzle of {} in shared memory", bytes, name);
      add("swizzle", text + " is not undone",
          [=](std::size_t line, std::size_t k) { return std::pair(line, swizzled(k, line)); });
      add("swizzle", text + ", where a line is of one k, is not undone",
          [=](std::size_t line, std::size_t k) { return std::pair(swizzled(line, k), k); });
    }
  }
  return proposals;
}

// Lines of A, of its metadata or of B that are other lines in one k-tile: fragments that a stage of the pipeline holds
// elsewhere, or a stage that another CTA should read.
Proposals lines_of_k_tiles(const Trial& at) {
  using Move = std::pair<std::string, std::function<std::size_t(std::size_t)>>;
  constexpr std::size_t kMostTiles = 64;
  const KernelOperands& operands = at.kernel().operands;
  const std::size_t k = at.data().k;
  struct Kind {
    const char *cause, *what;
    Moved parts;
    std::size_t lines, width;  // width: elements of a line; 0: there are none
  };
  const bool is_sparse = at.kernel().model.instruction.sparse;
  const Kind kinds[] = {
      {"permuted-fragments", is_sparse ? "the values of A" : "A", {.values = true}, at.data().m, operands.a.cols()},
      {"metadata-rows", "the metadata", {.metadata = true}, at.data().m, is_sparse ? operands.nibbles.cols() : 0},
      {"permuted-fragments", "B", {.b = true}, at.data().n, operands.b_columns.cols()}};
  Proposals proposals;
  for (const Kind& kind : kinds) {
    const std::size_t lines = kind.lines, width = kind.width;
    std::vector<Move> moves;
    for (std::size_t by = 1; by <= 128 && lines % (2 * by) == 0; by *= 2) {
      moves.emplace_back(fmt::format("i ^ {}", by), [by](std::size_t line) { return line ^ by; });
    }
    moves.emplace_back("i + 1", [](std::size_t line) { return line + 1; });
    moves.emplace_back("i - 1", [](std::size_t line) { return line - 1; });
    moves.emplace_back("i + 1 within 8 lines", [](std::size_t line) { return line / 8 * 8 + (line + 1) % 8; });
    for (const std::size_t tile : {128U, 64U, 32U, 16U}) {
      const std::size_t tiles = (k + tile - 1) / tile;
      for (std::size_t t = 0; width > 0 && tiles > 1 && tiles <= kMostTiles && t < tiles; ++t) {
        const std::size_t begin = t * tile, end = std::min(begin + tile, k);
        for (const auto& [formula, source] : moves) {
          proposals.list.push_back(
              moved(at.kernel(), kind.parts, kind.cause,
                    fmt::format("in k {} to {} line i of {} is line {}", begin, end - 1, kind.what, formula),
                    [=, other = source](std::size_t line, std::size_t place) {
                      const bool inside = place * k >= begin * width && place * k < end * width;
                      return std::pair(inside ? other(line) : line, place);
                    }));
        }
      }
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
