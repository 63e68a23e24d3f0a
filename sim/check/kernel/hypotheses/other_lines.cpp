// SPDX-License-Identifier: Apache-2.0
//
// Lines of operands that are those of other lines of D: metadata or values of rows of a sparse A, and where C or a bias
// keeps whole lines of D from being equal, rows of A or columns of B.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {
namespace {

/// What may come from another line of D: rows of A or columns of B.
struct Kind {
  const char *cause, *what;
  Moved parts;
};

/// The nearest other line with whose `parts`, and all else its own, `line` comes out right at `probes`. `operands`: of
/// every line of D at these.
std::optional<std::size_t> partner_of(const WrongKernel& kernel, const Moved& parts, std::size_t line,
                                      const std::vector<std::size_t>& probes, KernelOperands operands) {
  const bool of_rows = !parts.b;
  const auto fill = [&](auto& matrix, bool rows_are_lines, bool needed = true) {  // every line has what `line` has
    for (std::size_t i = 0; needed && i < matrix.rows(); ++i) {
      for (std::size_t j = 0; j < matrix.cols(); ++j) {
        matrix(i, j) = rows_are_lines ? matrix(line, j) : matrix(i, line);
      }
    }
  };
  fill(operands.a, true, of_rows && !parts.values);
  fill(operands.nibbles, true, of_rows && !parts.metadata);
  fill(operands.c, of_rows);
  fill(operands.bias, of_rows);
  const auto d = execute(kernel.data, kernel.model, operands, kernel.threads);
  const auto distance = [&](std::size_t other) { return other > line ? other - line : line - other; };
  std::optional<std::size_t> best;
  for (std::size_t other = 0; other < (of_rows ? d.rows() : d.cols()); ++other) {
    bool fits = other != line && (!best || distance(other) < distance(*best));
    for (std::size_t i = 0; fits && i < probes.size(); ++i) {
      fits = of_rows ? kernel.agrees(line, probes[i], d(other, i)) : kernel.agrees(probes[i], line, d(i, other));
    }
    best = fits ? std::optional(other) : best;
  }
  return best;
}

/// The lines with whose parts wrong lines of a place come out right in a few elements. Empty where the first wrong line
/// has none, or there are too many to look at.
LineMap partners_of(const Trial& at, const Moved& parts) {
  constexpr std::size_t kProbed = 6, kMostLines = 64, kMostMacs = std::size_t{1} << 33;
  const WrongKernel& kernel = at.kernel();
  const bool of_rows = !parts.b;
  const auto& lines = at.lines(of_rows);
  const auto& others = at.lines(!of_rows);
  const std::size_t count = of_rows ? kernel.data.m : kernel.data.n, looked_at = std::min(kMostLines, lines.size());
  std::vector<std::size_t> probes;
  const auto probe = [&](std::size_t other) {
    if (probes.size() < kProbed && std::ranges::count(probes, other) == 0) {
      probes.push_back(other);
    }
  };
  for (const auto& [row, column] : at.strongest()) {
    probe(of_rows ? column : row);
  }
  std::ranges::for_each(others, probe);
  LineMap map;
  if (looked_at * count * probes.size() * kernel.data.k > kMostMacs) {
    return map;
  }
  const Selection all = Selection::all(kernel.data);
  const KernelOperands every_line =
      taken(kernel.operands, of_rows ? Selection{all.rows, probes} : Selection{probes, all.columns});
  for (std::size_t i = 0; i < looked_at; ++i) {
    const bool is_wrong = std::ranges::any_of(others, [&](std::size_t other) {
      return (of_rows ? kernel.wrong(lines[i], other) : kernel.wrong(other, lines[i])) != 0;
    });
    if (const auto partner = is_wrong ? partner_of(kernel, parts, lines[i], probes, every_line) : std::nullopt) {
      map.emplace_back(lines[i], *partner);
    } else if (map.empty() && is_wrong) {
      return map;
    }
  }
  // The rest of the lines go on as the first ones do, i ^ c or i + c.
  const auto flip = map.empty() ? std::nullopt : common_flip(map);
  const auto shift = map.empty() ? std::nullopt : common_shift(map);
  for (std::size_t i = kMostLines; i < lines.size() && (flip || shift); ++i) {
    const std::size_t other = flip ? lines[i] ^ *flip : lines[i] + static_cast<std::size_t>(*shift);
    if (other < count) {  // below 0 wraps to far beyond D
      map.emplace_back(lines[i], other);
    }
  }
  return map;
}

}  // namespace

Proposals other_lines(const Trial& at) {
  constexpr Kind kKinds[] = {{"metadata-rows", "the metadata", {.metadata = true}},
                             {"value-rows", "the values of A", {.values = true}},
                             {"permuted-rows", "A", {.values = true, .metadata = true}},
                             {"", "B", {.b = true}}};
  const WrongKernel& kernel = at.kernel();
  const bool has_addend = !kernel.operands.c.empty() || !kernel.operands.bias.empty();
  Proposals proposals{{}, static_cast<double>(std::max(at.data().m, at.data().n))};
  for (const Kind& kind : kKinds) {
    const bool of_one_part = !kind.parts.b && kind.parts.values != kind.parts.metadata;
    const bool is_possible = of_one_part ? kernel.model.instruction.sparse : has_addend;
    const std::size_t count = kind.parts.b ? at.data().n : at.data().m;
    if (!is_possible || count < 2 || !at.tells_apart(static_cast<double>(count))) {
      continue;
    }
    if (const LineMap map = partners_of(at, kind.parts); !map.empty()) {
      proposals.list.push_back(moved_lines(kernel, kind.parts, !kind.parts.b, kind.cause, kind.what, map));
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
