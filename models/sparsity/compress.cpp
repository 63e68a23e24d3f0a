// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/compress.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace sptc::sparsity {
namespace {

using numerics::DataType;
using numerics::OperandView;
using numerics::Word;

constexpr Pattern kTwoOfFour{.kept = 2, .group = 4, .run = 1};
constexpr Pattern kOneOfTwo{.kept = 1, .group = 2, .run = 1};
constexpr Pattern kPairsOfFour{.kept = 4, .group = 8, .run = 2};
constexpr std::uint8_t kKeepFirstOfTwo = 0b0100;
constexpr std::uint8_t kKeepSecondOfTwo = 0b1110;
/// Nibbles with rising indices, those that keep smaller positions first.
constexpr std::uint8_t kNibblesOfTwo[] = {kKeepFirstOfTwo, kKeepSecondOfTwo};
constexpr std::uint8_t kNibblesOfFour[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};

/// The bits of a word that are zero where its value is: neither the sign nor what the type ignores.
Word magnitude_bits(const numerics::DataTypeInfo& type) {
  const auto low = [](int bits) { return static_cast<Word>((std::uint64_t{1} << bits) - 1); };
  return type.is_float()
             ? low(type.format->exponent_bits + type.format->mantissa_bits) << type.format->discarded_low_bits
             : low(type.storage_bits);
}

/// Bit i: run i of the group holds a non-zero, which has one of the bits `magnitude`.
inline unsigned non_zero_runs(const Word* group, Word magnitude, const Pattern& pattern) {
  unsigned runs = 0;
  for (int i = 0; i < pattern.candidates(); ++i) {
    Word bits = 0;
    for (int j = 0; j < pattern.run; ++j) {
      bits |= *group++;
    }
    runs |= static_cast<unsigned>((bits & magnitude) != 0) << i;
  }
  return runs;
}

void require_whole_groups(std::size_t k, const Pattern& pattern) {
  if (k % static_cast<std::size_t>(pattern.group) != 0) {
    throw base::InputError("k = " + std::to_string(k) + " cannot be " + pattern.name() +
                           " sparse: it must be a multiple of " + std::to_string(pattern.group));
  }
}

std::string describe(const PatternViolation& where, const OperandView& dense, DataType type, const Pattern& pattern) {
  const auto size = static_cast<std::size_t>(pattern.group);
  const std::size_t first = where.group * size;
  std::ostringstream text;
  text << "row " << where.row << ", group " << where.group << " (columns " << first << " to " << first + size - 1
       << ") holds (";
  for (std::size_t i = 0; i < size; ++i) {
    text << (i == 0 ? "" : ", ") << numerics::to_double(dense(where.row, first + i), type);
  }
  text << ")";
  return text.str();
}

[[noreturn]] void refuse(const PatternViolation& where, const OperandView& dense, DataType type,
                         const Pattern& pattern) {
  const std::string group = describe(where, dense, type, pattern);
  const std::string type_name(numerics::name(type));
  if (pattern == kOneOfTwo && dense.cols() % 4 == 0 && !find_violation(dense, type, kTwoOfFour)) {
    throw base::InputError("the matrix is 2:4 but not 1:2 sparse, and " + type_name + " needs 1:2: " + group +
                           "; prune it 1:2 or use a 16-bit type");
  }
  const std::string unit = pattern.run == 1 ? "non-zero" : "non-zero run";
  throw base::InputError("the matrix is not " + pattern.name() + " sparse as " + type_name + " needs it: " + group +
                         ", more than " + std::to_string(pattern.choices()) + " " + unit +
                         (pattern.choices() == 1 ? "" : "s"));
}

/// What is kept of a group.
struct Choice {
  bool legal = false;
  std::uint8_t nibble = 0;
  std::array<std::uint8_t, 4> positions{};  ///< within the group, one for each kept element
};

/// The first nibble that keeps all runs of a set, for every set of non-zero runs that the pattern
/// allows.
std::array<Choice, 16> choices_of(const Pattern& pattern) {
  const std::span<const std::uint8_t> nibbles =
      pattern.candidates() == 2 ? std::span<const std::uint8_t>(kNibblesOfTwo) : kNibblesOfFour;
  std::array<Choice, 16> all{};
  for (unsigned runs = 0; runs < 1U << pattern.candidates(); ++runs) {
    const auto keeps_all = [&](std::uint8_t nibble) {
      unsigned kept = 0;
      for (int slot = 0; slot < pattern.kept; slot += pattern.run) {
        kept |= 1U << (selected_position(nibble, slot, pattern) / pattern.run);
      }
      return (runs & ~kept) == 0;
    };
    const auto found = std::find_if(nibbles.begin(), nibbles.end(), keeps_all);
    if (found == nibbles.end()) {
      continue;
    }
    Choice& choice = all[runs];
    choice.legal = true;
    choice.nibble = *found;
    for (int slot = 0; slot < pattern.kept; ++slot) {
      choice.positions[static_cast<std::size_t>(slot)] =
          static_cast<std::uint8_t>(selected_position(choice.nibble, slot, pattern));
    }
  }
  return all;
}

/// Compresses a row. Returns its first group that the pattern does not allow, or `groups`.
/// The pattern is known at compile time: its loops are unrolled.
template <const Pattern& kPattern>
std::size_t compress_row(const Word* words, std::size_t groups, Word magnitude, const std::array<Choice, 16>& choices,
                         Word* values, std::uint8_t* nibbles) {
  for (std::size_t group = 0; group < groups; ++group) {
    const Choice& choice = choices[non_zero_runs(words, magnitude, kPattern)];
    if (!choice.legal) {
      return group;
    }
    nibbles[group] = choice.nibble;
    for (std::size_t slot = 0; slot < kPattern.kept; ++slot) {
      const Word word = words[choice.positions[slot]];
      values[slot] = (word & magnitude) == 0 ? Word{0} : word;
    }
    words += kPattern.group;
    values += kPattern.kept;
  }
  return groups;
}

auto row_compressor(const Pattern& pattern) {
  base::ensure(pattern == kTwoOfFour || pattern == kOneOfTwo || pattern == kPairsOfFour,
               "compress: no hardware has this pattern");
  return pattern == kTwoOfFour  ? compress_row<kTwoOfFour>
         : pattern == kOneOfTwo ? compress_row<kOneOfTwo>
                                : compress_row<kPairsOfFour>;
}

void require_extents(const CompressedMatrix& matrix) {
  const auto kept = static_cast<std::size_t>(matrix.pattern.kept);
  require_whole_groups(matrix.logical_k, matrix.pattern);
  const std::size_t groups = matrix.logical_k / static_cast<std::size_t>(matrix.pattern.group);
  if (matrix.values.cols() != groups * kept || matrix.nibbles.cols() != groups ||
      matrix.nibbles.rows() != matrix.values.rows()) {
    std::ostringstream text;
    text << "a " << matrix.pattern.name() << " matrix with " << matrix.values.rows()
         << " rows and logical k = " << matrix.logical_k << " needs " << groups * kept << " values and " << groups
         << " metadata nibbles per row; there are " << matrix.values.cols() << " values and " << matrix.nibbles.rows()
         << " rows of " << matrix.nibbles.cols() << " nibbles";
    throw base::InputError(text.str());
  }
}

[[noreturn]] void refuse_nibble(std::uint8_t nibble, std::size_t row, std::size_t group, const Pattern& pattern) {
  std::ostringstream text;
  text << "invalid metadata in row " << row << ", group " << group << ": 0x" << std::hex << static_cast<int>(nibble)
       << std::dec << ", allowed are ";
  text << (pattern.candidates() == 2 ? "0x4 (keeps element 0) and 0xe (keeps element 1)"
                                     : "two 2-bit indices that differ");
  throw base::InputError(text.str());
}

}  // namespace

