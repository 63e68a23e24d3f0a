// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/codec.h"
#include "models/sparsity/pattern.h"
#include "sim/check/kernel/fault_finders.h"
#include "sim/check/kernel/word_comparison.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/mma_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Word;

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
    for (const bool is_row : {true, false}) {
      const std::set<std::size_t>& lines = is_row ? rows_ : columns_;
      if (lines.size() <= kMaxLines) {
        if (auto fault = faults_of_lines(is_row, lines)) {
          return fault;
        }
      }
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

  std::optional<LocalFault> faults_of_lines(bool is_row, const std::set<std::size_t>& lines) const {
    std::optional<LocalFault> all;
    for (const std::size_t at : lines) {
      const auto fault = fault_of_line(is_row, at);
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

  // One row or column with changed operands ------------------------------------------------------

  /// A row or a column of D, and its elements: those that differ first, then the others, so that
  /// candidates fail early.
  struct Line {
    bool is_row;
    std::size_t at;
    std::vector<std::size_t> elements;
  };

  Line line_of(bool is_row, std::size_t at) const {
    Line line{is_row, at, {}};
    const std::size_t count = is_row ? computed_.cols() : computed_.rows();
    for (const bool differing : {true, false}) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = is_row ? at : i, column = is_row ? i : at;
        if ((computed_(row, column) != operands_.d(row, column)) == differing) {
          line.elements.push_back(i);
        }
      }
    }
    return line;
  }

  /// Whether the line of D is what `change` makes of its operands, which are row 0 of each.
  template <typename Change>
  bool explains(const Line& line, const Change& change) const {
    for (const std::size_t count :
         {std::min(kProbed, line.elements.size()), line.elements.size()}) {
      const std::vector<std::size_t> some(
          line.elements.begin(), line.elements.begin() + static_cast<std::ptrdiff_t>(count));
      KernelOperands part =
          taken(operands_, line.is_row ? Selection{{line.at}, some} : Selection{some, {line.at}});
      change(part);
      if (execute(data_, model_, part) != part.d) {
        return false;
      }
    }
    return true;
  }

  std::optional<LocalFault> fault_of_line(bool is_row, std::size_t at) const {
    const Line line = line_of(is_row, at);
    if (is_row && model_.instruction.sparse) {
      if (auto fault = fault_of_metadata(line)) {
        return fault;
      }
    }
    return flipped_bit(line);
  }

  // Metadata -------------------------------------------------------------------------------------

  std::string group_range(std::size_t group) const {
    const auto size =
        static_cast<std::size_t>(sparsity::hardware_pattern(model_.instruction.a_type).group);
    return fmt::format("group {} (k {}..{})", group, group * size, (group + 1) * size - 1);
  }

  std::optional<LocalFault> fault_of_metadata(const Line& line) const {
    const auto given = operands_.nibbles.row(line.at);
    const auto reads = [&](std::size_t group, std::uint8_t nibble) {
      return nibble != given[group] &&
             explains(line, [&](KernelOperands& part) { part.nibbles(0, group) = nibble; });
    };
    for (std::size_t group = 0; group < given.size(); ++group) {
      const auto swapped = static_cast<std::uint8_t>((given[group] >> 2 | given[group] << 2) & 0xF);
      if (reads(group, swapped)) {
        return LocalFault{"metadata-nibble",
                          fmt::format("the two metadata indices of row {}, {} are swapped: nibble "
                                      "{:#x} is read as {:#x}",
                                      line.at, group_range(group), given[group], swapped)};
      }
    }
    for (std::size_t group = 0; group + 1 < given.size(); ++group) {
      if (given[group] != given[group + 1] && explains(line, [&](KernelOperands& part) {
            std::swap(part.nibbles(0, group), part.nibbles(0, group + 1));
          })) {
        return LocalFault{"metadata-nibble",
                          fmt::format("the metadata nibbles of row {}, groups {} and {} are "
                                      "exchanged ({:#x} and {:#x})",
                                      line.at, group, group + 1, given[group], given[group + 1])};
      }
    }
    for (std::size_t group = 0; group < given.size(); ++group) {
      for (std::uint8_t other = 0; other < 16; ++other) {
        if (reads(group, other)) {
          return LocalFault{"metadata-nibble",
                            fmt::format("the metadata nibble of row {}, {} is {:#x} instead of "
                                        "{:#x}",
                                        line.at, group_range(group), other, given[group])};
        }
      }
    }
    return std::nullopt;
  }

  // Operand bits ---------------------------------------------------------------------------------

  struct Flip {
    std::size_t t;  // stored element of A, or k of B
    int bit;
    double misfit;
  };

  /// What each element of the line of its operand is multiplied with in the first element of D.
  std::vector<double> multipliers(const Line& line) const {
    const std::size_t row = line.is_row ? line.at : line.elements.front();
    const std::size_t column = line.is_row ? line.elements.front() : line.at;
    const std::vector<std::size_t> positions = positions_in_k(model_, operands_, row);
    std::vector<double> result(line.is_row ? positions.size() : data_.k, 0);
    for (std::size_t t = 0; t < positions.size(); ++t) {
      const std::size_t k = positions[t];
      if (line.is_row) {
        result[t] = numerics::to_double(operands_.b_columns(column, k), model_.instruction.b_type);
      } else {
        result[k] = numerics::to_double(operands_.a(row, t), model_.instruction.a_type);
      }
    }
    return result;
  }

  /// Bits of `words`, of `type`, whose flip changes the first element of D by about what it is off,
  /// best first.
  std::vector<Flip> fitting_flips(const Line& line, std::span<const Word> words,
                                  DataType type) const {
    const std::size_t row = line.is_row ? line.at : line.elements.front();
    const std::size_t column = line.is_row ? line.elements.front() : line.at;
    const double got = numerics::to_double(operands_.d(row, column), data_.d_type);
    const double want = numerics::to_double(computed_(row, column), data_.d_type);
    const bool finite = std::isfinite(got) && std::isfinite(want);
    // What rounding may hide; exact checks follow.
    const double slack =
        0.05 * std::fabs(got - want) + std::ldexp(std::fabs(got) + std::fabs(want), -8);
    const std::vector<double> by = multipliers(line);
    std::vector<Flip> flips;
    for (std::size_t t = 0; t < words.size(); ++t) {
      for (int bit = 0; bit < numerics::storage_bits(type); ++bit) {
        const double before = numerics::to_double(words[t], type);
        const double after = numerics::to_double(words[t] ^ (Word{1} << bit), type);
        const double misfit = std::fabs((after - before) * by[t] - (got - want));
        if (!finite ? !std::isfinite(after) : misfit <= slack) {
          flips.push_back({t, bit, finite ? misfit : 0});
        }
      }
    }
    std::ranges::sort(flips, {}, &Flip::misfit);
    flips.resize(std::min(flips.size(), kMaxCandidates));
    return flips;
  }

  /// Of A in a row of D, of B in a column.
  std::optional<LocalFault> flipped_bit(const Line& line) const {
    const bool of_a = line.is_row;
    const DataType type = of_a ? model_.instruction.a_type : model_.instruction.b_type;
    const auto words = (of_a ? operands_.a : operands_.b_columns).row(line.at);
    for (const Flip& flip : fitting_flips(line, words, type)) {
      const Word wrong = words[flip.t] ^ (Word{1} << flip.bit);
      if (!explains(line, [&](KernelOperands& part) {
            (of_a ? part.a : part.b_columns)(0, flip.t) = wrong;
          })) {
        continue;
      }
      const std::string place =
          of_a ? fmt::format("row {}, {} {}", line.at,
                             model_.instruction.sparse ? "stored element" : "k", flip.t)
               : fmt::format("k {}, column {}", flip.t, line.at);
      return LocalFault{
          of_a ? "bit-of-a" : "bit-of-b",
          fmt::format("one bit of {} is flipped: {}, bit {} ({} instead of {})", of_a ? "A" : "B",
                      place, flip.bit, hex(wrong, type), hex(words[flip.t], type))};
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

}  // namespace sptc::check::kernel
