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
using Lines = std::vector<std::size_t>;

/// The same bytes as elements of `bytes` each, little-endian.
vectors::BitArray resized_elements(const vectors::BitArray& array, int bytes) {
  const auto from = static_cast<std::size_t>(array.element_bytes), to = static_cast<std::size_t>(bytes);
  const std::size_t total = array.bits.size() * from;
  if (total % to != 0) {
    throw base::InputError("metadata does not hold whole elements of " + std::to_string(bytes) + " bytes");
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
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  std::uint64_t result = 0;
  for (int at = 0; at < 64; at += 2 * width) {
    result |= (bits >> at & mask) << (at + width) | (bits >> (at + width) & mask) << at;
  }
  return result;
}

std::uint8_t nibble_of_indices(const std::uint64_t* indices, const Pattern& pattern, std::size_t row,
                               std::size_t group) {
  const auto size = static_cast<std::size_t>(pattern.group);
  unsigned nibble = 0;
  for (int choice = 0; choice < pattern.choices(); ++choice) {
    const std::uint64_t index = indices[choice * pattern.run];
    if (index / size != group) {
      throw base::InputError("metadata index " + std::to_string(index) + " of row " + std::to_string(row) +
                             " is outside its group");
    }
    const auto position = static_cast<unsigned>(index % size) / static_cast<unsigned>(pattern.run);
    nibble |= pattern.candidates() == 2 ? (position == 0 ? 0x4U : 0xEU) : position << (2 * choice);
  }
  return static_cast<std::uint8_t>(nibble);
}

base::Matrix<std::uint8_t> read_nibbles(const KernelData& data, const KernelModel& model) {
  const DataType type = model.instruction.a_type;
  const Pattern pattern = sparsity::hardware_pattern(type);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  base::Matrix<std::uint8_t> nibbles(data.m, data.a.cols / kept, sparsity::kEmptyGroupNibble);
  const int width = static_cast<int>(model.reading.scramble);
  const vectors::MetadataInput& stored = *data.metadata;
  if (model.reading.scramble == Scramble::kIgnored) {
    return nibbles;
  }
  if (stored.layout == vectors::MetadataLayout::kIndices) {
    if (width > 2) {
      throw base::InputError("indices are not packed");
    }
    for (std::size_t i = 0; i < nibbles.size(); ++i) {
      const std::uint8_t nibble =
          nibble_of_indices(&stored.array.bits[i * kept], pattern, i / nibbles.cols(), i % nibbles.cols());
      nibbles.data()[i] = width == 2 ? static_cast<std::uint8_t>(exchange(nibble, 2) & 0xF) : nibble;
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
  return vectors::metadata_nibbles({resized_elements(array, bytes), model.reading.layout, model.reading.selector},
                                   model.instruction, {1, data.m, data.a.cols}, 0,
                                   "A of [" + std::to_string(data.m) + ", " + std::to_string(data.a.cols) + "]");
}

/// The elements of `rows` x `columns` that a kernel finds in `memory`.
base::Matrix<Word> gathered(const StoredMatrix& memory, const Lines& rows, const Lines& columns, bool column_major,
                            std::size_t pitch = 0) {
  base::Matrix<Word> result(rows.size(), columns.size());
  Selection{rows, columns}.each([&](std::size_t row, std::size_t column, std::size_t i, std::size_t j) {
    result(i, j) = memory.at(row, column, column_major, pitch);
  });
  return result;
}

Lines first_numbers(std::size_t count) {
  Lines numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

base::Matrix<Word> pruned(const base::Matrix<Word>& dense, DataType type, Pruning pruning) {
  Pattern pattern = sparsity::hardware_pattern(type);
  base::Matrix<Word> result = dense;
  switch (pruning) {
    case Pruning::kGiven:
    case Pruning::kNone:
      break;
    case Pruning::kMagnitude:
      return sparsity::prune_by_magnitude(dense, type, pattern);
    case Pruning::kZeroSigns:
      for (std::size_t i = 0, kept = 0; i < result.size(); ++i) {
        kept = i % static_cast<std::size_t>(pattern.group) == 0 ? 0 : kept;
        Word& word = result.data()[i];
        word = word != 0 && kept++ < static_cast<std::size_t>(pattern.kept) ? word : 0;
      }
      break;
    case Pruning::kSmallest: {
      const base::Matrix<Word> largest = sparsity::prune_by_magnitude(dense, type, pattern);
      for (std::size_t i = 0; i < result.size(); ++i) {
        result.data()[i] = largest.data()[i] == 0 ? dense.data()[i] : 0;
      }
      break;
    }
    case Pruning::kAlongM:
      return sparsity::prune_by_magnitude(dense.transposed(), type, pattern).transposed();
    case Pruning::kHalved:
      if (pattern.kept / pattern.run < 2) {
        throw base::InputError("one of a group cannot be halved");
      }
      pattern.kept /= 2;
      return sparsity::prune_by_magnitude(dense, type, pattern);
  }
  return result;
}

template <typename T>
base::Matrix<T> rows_of(const base::Matrix<T>& matrix, const Lines& rows) {
  base::Matrix<T> result(matrix.empty() ? 0 : rows.size(), matrix.cols());
  for (std::size_t i = 0; i < result.rows(); ++i) {
    std::ranges::copy(matrix.row(rows[i]), result.row(i).begin());
  }
  return result;
}

/// A as the instruction takes it.
void arrange_a(const KernelData& data, const KernelModel& model, const Lines& rows, KernelOperands& operands) {
  const DataType type = model.instruction.a_type;
  const Reading& reading = model.reading;
  const auto stored = [&](const Lines& wanted) {
    return gathered(data.a, wanted, first_numbers(data.a.cols), reading.a_column_major, reading.a_pitch);
  };
  if (data.is_compressed()) {
    operands.nibbles = rows_of(read_nibbles(data, model), rows);
    operands.a = stored(rows);
    if (!model.instruction.sparse) {
      operands.a = sparsity::decompress({type, sparsity::hardware_pattern(type), data.k, operands.a, operands.nibbles});
    }
    return;
  }
  operands.a = reading.pruning == Pruning::kAlongM  // groups are whole only in the whole matrix
                   ? rows_of(pruned(stored(first_numbers(data.a.rows)), type, reading.pruning), rows)
                   : pruned(stored(rows), type, reading.pruning);
  if (model.instruction.sparse) {
    sparsity::CompressedMatrix compressed = sparsity::compress(operands.a, type);
    operands.a = std::move(compressed.values);
    operands.nibbles = std::move(compressed.nibbles);
  }
}

/// Units of `width` columns of `from`, beginning with those that `begins` says; `empty` where it has zeros.
template <typename T>
base::Matrix<T> units_of(const base::Matrix<T>& from, const KMap& map, std::int64_t KPart::*begins, std::size_t width,
                         T empty) {
  std::size_t units = 0;
  for (const KPart& part : map) {
    units += part.count;
  }
  base::Matrix<T> result(from.rows(), units * width, empty);
  for (std::size_t row = 0; row < from.rows(); ++row) {
    auto target = result.row(row).begin();
    for (const KPart& part : map) {
      if (part.*begins >= 0) {
        const auto source = from.row(row).begin() + part.*begins * static_cast<std::int64_t>(width);
        std::copy_n(source, part.count * width, target);
      }
      target += static_cast<std::ptrdiff_t>(part.count * width);
    }
  }
  return result;
}

}  // namespace

Selection Selection::all(const KernelData& data) {
  return {first_numbers(data.m), first_numbers(data.n)};
}

std::size_t unit_of(const mma::MmaInstruction& instruction) {
  return instruction.sparse ? static_cast<std::size_t>(sparsity::hardware_pattern(instruction.a_type).group) : 1;
}

KernelOperands rearranged(const KernelOperands& operands, const KMap& map, const mma::MmaInstruction& instruction) {
  const int kept = instruction.sparse ? sparsity::hardware_pattern(instruction.a_type).kept : 1;
  KernelOperands result;
  result.a = units_of(operands.a, map, &KPart::a, static_cast<std::size_t>(kept), Word{0});
  if (instruction.sparse) {
    result.nibbles = units_of(operands.nibbles, map, &KPart::a, 1, sparsity::kEmptyGroupNibble);
  }
  result.b_columns = units_of(operands.b_columns, map, &KPart::b, unit_of(instruction), Word{0});
  return result;
}

KernelOperands arrange(const KernelData& data, const KernelModel& model, const Selection& selection) {
  KernelOperands operands;
  arrange_a(data, model, selection.rows, operands);
  const Reading& reading = model.reading;
  const auto& [rows, columns] = selection;
  operands.b_columns =
      gathered(data.b, first_numbers(data.k), columns, reading.b_column_major, reading.b_pitch).transposed();
  if (data.c) {
    operands.c = gathered(*data.c, rows, columns, reading.c_column_major, reading.c_pitch);
  }
  operands.d = gathered(data.d, rows, columns, reading.d_column_major);
  if (!data.bias.empty() && model.epilogue.bias_times != 0) {
    const bool of_columns = model.epilogue.bias_of_columns;
    if (data.bias.size() != (of_columns ? data.n : data.m)) {
      throw base::InputError("the bias has not an element for each line of D");
    }
    const auto lines = static_cast<std::ptrdiff_t>(data.bias.size());
    const auto shift = static_cast<std::size_t>((model.epilogue.bias_shift % lines + lines) % lines);
    operands.bias = base::Matrix<float>(rows.size(), columns.size());
    selection.each([&](std::size_t row, std::size_t column, std::size_t i, std::size_t j) {
      const float value = data.bias[((of_columns ? column : row) + shift) % data.bias.size()];
      const auto& through = model.epilogue.bias_through;
      operands.bias(i, j) = through ? static_cast<float>(numerics::rounded(value, *through)) : value;
    });
  }
  return operands;
}

bool reads_alike(const KernelModel& a, const KernelModel& b) {
  const auto reading = [](const KernelModel& model) {
    const bool by_lanes = model.reading.layout == vectors::MetadataLayout::kLanes;
    const Epilogue& epilogue = model.epilogue;
    return std::tuple(model.instruction.sparse, model.instruction.a_type, by_lanes ? model.instruction.shape.k : 0,
                      epilogue.bias_times != 0, epilogue.bias_of_columns, epilogue.bias_shift, epilogue.bias_through);
  };
  return a.reading == b.reading && reading(a) == reading(b);
}

KernelOperands taken(const KernelOperands& operands, const Selection& selection) {
  const auto elements = [&](const auto& from) {
    return rows_of(rows_of(from, selection.rows).transposed(), selection.columns).transposed();
  };
  return {rows_of(operands.a, selection.rows),
          rows_of(operands.nibbles, selection.rows),
          rows_of(operands.b_columns, selection.columns),
          elements(operands.c),
          elements(operands.bias),
          elements(operands.d)};
}

std::vector<std::size_t> positions_in_k(const KernelModel& model, const KernelOperands& operands, std::size_t row) {
  Lines positions = first_numbers(operands.a.cols());
  if (!model.instruction.sparse) {
    return positions;
  }
  const Pattern pattern = sparsity::hardware_pattern(model.instruction.a_type);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  for (std::size_t t = 0; t < positions.size(); ++t) {
    const int slot = static_cast<int>(t % kept);
    positions[t] =
        t / kept * static_cast<std::size_t>(pattern.group) +
        static_cast<std::size_t>(sparsity::selected_position(operands.nibbles(row, t / kept), slot, pattern));
  }
  return positions;
}

}  // namespace sptc::check::kernel
