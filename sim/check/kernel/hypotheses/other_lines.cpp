// SPDX-License-Identifier: Apache-2.0
//
// Lines of operands that are those of other lines of D: metadata or values of rows of a sparse A,
// and where C or a bias keeps whole lines of D from being equal, rows of A or columns of B.
#include "sim/check/kernel/hypotheses/families.h"
#include "sim/check/kernel/line_map.h"
#include "sim/check/kernel/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {
namespace {

/// What comes from another line: values or metadata of rows of A, or columns of B.
struct MovedParts {
  bool of_rows, values, metadata;
};

constexpr std::size_t kProbed = 6;      // elements in which a line is compared with candidates
constexpr std::size_t kMostLines = 64;  // whose partner is looked for one by one
constexpr std::size_t kMostMacs = std::size_t{1} << 33;

/// Row (column) `line` of `from` as `at` of `to`; of an empty matrix there is none.
template <typename T>
void copy_line(const base::Matrix<T>& from, std::size_t line, base::Matrix<T>& to, std::size_t at,
               bool is_row = true) {
  for (std::size_t i = 0; !from.empty() && i < (is_row ? from.cols() : from.rows()); ++i) {
    if (is_row) {
      to(at, i) = from(line, i);
    } else {
      to(i, at) = from(i, line);
    }
  }
}

/// For each wrong line of a place the nearest other one with whose `parts` it comes out right in a
/// few elements.
class Lines {
 public:
  Lines(const Trial& at, const MovedParts& parts)
      : kernel_(at.kernel()),
        parts_(parts),
        lines_(parts.of_rows ? at.selection().rows : at.selection().columns),
        others_(parts.of_rows ? at.selection().columns : at.selection().rows),
        count_(parts.of_rows ? kernel_.data.m : kernel_.data.n) {
    const auto probe = [&](std::size_t other) {
      if (probes_.size() < kProbed && std::ranges::count(probes_, other) == 0) {
        probes_.push_back(other);
      }
    };
    for (const auto& [row, column] : at.strongest()) {
      probe(parts.of_rows ? column : row);
    }
    std::ranges::for_each(others_, probe);
    const Selection all = Selection::all(kernel_.data);
    every_line_ = taken(kernel_.operands, parts.of_rows ? Selection{all.rows, probes_}
                                                        : Selection{probes_, all.columns});
  }

  /// Nothing where the first line has no such other, or there are too many to look at.
  std::optional<LineMap> find() const {
    const std::size_t looked_at = std::min(kMostLines, lines_.size());
    LineMap map;
    if (looked_at * count_ * probes_.size() * kernel_.data.k > kMostMacs) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < looked_at; ++i) {
      const auto partner = is_wrong(lines_[i]) ? partner_of(lines_[i]) : std::nullopt;
      if (partner) {
        map.emplace_back(lines_[i], *partner);
      } else if (map.empty() && is_wrong(lines_[i])) {
        return std::nullopt;
      }
    }
    go_on(map);
    return map.empty() ? std::nullopt : std::optional(std::move(map));
  }

 private:
  bool is_wrong(std::size_t line) const {
    return std::ranges::any_of(others_, [&](std::size_t other) {
      return (parts_.of_rows ? kernel_.wrong(line, other) : kernel_.wrong(other, line)) != 0;
    });
  }