bool is_valid_nibble(std::uint8_t nibble, const Pattern& pattern) {
  if (nibble > 0xF) {
    return false;
  }
  if (pattern.candidates() == 2) {
    return nibble == kKeepFirstOfTwo || nibble == kKeepSecondOfTwo;
  }
  return pattern.candidates() == 4 && pattern.choices() == 2 && (nibble & 3) != nibble >> 2;
}

std::optional<PatternViolation> find_violation(const OperandView& dense, DataType type, const Pattern& pattern) {
  require_whole_groups(dense.cols(), pattern);
  const auto size = static_cast<std::size_t>(pattern.group);
  const Word magnitude = magnitude_bits(numerics::info(type));
  std::vector<Word> buffer(dense.cols());
  for (std::size_t row = 0; row < dense.rows(); ++row) {
    const Word* const words = dense.words(row, 0, dense.cols(), buffer.data());
    for (std::size_t group = 0; group < dense.cols() / size; ++group) {
      const unsigned runs = non_zero_runs(words + group * size, magnitude, pattern);
      if (__builtin_popcount(runs) > pattern.choices()) {
        return PatternViolation{row, group};
      }
    }
  }
  return std::nullopt;
}

CompressedMatrix compress(const OperandView& dense, DataType type) {
  const Pattern pattern = hardware_pattern(type);
  require_whole_groups(dense.cols(), pattern);
  const std::size_t groups = dense.cols() / static_cast<std::size_t>(pattern.group);
  const Word magnitude = magnitude_bits(numerics::info(type));
  const std::array<Choice, 16> choices = choices_of(pattern);
  const auto compress_row = row_compressor(pattern);
  CompressedMatrix result{.type = type,
                          .pattern = pattern,
                          .logical_k = dense.cols(),
                          .values = base::Matrix<Word>(dense.rows(), groups * static_cast<std::size_t>(pattern.kept)),
                          .nibbles = base::Matrix<std::uint8_t>(dense.rows(), groups)};
  std::vector<Word> buffer(dense.cols());
  for (std::size_t row = 0; row < dense.rows(); ++row) {
    const std::size_t legal = compress_row(dense.words(row, 0, dense.cols(), buffer.data()), groups, magnitude, choices,
                                           result.values.row(row).data(), result.nibbles.row(row).data());
    if (legal < groups) {
      refuse({row, legal}, dense, type, pattern);
    }
  }
  return result;
}

