// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/local_fault.h"

#include "models/sparsity/compress.h"
#include "sim/compare/kernel/word_comparison.h"
#include "sim/compare/vectors/diagnosis.h"
#include "sim/compare/vectors/mma_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace sptc::compare::kernel {
namespace {

using numerics::DataType;
using numerics::Word;
using sparsity::Pattern;

constexpr std::size_t kMaxBits = 8;          // single elements that are looked at one by one
constexpr std::size_t kMaxLines = 2;         // rows or columns
constexpr std::size_t kProbed = 4;           // elements of a line that candidates must meet first
constexpr std::size_t kMaxCandidates = 512;  // flipped bits that fit by their size

struct Difference {
  std::size_t row, column;
};

std::string hex(Word word, DataType type) {
  return vectors::hex_bits(word, vectors::element_bytes(type));
}

class Search {
 public:
  Search(const KernelData& data, const KernelModel& model, const KernelOperands& operands,
         const base::Matrix<Word>& computed)
      : data_(data), model_(model), operands_(operands), computed_(computed) {
    for (std::size_t i = 0; i < computed.rows(); ++i) {
      for (std::size_t j = 0; j < computed.cols(); ++j) {
        if (computed(i, j) != operands.d(i, j)) {
          differences_.push_back({i, j});
          rows_.insert(i);
          columns_.insert(j);
        }
      }
    }
  }

  std::optional<LocalFault> run() {
    if (differences_.empty()) {
      return std::nullopt;
    }
    if (differences_.size() <= kMaxBits) {
      if (auto fault = bits_of_d()) {
        return fault;
      }
    }
    if (rows_.size() <= kMaxLines) {
      if (auto fault = every_line(rows_, [&](std::size_t row) { return fault_of_row(row); })) {
        return fault;
      }
    }
    if (columns_.size() <= kMaxLines) {
      return every_line(columns_, [&](std::size_t column) { return fault_of_column(column); });
    }
    return std::nullopt;
  }

 private:
  std::optional<LocalFault> bits_of_d() const {
    LocalFault fault{"bit-of-d", "", true};
    for (const auto& [row, column] : differences_) {
      const Word x = computed_(row, column);
      const Word y = operands_.d(row, column);
      if (!std::has_single_bit(x ^ y)) {
        return std::nullopt;
      }
      fault.could_be_rounding =
          fault.could_be_rounding && ulp_distance(x, y, data_.d_type).value_or(2) <= 1;
      fault.text +=
          fmt::format("{}one bit of D[{}, {}] is flipped: bit {} ({} instead of {})",
                      fault.text.empty() ? "" : "; ", row, column, std::countr_zero(x ^ y),
                      hex(y, data_.d_type), hex(x, data_.d_type));
    }
    return fault;
  }

  template <typename Find>
  static std::optional<LocalFault> every_line(const std::set<std::size_t>& lines, Find find) {
    std::optional<LocalFault> all;
    for (const std::size_t line : lines) {
      const auto fault = find(line);
      if (!fault) {
        return std::nullopt;
      }
      if (all) {
        all->text += "; " + fault->text;
      } else {
        all = fault;
      }
    }
    return all;
  }

  // One row or column with changed operands
  // --------------------------------------------------------

  /// Those that differ first, then some that do not, then the rest: candidates fail early.
  static std::vector<std::size_t> ordered(std::size_t count, const std::set<std::size_t>& wrong) {
    std::vector<std::size_t> order(wrong.begin(), wrong.end());
    for (std::size_t i = 0; i < count; ++i) {
      if (!wrong.contains(i)) {
        order.push_back(i);
      }
    }
    return order;
  }

  /// Whether D is what the changed operands of `part` make of it.
  bool explains(const KernelOperands& part) const { return execute(data_, model_, part) == part.d; }

  bool explains_row(std::size_t row, const base::Matrix<Word>& a,
                    const base::Matrix<std::uint8_t>& nibbles,
                    const std::vector<std::size_t>& columns) const {
    for (const std::size_t count : {std::min(kProbed, columns.size()), columns.size()}) {
      const auto last = columns.begin() + static_cast<std::ptrdiff_t>(count);
      KernelOperands part = taken(operands_, {{row}, {columns.begin(), last}});
      part.a = a;
      part.nibbles = nibbles;
      if (!explains(part)) {
        return false;
      }
    }
    return true;
  }

