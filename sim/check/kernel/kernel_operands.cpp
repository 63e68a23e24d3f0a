// SPDX-License-Identifier: Apache-2.0
//
// The memory of a kernel, taken for matrices as a model of the kernel says.
#include "models/base/error.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"
#include "models/sparsity/prune.h"
#include "sim/check/kernel/kernel_model.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace sptc::check::kernel {
namespace {

using numerics::DataType;
using numerics::Word;
using sparsity::Pattern;

/// The same bytes as elements of `bytes` each, little-endian.
vectors::BitArray resized_elements(const vectors::BitArray& array, int bytes) {
  const auto from = static_cast<std::size_t>(array.element_bytes);
  const auto to = static_cast<std::size_t>(bytes);
  const std::size_t total = array.bits.size() * from;
  if (total % to != 0) {
    throw base::InputError("metadata does not hold whole elements of " + std::to_string(bytes) +
                           " bytes");
  }
  vectors::BitArray result = vectors::make_bit_array({1, total / to}, bytes);
  for (std::size_t byte = 0; byte < total; ++byte) {
    const std::uint64_t value = array.bits[byte / from] >> (8 * (byte % from)) & 0xFF;
    result.bits[byte / to] |= value << (8 * (byte % to));
  }
  return result;
}

/// Exchanges neighbouring fields of `width` bits in an element.
std::uint64_t exchange(std::uint64_t bits, int width) {
  std::uint64_t result = 0;
  for (int at = 0; at < 64; at += 2 * width) {
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    result |= (bits >> at & mask) << (at + width) | (bits >> (at + width) & mask) << at;
  }
  return result;
}

base::Matrix<std::uint8_t> nibbles_of_indices(const vectors::BitArray& indices,
                                              const Pattern& pattern, const KernelData& data) {
  const auto kept = static_cast<std::size_t>(pattern.kept);
  const std::size_t stored = data.a.cols;
  base::Matrix<std::uint8_t> nibbles(data.m, stored / kept);
  const auto group_size = static_cast<std::size_t>(pattern.group);
  for (std::size_t row = 0; row < data.m; ++row) {
    for (std::size_t group = 0; group < nibbles.cols(); ++group) {
      unsigned nibble = 0;
      for (int choice = 0; choice < pattern.choices(); ++choice) {
        const std::size_t t = group * kept + static_cast<std::size_t>(choice * pattern.run);
        const std::uint64_t index = indices.bits[row * stored + t];
        if (index / group_size != group) {
          throw base::InputError("metadata index " + std::to_string(index) + " of row " +
                                 std::to_string(row) + " is outside its group");
        }
        const auto position =
            static_cast<unsigned>(index % group_size) / static_cast<unsigned>(pattern.run);
        nibble |=
            pattern.candidates() == 2 ? (position == 0 ? 0x4U : 0xEU) : position << (2 * choice);
      }
      nibbles(row, group) = static_cast<std::uint8_t>(nibble);
    }
  }
  return nibbles;
}

base::Matrix<std::uint8_t> read_nibbles(const KernelData& data, const KernelModel& model) {
  const DataType type = model.instruction.a_type;
  const Pattern pattern = sparsity::hardware_pattern(type);
  const std::size_t groups = data.a.cols / static_cast<std::size_t>(pattern.kept);
  if (model.reading.scramble == Scramble::kIgnored) {
    return {data.m, groups, sparsity::kEmptyGroupNibble};
  }
  const int width = static_cast<int>(model.reading.scramble);
  const vectors::MetadataInput& stored = *data.metadata;
  if (stored.layout == vectors::MetadataLayout::kIndices) {
    base::Matrix<std::uint8_t> nibbles = nibbles_of_indices(stored.array, pattern, data);
    if (width > 2) {
      throw base::InputError("indices are not packed");
    }
    for (std::size_t i = 0; width == 2 && i < nibbles.size(); ++i) {
      nibbles.data()[i] = static_cast<std::uint8_t>(exchange(nibbles.data()[i], 2) & 0xF);
    }
    return nibbles;
  }
  const int bytes = vectors::metadata_element_bytes(model.reading.layout, type);
  vectors::BitArray array = stored.array;
  if (width > 0) {
    array = resized_elements(array, std::max(bytes, width / 4));
    for (std::uint64_t& element : array.bits) {
      element = exchange(element, width);
    }
  }
  vectors::MetadataInput input{resized_elements(array, bytes), model.reading.layout,
                               model.reading.selector};
  return vectors::metadata_nibbles(input, model.instruction, {1, data.m, data.a.cols}, 0,
                                   "metadata");
}

/// The elements of `rows` x `columns` that a kernel finds in `memory`.
base::Matrix<Word> gathered(const StoredMatrix& memory, const std::vector<std::size_t>& rows,
                            const std::vector<std::size_t>& columns, bool column_major,
                            std::size_t pitch = 0) {
  base::Matrix<Word> result(rows.size(), columns.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      result(i, j) = memory.at(rows[i], columns[j], column_major, pitch);
    }
  }
  return result;
}

