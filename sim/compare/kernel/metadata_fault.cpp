// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/metadata_fault.h"

#include "models/base/error.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/pytorch_encoding.h"
#include "sim/compare/kernel/moved_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sptc::compare::kernel {
namespace {

using numerics::Word;
using Nibbles = base::Matrix<std::uint8_t>;

constexpr std::size_t kProbed = 6;     // columns in which a row is compared with candidates
constexpr std::size_t kMostRows = 64;  // rows whose partner is looked for one by one
constexpr std::size_t kMostMacs = std::size_t{1} << 33;

/// Which operands of a line come from another one.
struct MovedParts {
  bool values, metadata;
};

template <typename T>
void copy_row(const base::Matrix<T>& from, std::size_t row, base::Matrix<T>& to, std::size_t at) {
  std::ranges::copy(from.row(row), to.row(at).begin());
}

/// Rows of A whose values or metadata are those of another row.
class RowSearch {
 public:
  RowSearch(const RegionTrial& trial, MovedParts parts)
      : trial_(trial), kernel_(trial.kernel()), parts_(parts) {
    const auto& columns = trial.selection().columns;
    for (const auto& [row, column] : trial.strongest()) {
      if (probes_.size() < kProbed && std::ranges::count(probes_, column) == 0) {
        probes_.push_back(column);
      }
    }
    for (std::size_t i = 0; i < columns.size() && probes_.size() < kProbed; ++i) {
      if (std::ranges::count(probes_, columns[i]) == 0) {
        probes_.push_back(columns[i]);
      }
    }
    every_row_ = taken(kernel_.operands, {Selection::all(kernel_.data).rows, probes_});
  }

  /// Nothing where a row has no partner or all of them together do not explain the region.
  std::optional<LineMap> find() const {
    const auto& rows = trial_.selection().rows;
    const std::size_t m = kernel_.data.m;
    if (m < 2 ||
        std::min(rows.size(), kMostRows) * m * probes_.size() * kernel_.data.k > kMostMacs) {
      return std::nullopt;
    }
    LineMap map;
    for (std::size_t i = 0; i < std::min(kMostRows, rows.size()); ++i) {
      if (std::ranges::none_of(trial_.selection().columns, [&](std::size_t column) {
            return kernel_.wrong(rows[i], column) != 0;
          })) {
        continue;
      }
      const auto partner = partner_of(rows[i]);
      if (!partner) {
        return std::nullopt;
      }
      map.emplace_back(rows[i], *partner);
    }
    if (map.empty() || !continued(map)) {
      return std::nullopt;
    }
    return explains(map) ? std::optional(std::move(map)) : std::nullopt;
  }

 private:
  std::optional<std::size_t> partner_of(std::size_t row) const {
    KernelOperands operands = every_row_;
    for (std::size_t other = 0; other < kernel_.data.m; ++other) {
      if (!parts_.values) {
        copy_row(every_row_.a, row, operands.a, other);
      }
      if (!parts_.metadata && !operands.nibbles.empty()) {
        copy_row(every_row_.nibbles, row, operands.nibbles, other);
      }
      if (!operands.c.empty()) {
        copy_row(every_row_.c, row, operands.c, other);
      }
      if (!operands.bias.empty()) {
        copy_row(every_row_.bias, row, operands.bias, other);
      }
    }
    return best_partner(row, execute(kernel_.data, kernel_.model, operands, kernel_.threads));
  }

  /// The nearest row that fits.
  std::optional<std::size_t> best_partner(std::size_t row, const base::Matrix<Word>& d) const {
    std::optional<std::size_t> best;
    const auto distance = [&](std::size_t other) {
      return other > row ? other - row : row - other;
    };
    for (std::size_t other = 0; other < d.rows(); ++other) {
      bool fits = other != row;
      for (std::size_t j = 0; fits && j < probes_.size(); ++j) {
        fits = d(other, j) == kernel_.observed()(row, probes_[j]);
      }
      if (fits && (!best || distance(other) < distance(*best))) {
        best = other;
      }
    }
    return best;
  }

