// SPDX-License-Identifier: Apache-2.0
//
// Lines of operands that are those of other lines of D.
#include "sim/check/kernel/fault_finders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

constexpr std::size_t kProbed = 6;      // elements in which a line is compared with candidates
constexpr std::size_t kMostLines = 64;  // whose partner is looked for one by one
constexpr std::size_t kMostMacs = std::size_t{1} << 33;

/// What comes from another line: values or metadata of rows of A, or columns of B.
struct MovedParts {
  bool of_rows, values, metadata;
};

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

class LineSearch {
 public:
  LineSearch(const RegionTrial& trial, MovedParts parts)
      : trial_(trial),
        kernel_(trial.kernel()),
        parts_(parts),
        lines_(parts.of_rows ? trial.selection().rows : trial.selection().columns),
        others_(parts.of_rows ? trial.selection().columns : trial.selection().rows),
        count_(parts.of_rows ? kernel_.data.m : kernel_.data.n) {
    const auto probe = [&](std::size_t other) {
      if (probes_.size() < kProbed && std::ranges::count(probes_, other) == 0) {
        probes_.push_back(other);
      }
    };
    for (const auto& [row, column] : trial.strongest()) {
      probe(parts.of_rows ? column : row);
    }
    std::ranges::for_each(others_, probe);
    const Selection all = Selection::all(kernel_.data);
    every_line_ = taken(kernel_.operands, parts.of_rows ? Selection{all.rows, probes_}
                                                        : Selection{probes_, all.columns});
  }

  /// Nothing where a line has no partner or all of them together do not explain the region.
  std::optional<LineMap> find() const {
    const std::size_t looked_at = std::min(kMostLines, lines_.size());
    if (count_ < 2 || !trial_.tells_apart(static_cast<double>(count_)) ||
        looked_at * count_ * probes_.size() * kernel_.data.k > kMostMacs) {
      return std::nullopt;
    }
    LineMap map;
    for (std::size_t i = 0; i < looked_at; ++i) {
      const std::size_t line = lines_[i];
      if (std::ranges::none_of(others_, [&](std::size_t other) {
            return (parts_.of_rows ? kernel_.wrong(line, other) : kernel_.wrong(other, line)) != 0;
          })) {
        continue;
      }
      const auto partner = partner_of(line);
      if (!partner) {
        return std::nullopt;
      }
      map.emplace_back(line, *partner);
    }
    if (map.empty() || !continued(map) || !explains(map)) {
      return std::nullopt;
    }
    return map;
  }

 private:
  /// The nearest other line with whose operands `line` comes out right in the probes.
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
    const base::Matrix<numerics::Word> d =
        execute(kernel_.data, kernel_.model, operands, kernel_.threads);
    std::optional<std::size_t> best;
    const auto distance = [&](std::size_t other) {
      return other > line ? other - line : line - other;
    };
    for (std::size_t other = 0; other < count_; ++other) {
      bool fits = other != line && (!best || distance(other) < distance(*best));
      for (std::size_t i = 0; fits && i < probes_.size(); ++i) {
        fits = parts_.of_rows ? d(other, i) == kernel_.observed()(line, probes_[i])
                              : d(i, other) == kernel_.observed()(probes_[i], line);
      }
      best = fits ? std::optional(other) : best;
    }
    return best;
  }

  /// Goes on with the rest of the lines as the first ones do, i ^ c or i + c.
  bool continued(LineMap& map) const {
    const auto flip = common_flip(map);
    const auto shift = common_shift(map);
    for (std::size_t i = kMostLines; i < lines_.size() && (flip || shift); ++i) {
      // Below 0 wraps to far beyond D.
      const std::size_t other =
          flip ? lines_[i] ^ *flip : lines_[i] + static_cast<std::size_t>(*shift);
      if (other >= count_) {
        return false;
      }
      map.emplace_back(lines_[i], other);
    }
    return flip || shift || lines_.size() <= kMostLines;
  }

  bool explains(const LineMap& map) const {
    std::vector<std::size_t> source(count_);
    std::iota(source.begin(), source.end(), std::size_t{0});
    for (const auto& [line, other] : map) {
      source[line] = other;
    }
    return trial_.fits({{}, [&](KernelOperands& operands, const Selection& selection) {
                          const auto& lines = parts_.of_rows ? selection.rows : selection.columns;
                          for (std::size_t i = 0; i < lines.size(); ++i) {
                            move(source[lines[i]], operands, i);
                          }
                        }});
  }

  void move(std::size_t from, KernelOperands& operands, std::size_t at) const {
    if (!parts_.of_rows) {
      copy_line(kernel_.operands.b_columns, from, operands.b_columns, at);
    }
    if (parts_.values) {
      copy_line(kernel_.operands.a, from, operands.a, at);
    }
    if (parts_.metadata) {
      copy_line(kernel_.operands.nibbles, from, operands.nibbles, at);
    }
  }

  const RegionTrial& trial_;
  const WrongKernel& kernel_;
  MovedParts parts_;
  const std::vector<std::size_t>& lines_;
  const std::vector<std::size_t>& others_;
  std::size_t count_;  ///< of lines of D
  std::vector<std::size_t> probes_;
  KernelOperands every_line_;  ///< of D at the probes
};

struct MovedKind {
  const char* cause;  ///< null: permuted or duplicated columns
  const char* what;
  MovedParts parts;
};

}  // namespace

std::optional<RegionFault> find_moved_operand(const RegionTrial& trial) {
  constexpr std::array kKinds{MovedKind{"metadata-rows", "the metadata", {true, false, true}},
                              MovedKind{"value-rows", "the values of A", {true, true, false}},
                              MovedKind{"permuted-rows", "A", {true, true, true}},
                              MovedKind{nullptr, "B", {false, false, false}}};
  const WrongKernel& kernel = trial.kernel();
  const bool has_addend = !kernel.operands.c.empty() || !kernel.operands.bias.empty();
  return first_found(kKinds, [&](const MovedKind& kind) -> std::optional<RegionFault> {
    const bool of_one_part = kind.parts.values != kind.parts.metadata;
    if (of_one_part ? !kernel.model.instruction.sparse : !has_addend) {
      return std::nullopt;
    }
    const auto map = LineSearch(trial, kind.parts).find();
    if (!map) {
      return std::nullopt;
    }
    const bool of_rows = kind.parts.of_rows;
    return RegionFault{
        of_rows                ? kind.cause
        : is_permutation(*map) ? "permuted-columns"
                               : "duplicated-columns",
        fmt::format("of {} {}", kind.what, describe_moved(*map, of_rows ? "row" : "column"))};
  });
}

}  // namespace sptc::check::kernel