base::Matrix<Word> decompress(const CompressedMatrix& compressed) {
  require_extents(compressed);
  const Pattern& pattern = compressed.pattern;
  const auto size = static_cast<std::size_t>(pattern.group);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  base::Matrix<Word> dense(compressed.rows(), compressed.logical_k);
  for (std::size_t row = 0; row < compressed.rows(); ++row) {
    for (std::size_t group = 0; group < compressed.nibbles.cols(); ++group) {
      const std::uint8_t nibble = compressed.nibbles(row, group);
      if (!is_valid_nibble(nibble, pattern)) {
        refuse_nibble(nibble, row, group, pattern);
      }
      for (int slot = 0; slot < pattern.kept; ++slot) {
        const auto position = static_cast<std::size_t>(selected_position(nibble, slot, pattern));
        dense(row, group * size + position) = compressed.values(row, group * kept + static_cast<std::size_t>(slot));
      }
    }
  }
  return dense;
}

namespace {

/// The nibble of a group of four whose non-zero elements are the set bits; 0 where there are more
/// than two.
using Nibbles = std::array<std::uint8_t, 16>;
constexpr Nibbles kNew = {0xE, 0x8, 0x9, 0x4, 0xE, 0x8, 0x9, 0, 0xE, 0xC, 0xD, 0, 0xE, 0, 0, 0};
constexpr Nibbles kOld = {0xE, 0xC, 0xD, 0x4, 0xE, 0x8, 0x9, 0, 0xE, 0xC, 0xD, 0, 0xE, 0, 0, 0};
/// Nibbles of a group of two.
constexpr std::array<std::uint8_t, 3> kPairs = {0xE, 0x4, 0xE};

}  // namespace

CompressedMatrix encode_as_pytorch(const CompressedMatrix& matrix, PyTorchEncoder encoder) {
  const bool pairs = matrix.pattern == Pattern{1, 2, 1};
  if ((matrix.pattern != Pattern{2, 4, 1} && !pairs) || (pairs && encoder == PyTorchEncoder::kOld)) {
    throw base::InputError("this PyTorch layout does not hold weights of " + std::string(numerics::name(matrix.type)));
  }
  const base::Matrix<numerics::Word> dense = decompress(matrix);
  const auto group = static_cast<std::size_t>(matrix.pattern.group);
  const auto kept = static_cast<std::size_t>(matrix.pattern.kept);
  CompressedMatrix result = matrix;
  for (std::size_t row = 0; row < dense.rows(); ++row) {
    for (std::size_t g = 0; g < matrix.nibbles.cols(); ++g) {
      const auto words = dense.row(row).subspan(g * group, group);
      std::size_t flags = 0;
      for (std::size_t i = 0; i < group; ++i) {
        flags |= words[i] != 0 ? std::size_t{1} << i : 0;
      }
      const std::uint8_t nibble = pairs ? kPairs[flags] : encoder == PyTorchEncoder::kNew ? kNew[flags] : kOld[flags];
      result.nibbles(row, g) = nibble;
      for (std::size_t slot = 0; slot < kept; ++slot) {
        const int position = selected_position(nibble, static_cast<int>(slot), matrix.pattern);
        result.values(row, g * kept + slot) = words[static_cast<std::size_t>(position)];
      }
    }
  }
  return result;
}

}  // namespace sptc::sparsity