  std::optional<std::size_t> partner_of(std::size_t line) const {
    KernelOperands operands = every_line_;
    for (std::size_t other = 0; other < count_; ++other) {
      if (parts_.of_rows && !parts_.values) {
        copy_line(every_line_.a, line, operands.a, other);
      }
      if (parts_.of_rows && !parts_.metadata) {
        copy_line(every_line_.nibbles, line, operands.nibbles, other);
      }
      copy_line(every_line_.c, line, operands.c, other, parts_.of_rows);
      copy_line(every_line_.bias, line, operands.bias, other, parts_.of_rows);
    }
    const auto d = execute(kernel_.data, kernel_.model, operands, kernel_.threads);
    const auto agrees = [&](std::size_t other, std::size_t i) {
      const std::size_t row = parts_.of_rows ? line : probes_[i];
      const std::size_t column = parts_.of_rows ? probes_[i] : line;
      return kernel_.agrees(row, column, parts_.of_rows ? d(other, i) : d(i, other),
                            kernel_.observed()(row, column));
    };
    const auto distance = [&](std::size_t other) {
      return other > line ? other - line : line - other;
    };
    std::optional<std::size_t> best;
    for (std::size_t other = 0; other < count_; ++other) {
      bool fits = other != line && (!best || distance(other) < distance(*best));
      for (std::size_t i = 0; fits && i < probes_.size(); ++i) {
        fits = agrees(other, i);
      }
      best = fits ? std::optional(other) : best;
    }
    return best;
  }

  /// Goes on with the rest of the lines as the first ones do, i ^ c or i + c.
  void go_on(LineMap& map) const {
    const auto flip = map.empty() ? std::nullopt : common_flip(map);
    const auto shift = map.empty() ? std::nullopt : common_shift(map);
    for (std::size_t i = kMostLines; i < lines_.size() && (flip || shift); ++i) {
      // Below 0 wraps to far beyond D.
      const std::size_t other =
          flip ? lines_[i] ^ *flip : lines_[i] + static_cast<std::size_t>(*shift);
      if (other < count_) {
        map.emplace_back(lines_[i], other);
      }
    }
  }

  const WrongKernel& kernel_;
  MovedParts parts_;
  const std::vector<std::size_t>& lines_;
  const std::vector<std::size_t>& others_;
  std::size_t count_;  // of lines of D
  std::vector<std::size_t> probes_;
  KernelOperands every_line_;  // of D at the probes
};

/// Adds what comes from other lines. `cause`: null for permuted or duplicated columns.
void add_other_lines(const Trial& at, const char* cause, const char* what, MovedParts parts,
                     Proposals& proposals) {
  const WrongKernel& kernel = at.kernel();
  const bool has_addend = !kernel.operands.c.empty() || !kernel.operands.bias.empty();
  const bool of_one_part = parts.values != parts.metadata;
  const std::size_t count = parts.of_rows ? kernel.data.m : kernel.data.n;
  const bool is_possible = of_one_part ? kernel.model.instruction.sparse : has_addend;
  if (!is_possible || count < 2 || !at.tells_apart(static_cast<double>(count))) {
    return;
  }
  const auto map = Lines(at, parts).find();
  if (!map) {
    return;
  }
  Hypothesis moved{
      cause != nullptr       ? cause
      : is_permutation(*map) ? "permuted-columns"
                             : "duplicated-columns",
      fmt::format("of {} {}", what, describe_moved(*map, parts.of_rows ? "row" : "column"))};
  moved.change = [&kernel, parts, sources = sources_of(*map, count)](KernelOperands& operands,
                                                                     const Selection& selection) {
    const KernelOperands& from = kernel.operands;
    for (std::size_t i = 0; !parts.of_rows && i < selection.columns.size(); ++i) {
      copy_line(from.b_columns, sources[selection.columns[i]], operands.b_columns, i);
    }
    for (std::size_t i = 0; parts.of_rows && i < selection.rows.size(); ++i) {
      const std::size_t source = sources[selection.rows[i]];
      if (parts.values) {
        copy_line(from.a, source, operands.a, i);
      }
      if (parts.metadata) {
        copy_line(from.nibbles, source, operands.nibbles, i);
      }
    }
  };
  proposals.list.push_back(std::move(moved));
  proposals.among = std::max(proposals.among, static_cast<double>(count));
}

}  // namespace

Proposals other_lines(const Trial& at) {
  Proposals proposals;
  add_other_lines(at, "metadata-rows", "the metadata", {true, false, true}, proposals);
  add_other_lines(at, "value-rows", "the values of A", {true, true, false}, proposals);
  add_other_lines(at, "permuted-rows", "A", {true, true, true}, proposals);
  add_other_lines(at, nullptr, "B", {false, false, false}, proposals);
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