std::vector<std::size_t> first_numbers(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// The `kept` elements of smallest magnitude of each group.
base::Matrix<Word> smallest_of_groups(const base::Matrix<Word>& dense, DataType type,
                                      const Pattern& pattern) {
  const base::Matrix<Word> largest = sparsity::prune_by_magnitude(dense, type, pattern);
  base::Matrix<Word> result(dense.rows(), dense.cols());
  for (std::size_t i = 0; i < dense.size(); ++i) {
    result.data()[i] = largest.data()[i] == 0 ? dense.data()[i] : 0;
  }
  return result;
}

/// The first `kept` elements of each group whose bits are not all zero.
base::Matrix<Word> first_by_bits(const base::Matrix<Word>& dense, const Pattern& pattern) {
  base::Matrix<Word> result(dense.rows(), dense.cols());
  const auto group = static_cast<std::size_t>(pattern.group);
  for (std::size_t row = 0; row < dense.rows(); ++row) {
    int kept = 0;
    for (std::size_t k = 0; k < dense.cols(); ++k) {
      kept = k % group == 0 ? 0 : kept;
      if (dense(row, k) != 0 && kept++ < pattern.kept) {
        result(row, k) = dense(row, k);
      }
    }
  }
  return result;
}

base::Matrix<Word> pruned(const base::Matrix<Word>& dense, DataType type, Pruning pruning) {
  const Pattern pattern = sparsity::hardware_pattern(type);
  switch (pruning) {
    case Pruning::kMagnitude:
      return sparsity::prune_by_magnitude(dense, type, pattern);
    case Pruning::kZeroSigns:
      return first_by_bits(dense, pattern);
    case Pruning::kSmallest:
      return smallest_of_groups(dense, type, pattern);
    case Pruning::kAlongM:
      return sparsity::prune_by_magnitude(dense.transposed(), type, pattern).transposed();
    case Pruning::kHalved: {
      if (pattern.kept / pattern.run < 2) {
        throw base::InputError("one of a group cannot be halved");
      }
      Pattern halved = pattern;
      halved.kept /= 2;
      return sparsity::prune_by_magnitude(dense, type, halved);
    }
    case Pruning::kGiven:
    case Pruning::kNone:
      break;
  }
  return dense;
}

template <typename T>
base::Matrix<T> rows_of(const base::Matrix<T>& matrix, const std::vector<std::size_t>& rows) {
  base::Matrix<T> result(rows.size(), matrix.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy(matrix.row(rows[i]).begin(), matrix.row(rows[i]).end(), result.row(i).begin());
  }
  return result;
}

/// A as the instruction takes it.
void arrange_a(const KernelData& data, const KernelModel& model, const Selection& selection,
               KernelOperands& operands) {
  const DataType type = model.instruction.a_type;
  const bool sparse = model.instruction.sparse;
  const Reading& reading = model.reading;
  const auto stored = [&](const std::vector<std::size_t>& rows) {
    return gathered(data.a, rows, first_numbers(data.a.cols), reading.a_column_major,
                    reading.a_pitch);
  };
  if (data.is_compressed()) {
    operands.nibbles = rows_of(read_nibbles(data, model), selection.rows);
    operands.a = stored(selection.rows);
    if (!sparse) {
      operands.a = sparsity::decompress(
          {type, sparsity::hardware_pattern(type), data.k, operands.a, operands.nibbles});
    }
    return;
  }
  operands.a = reading.pruning == Pruning::kAlongM  // groups are whole only in the whole matrix
                   ? rows_of(pruned(stored(first_numbers(data.a.rows)), type, reading.pruning),
                             selection.rows)
                   : pruned(stored(selection.rows), type, reading.pruning);
  if (sparse) {
    sparsity::CompressedMatrix compressed = sparsity::compress(operands.a, type);
    operands.a = std::move(compressed.values);
    operands.nibbles = std::move(compressed.nibbles);
  }
}

}  // namespace