  /// Goes on with the rest of the rows as the first ones do, i ^ c or i + c.
  bool continued(LineMap& map) const {
    const auto& rows = trial_.selection().rows;
    if (rows.size() <= kMostRows) {
      return true;
    }
    const auto [line, source] = map.front();
    const std::size_t flipped = line ^ source;
    const std::size_t shift = source - line;  // modulo 2^64
    const auto all = [&](const auto& follows) { return std::ranges::all_of(map, follows); };
    const bool flips =
        all([&](const auto& entry) { return (entry.first ^ entry.second) == flipped; });
    const bool shifts = all([&](const auto& entry) { return entry.second - entry.first == shift; });
    for (std::size_t i = kMostRows; i < rows.size() && (flips || shifts); ++i) {
      const std::size_t other = flips ? rows[i] ^ flipped : rows[i] + shift;
      if (other >= kernel_.data.m) {
        return false;
      }
      map.emplace_back(rows[i], other);
    }
    return flips || shifts;
  }

  bool explains(const LineMap& map) const {
    std::vector<std::size_t> source(kernel_.data.m);
    std::iota(source.begin(), source.end(), std::size_t{0});
    for (const auto& [line, other] : map) {
      source[line] = other;
    }
    return trial_.fits([&](KernelOperands& operands, const Selection& selection) {
      for (std::size_t i = 0; i < selection.rows.size(); ++i) {
        const std::size_t from = source[selection.rows[i]];
        if (parts_.values) {
          copy_row(kernel_.operands.a, from, operands.a, i);
        }
        if (parts_.metadata && !operands.nibbles.empty()) {
          copy_row(kernel_.operands.nibbles, from, operands.nibbles, i);
        }
      }
    });
  }

  const RegionTrial& trial_;
  const WrongKernel& kernel_;
  MovedParts parts_;
  std::vector<std::size_t> probes_;
  KernelOperands every_row_;  ///< of D in the probed columns
};

std::optional<RegionFault> find_row_fault(const RegionTrial& trial, MovedParts parts,
                                          std::string_view cause, std::string_view what) {
  if (!trial.tells_apart(static_cast<double>(trial.kernel().data.m))) {
    return std::nullopt;
  }
  const auto map = RowSearch(trial, parts).find();
  if (!map) {
    return std::nullopt;
  }
  return RegionFault{std::string(cause),
                     fmt::format("of {} {}", what, describe_moved(*map, "row"))};
}

/// Changes of the metadata of whole rows, the same in each.
class ColumnSearch {
 public:
  explicit ColumnSearch(const RegionTrial& trial)
      : trial_(trial),
        kernel_(trial.kernel()),
        groups_(kernel_.operands.nibbles.cols()),
        per_element_(static_cast<std::size_t>(
            sparsity::metadata_element_bits(kernel_.model.instruction.a_type) / 4)) {}

  std::optional<RegionFault> find() const {
    for (const std::size_t width :
         {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}, std::size_t{16}}) {
      if (auto fault = find_of_all(width)) {
        return fault;
      }
    }
    for (const std::size_t width : {per_element_, 2 * per_element_, std::size_t{1}}) {
      if (auto fault = find_exchanged(width)) {
        return fault;
      }
    }
    for (const std::size_t width : {4 * per_element_, 2 * per_element_, per_element_}) {
      if (auto fault = find_stale(width)) {
        return fault;
      }
    }
    return std::nullopt;
  }

 private:
  using Source = std::function<std::size_t(std::size_t group)>;

  bool fits(const Source& source) const {
    return trial_.fits([&](KernelOperands& operands, const Selection&) {
      const Nibbles before = operands.nibbles;
      for (std::size_t row = 0; row < before.rows(); ++row) {
        for (std::size_t group = 0; group < groups_; ++group) {
          operands.nibbles(row, group) = before(row, source(group));
        }
      }
    });
  }

  static std::string bits(std::size_t width) { return fmt::format("{} bits", 4 * width); }

  /// Parts of `width` groups that are swapped in pairs, or one part too early or too late.
  std::optional<RegionFault> find_of_all(std::size_t width) const {
    constexpr double kCandidates = 16;
    if (groups_ % (2 * width) != 0 || !trial_.tells_apart(kCandidates)) {
      return std::nullopt;
    }
    if (fits([&](std::size_t group) { return group ^ width; })) {
      return RegionFault{"metadata-words",
                         "the metadata of its rows is swapped in pairs of " + bits(width)};
    }
    if (fits([&](std::size_t group) { return (group + width) % groups_; })) {
      return RegionFault{"metadata-words",
                         "the metadata of its rows is " + bits(width) + " too far on"};
    }
    if (fits([&](std::size_t group) { return group < width ? group : group - width; })) {
      return RegionFault{"metadata-words", "the metadata of its rows is " + bits(width) + " late"};
    }
    return std::nullopt;
  }