  bool explains_column(std::size_t column, const base::Matrix<Word>& b_column,
                       const std::vector<std::size_t>& rows) const {
    for (const std::size_t count : {std::min(kProbed, rows.size()), rows.size()}) {
      const auto last = rows.begin() + static_cast<std::ptrdiff_t>(count);
      KernelOperands part = taken(operands_, {{rows.begin(), last}, {column}});
      part.b_columns = b_column;
      if (!explains(part)) {
        return false;
      }
    }
    return true;
  }

  std::set<std::size_t> wrong_in(bool row_line, std::size_t line) const {
    std::set<std::size_t> wrong;
    for (const auto& [row, column] : differences_) {
      if ((row_line ? row : column) == line) {
        wrong.insert(row_line ? column : row);
      }
    }
    return wrong;
  }

  template <typename T>
  static base::Matrix<T> one_row(const base::Matrix<T>& from, std::size_t row) {
    base::Matrix<T> result(from.empty() ? 0 : 1, from.cols());
    if (!from.empty()) {
      std::ranges::copy(from.row(row), result.row(0).begin());
    }
    return result;
  }

  std::optional<LocalFault> fault_of_row(std::size_t row) const {
    const std::vector<std::size_t> columns = ordered(computed_.cols(), wrong_in(true, row));
    if (model_.instruction.sparse) {
      if (auto fault = fault_of_metadata(row, columns)) {
        return fault;
      }
    }
    return bit_of_a(row, columns);
  }

  // Metadata
  // ---------------------------------------------------------------------------------------

  std::string group_range(std::size_t group) const {
    const auto size =
        static_cast<std::size_t>(sparsity::hardware_pattern(model_.instruction.a_type).group);
    return fmt::format("group {} (k {}..{})", group, group * size, (group + 1) * size - 1);
  }

  std::optional<LocalFault> fault_of_metadata(std::size_t row,
                                              const std::vector<std::size_t>& columns) const {
    const base::Matrix<Word> a = one_row(operands_.a, row);
    const base::Matrix<std::uint8_t> given = one_row(operands_.nibbles, row);
    base::Matrix<std::uint8_t> nibbles = given;
    const auto fits = [&] { return explains_row(row, a, nibbles, columns); };
    for (std::size_t group = 0; group < given.cols(); ++group) {
      const std::uint8_t old = given(0, group);
      const auto swapped = static_cast<std::uint8_t>((old >> 2 | old << 2) & 0xF);
      nibbles(0, group) = swapped;
      if (swapped != old && fits()) {
        return LocalFault{"metadata-nibble",
                          fmt::format("the two metadata indices of row {}, {} are swapped: nibble "
                                      "{:#x} is read as {:#x}",
                                      row, group_range(group), old, swapped),
                          false};
      }
      nibbles(0, group) = old;
    }
    for (std::size_t group = 0; group + 1 < given.cols(); ++group) {
      std::swap(nibbles(0, group), nibbles(0, group + 1));
      if (given(0, group) != given(0, group + 1) && fits()) {
        return LocalFault{"metadata-nibble",
                          fmt::format("the metadata nibbles of row {}, groups {} and {} are "
                                      "exchanged ({:#x} and {:#x})",
                                      row, group, group + 1, given(0, group), given(0, group + 1)),
                          false};
      }
      nibbles = given;
    }
    for (std::size_t group = 0; group < given.cols(); ++group) {
      for (std::uint8_t other = 0; other < 16; ++other) {
        nibbles(0, group) = other;
        if (other != given(0, group) && fits()) {
          return LocalFault{"metadata-nibble",
                            fmt::format("the metadata nibble of row {}, {} is {:#x} instead of "
                                        "{:#x}",
                                        row, group_range(group), other, given(0, group)),
                            false};
        }
      }
      nibbles(0, group) = given(0, group);
    }
    return std::nullopt;
  }

  // Operand bits
  // -----------------------------------------------------------------------------------

  /// Position of stored element t of a row in K.
  std::size_t k_of(std::size_t row, std::size_t t) const {
    if (!model_.instruction.sparse) {
      return t;
    }
    const Pattern pattern = sparsity::hardware_pattern(model_.instruction.a_type);
    const auto kept = static_cast<std::size_t>(pattern.kept);
    return t / kept * static_cast<std::size_t>(pattern.group) +
           static_cast<std::size_t>(sparsity::selected_position(
               operands_.nibbles(row, t / kept), static_cast<int>(t % kept), pattern));
  }

  struct Flip {
    std::size_t t;  // stored element of A, or k of B
    int bit;
    double misfit;
  };