Selection Selection::all(const KernelData& data) {
  return {first_numbers(data.m), first_numbers(data.n)};
}

KernelOperands arrange(const KernelData& data, const KernelModel& model,
                       const Selection& selection) {
  KernelOperands operands;
  arrange_a(data, model, selection, operands);
  const Reading& reading = model.reading;
  operands.b_columns = gathered(data.b, first_numbers(data.k), selection.columns,
                                reading.b_column_major, reading.b_pitch)
                           .transposed();
  if (data.c) {
    operands.c = gathered(*data.c, selection.rows, selection.columns, reading.c_column_major);
  }
  operands.d = gathered(data.d, selection.rows, selection.columns, reading.d_column_major);
  if (!data.bias.empty() && model.epilogue.bias_times > 0) {
    const bool of_columns = model.epilogue.bias_of_columns;
    if (data.bias.size() != (of_columns ? data.n : data.m)) {
      throw base::InputError("the bias has not an element for each line of D");
    }
    const auto lines = static_cast<std::ptrdiff_t>(data.bias.size());
    const auto shift =
        static_cast<std::size_t>((model.epilogue.bias_shift % lines + lines) % lines);
    operands.bias = base::Matrix<float>(selection.rows.size(), selection.columns.size());
    for (std::size_t i = 0; i < selection.rows.size(); ++i) {
      for (std::size_t j = 0; j < selection.columns.size(); ++j) {
        const std::size_t line = of_columns ? selection.columns[j] : selection.rows[i];
        operands.bias(i, j) = data.bias[(line + shift) % data.bias.size()];
      }
    }
  }
  return operands;
}

bool reads_alike(const KernelModel& a, const KernelModel& b) {
  const auto reading = [](const KernelModel& model) {
    const bool by_lanes = model.reading.layout == vectors::MetadataLayout::kLanes;
    return std::tuple(model.instruction.sparse, model.instruction.a_type,
                      by_lanes ? model.instruction.shape.k : 0, model.epilogue.bias_times > 0,
                      model.epilogue.bias_of_columns, model.epilogue.bias_shift);
  };
  return a.reading == b.reading && reading(a) == reading(b);
}

KernelOperands taken(const KernelOperands& operands, const Selection& selection) {
  const auto elements = [&](const auto& from) {
    auto result = rows_of(from, from.empty() ? std::vector<std::size_t>{} : selection.rows);
    if (!from.empty()) {
      result = rows_of(result.transposed(), selection.columns).transposed();
    }
    return result;
  };
  KernelOperands result;
  result.a = rows_of(operands.a, selection.rows);
  if (!operands.nibbles.empty()) {
    result.nibbles = rows_of(operands.nibbles, selection.rows);
  }
  result.b_columns = rows_of(operands.b_columns, selection.columns);
  result.c = elements(operands.c);
  result.bias = elements(operands.bias);
  result.d = elements(operands.d);
  return result;
}

}  // namespace sptc::check::kernel