  /// Two neighbouring parts at one place.
  std::optional<RegionFault> find_exchanged(std::size_t width) const {
    const std::size_t count = groups_ / width;
    if (!trial_.tells_apart(2 * static_cast<double>(count))) {
      return std::nullopt;
    }
    for (std::size_t part = 0; part + 1 < count; ++part) {
      if (fits([&](std::size_t group) {
            const std::size_t in = group / width;
            return in == part ? group + width : in == part + 1 ? group - width : group;
          })) {
        return RegionFault{"metadata-words", fmt::format("the metadata of {} and {} is exchanged",
                                                         k_of(part, width), k_of(part + 1, width))};
      }
    }
    return std::nullopt;
  }

  /// One part with the metadata of another near it: a stage of the pipeline that is stale.
  std::optional<RegionFault> find_stale(std::size_t width) const {
    constexpr std::size_t kMostParts = 64, kFarthest = 8;
    const std::size_t count = groups_ / width;
    if (count > kMostParts || !trial_.tells_apart(static_cast<double>(2 * kFarthest * count))) {
      return std::nullopt;
    }
    for (std::size_t part = 0; part < count; ++part) {
      const std::size_t first = part < kFarthest ? 0 : part - kFarthest;
      for (std::size_t other = first; other <= std::min(count - 1, part + kFarthest); ++other) {
        if (other != part && fits([&](std::size_t group) {
              return group / width == part ? other * width + group % width : group;
            })) {
          return RegionFault{"metadata-words",
                             fmt::format("in place of the metadata of {} that of {}",
                                         k_of(part, width), k_of(other, width))};
        }
      }
    }
    return std::nullopt;
  }

  /// Of a part of `width` groups.
  std::string k_of(std::size_t part, std::size_t width) const {
    const std::size_t k = kernel_.data.k / groups_ * width;
    return fmt::format("k {} to {}", part * k, (part + 1) * k - 1);
  }

  const RegionTrial& trial_;
  const WrongKernel& kernel_;
  std::size_t groups_;
  std::size_t per_element_;
};

/// Values of one encoder with the metadata of another: they differ where a group keeps less than it
/// may.
std::optional<RegionFault> find_encoder(const RegionTrial& trial) {
  const WrongKernel& kernel = trial.kernel();
  const auto type = kernel.model.instruction.a_type;
  const sparsity::CompressedMatrix given{type, sparsity::hardware_pattern(type), kernel.data.k,
                                         kernel.operands.a, kernel.operands.nibbles};
  constexpr double kCandidates = 4;
  if (!trial.tells_apart(kCandidates)) {
    return std::nullopt;
  }
  for (const auto encoder : {sparsity::PyTorchEncoder::kOld, sparsity::PyTorchEncoder::kNew}) {
    sparsity::CompressedMatrix encoded;
    try {
      encoded = sparsity::encode_as_pytorch(given, encoder);
    } catch (const base::InputError&) {
      continue;  // not of this type, or metadata that means nothing
    }
    for (const bool of_metadata : {true, false}) {
      const auto change = [&](KernelOperands& operands, const Selection& selection) {
        for (std::size_t i = 0; i < selection.rows.size(); ++i) {
          if (of_metadata) {
            copy_row(encoded.nibbles, selection.rows[i], operands.nibbles, i);
          } else {
            copy_row(encoded.values, selection.rows[i], operands.a, i);
          }
        }
      };
      if (trial.fits(change)) {
        return RegionFault{"metadata-encoder",
                           fmt::format("the {} in the {} order of PyTorch's encoder, the {} not",
                                       of_metadata ? "metadata is" : "values are",
                                       encoder == sparsity::PyTorchEncoder::kOld ? "old" : "new",
                                       of_metadata ? "values are" : "metadata is")};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<RegionFault> find_metadata_fault(const RegionTrial& trial) {
  if (!trial.kernel().model.instruction.sparse) {
    return std::nullopt;
  }
  if (auto fault = find_encoder(trial)) {
    return fault;
  }
  if (auto fault = ColumnSearch(trial).find()) {
    return fault;
  }
  if (auto fault = find_row_fault(trial, {false, true}, "metadata-rows", "the metadata")) {
    return fault;
  }
  return find_row_fault(trial, {true, false}, "value-rows", "the values of A");
}

std::optional<RegionFault> find_moved_operand(const RegionTrial& trial) {
  if (trial.kernel().operands.c.empty() && trial.kernel().operands.bias.empty()) {
    return std::nullopt;
  }
  return find_row_fault(trial, {true, true}, "permuted-rows", "A");
}

}  // namespace sptc::compare::kernel