  /// Bits of `type` whose flip changes D[row, column] by about what it is off, best first.
  /// `other_at(t)` is the value that element t is multiplied with.
  template <typename WordAt, typename OtherAt>
  std::vector<Flip> fitting_flips(std::size_t row, std::size_t column, std::size_t count,
                                  DataType type, WordAt word_at, OtherAt other_at) const {
    const double got = numerics::to_double(operands_.d(row, column), data_.d_type);
    const double want = numerics::to_double(computed_(row, column), data_.d_type);
    const bool finite = std::isfinite(got) && std::isfinite(want);
    // What rounding may hide; exact checks follow.
    const double slack =
        0.05 * std::fabs(got - want) + std::ldexp(std::fabs(got) + std::fabs(want), -8);
    std::vector<Flip> flips;
    for (std::size_t t = 0; t < count; ++t) {
      for (int bit = 0; bit < numerics::storage_bits(type); ++bit) {
        const double before = numerics::to_double(word_at(t), type);
        const double after = numerics::to_double(word_at(t) ^ (Word{1} << bit), type);
        const double misfit = std::fabs((after - before) * other_at(t) - (got - want));
        if (!finite ? !std::isfinite(after) : misfit <= slack) {
          flips.push_back({t, bit, finite ? misfit : 0});
        }
      }
    }
    std::ranges::sort(flips, {}, &Flip::misfit);
    flips.resize(std::min(flips.size(), kMaxCandidates));
    return flips;
  }

  std::optional<LocalFault> bit_of_a(std::size_t row,
                                     const std::vector<std::size_t>& columns) const {
    const DataType type = model_.instruction.a_type;
    const std::size_t column = columns.front();
    const auto word_at = [&](std::size_t t) { return operands_.a(row, t); };
    const auto other_at = [&](std::size_t t) {
      return numerics::to_double(operands_.b_columns(column, k_of(row, t)),
                                 model_.instruction.b_type);
    };
    base::Matrix<Word> a = one_row(operands_.a, row);
    const base::Matrix<std::uint8_t> nibbles = one_row(operands_.nibbles, row);
    for (const Flip& flip :
         fitting_flips(row, column, operands_.a.cols(), type, word_at, other_at)) {
      a(0, flip.t) ^= Word{1} << flip.bit;
      if (explains_row(row, a, nibbles, columns)) {
        return LocalFault{
            "bit-of-a",
            fmt::format("one bit of A is flipped: row {}, {} {}, bit {} ({} instead "
                        "of {})",
                        row, model_.instruction.sparse ? "stored element" : "k", flip.t, flip.bit,
                        hex(a(0, flip.t), type), hex(operands_.a(row, flip.t), type)),
            false};
      }
      a(0, flip.t) = operands_.a(row, flip.t);
    }
    return std::nullopt;
  }

  std::optional<LocalFault> fault_of_column(std::size_t column) const {
    const DataType type = model_.instruction.b_type;
    const std::vector<std::size_t> rows = ordered(computed_.rows(), wrong_in(false, column));
    const std::size_t row = rows.front();
    std::vector<double> meets(data_.k, 0);  // the element of A that each k is multiplied with
    for (std::size_t t = 0; t < operands_.a.cols(); ++t) {
      meets[k_of(row, t)] = numerics::to_double(operands_.a(row, t), model_.instruction.a_type);
    }
    const auto word_at = [&](std::size_t k) { return operands_.b_columns(column, k); };
    base::Matrix<Word> b = one_row(operands_.b_columns, column);
    for (const Flip& flip : fitting_flips(row, column, data_.k, type, word_at,
                                          [&](std::size_t k) { return meets[k]; })) {
      b(0, flip.t) ^= Word{1} << flip.bit;
      if (explains_column(column, b, rows)) {
        return LocalFault{"bit-of-b",
                          fmt::format("one bit of B is flipped: k {}, column {}, bit {} ({} "
                                      "instead of {})",
                                      flip.t, column, flip.bit, hex(b(0, flip.t), type),
                                      hex(operands_.b_columns(column, flip.t), type)),
                          false};
      }
      b(0, flip.t) = operands_.b_columns(column, flip.t);
    }
    return std::nullopt;
  }

  const KernelData& data_;
  const KernelModel& model_;
  const KernelOperands& operands_;
  const base::Matrix<Word>& computed_;
  std::vector<Difference> differences_;
  std::set<std::size_t> rows_, columns_;
};

}  // namespace

std::optional<LocalFault> find_local_fault(const KernelData& data, const KernelModel& model,
                                           const KernelOperands& operands,
                                           const base::Matrix<Word>& computed) {
  return Search(data, model, operands, computed).run();
}

}  // namespace sptc::compare::kernel
