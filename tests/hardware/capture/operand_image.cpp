// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/operand_image.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"
#include "tests/hardware/capture/wgmma_tile.h"

#include <algorithm>
#include <array>

namespace sptc::hardware {
namespace {

using mma::FragmentCoordinate;
using mma::FragmentOperand;
using mma::FragmentSlot;
using mma::MmaFamily;
using mma::MmaInstruction;
using numerics::DataType;
using Form = RegisterFragment::Form;

constexpr int kWarp = 32;

bool is_wgmma(const MmaInstruction& instruction) {
  return instruction.family == MmaFamily::kWgmma;
}

bool is_volta(const MmaInstruction& instruction) {
  return instruction.shape == mma::MmaShape{8, 8, 4} && instruction.a_type == DataType::kF16;
}

/// Bits that an element takes in the layouts: f64 is dealt out like 32-bit elements.
int layout_bits(DataType type) {
  return std::min(32, numerics::storage_bits(type));
}

RegisterFragment volta_fragment(FragmentOperand operand, DataType type) {
  RegisterFragment fragment{Form::kVolta, {operand, 8, 4, 16}, numerics::storage_bits(type), 2};
  if (operand == FragmentOperand::kB) {
    fragment.layout = {operand, 4, 8, 16};
  } else if (operand == FragmentOperand::kAccumulator) {
    fragment.layout = {operand, 8, 8, fragment.element_bits};
    fragment.registers = 8 * fragment.element_bits / 32;
  }
  return fragment;
}

RegisterFragment fragment_of(const MmaInstruction& instruction, FragmentOperand operand, DataType type) {
  if (is_volta(instruction)) {
    return volta_fragment(operand, type);
  }
  const bool is_a = operand == FragmentOperand::kA;
  const bool is_b = operand == FragmentOperand::kB;
  const mma::MmaShape& shape = instruction.shape;
  RegisterFragment fragment;
  fragment.element_bits = numerics::storage_bits(type);
  fragment.layout = {operand, is_b ? shape.k : shape.m, is_a ? instruction.compressed_k() : shape.n, layout_bits(type)};
  if (is_a && shape.m == 8) {
    fragment.form = Form::kMmaTransposed;
    fragment.layout = {FragmentOperand::kB, instruction.compressed_k(), shape.m, layout_bits(type)};
  }
  if (is_wgmma(instruction)) {
    fragment.form = Form::kWgmma;
    fragment.layout.rows = 16;  // of one warp
  }
  fragment.registers = fragment.layout.registers();
  return fragment;
}

/// Element of an array of raw bits; b1 stands eight to a byte along k.
std::uint64_t element(const check::vectors::BitArray& array, std::size_t index, int row, int col, DataType type,
                      bool k_is_row) {
  const auto i = static_cast<std::size_t>(row);
  const auto j = static_cast<std::size_t>(col);
  if (type != DataType::kB1) {
    return array.at(index, i, j);
  }
  const std::size_t k = k_is_row ? i : j;
  const std::uint64_t byte = k_is_row ? array.at(index, i / 8, j) : array.at(index, i, j / 8);
  return (byte >> (k % 8)) & 1;
}

void put_element(check::vectors::BitArray& array, int row, int col, DataType type, bool k_is_row, std::uint64_t bits) {
  const auto i = static_cast<std::size_t>(row);
  const auto j = static_cast<std::size_t>(col);
  const bool packed = type == DataType::kB1;
  const std::size_t k = k_is_row ? i : j;
  const std::size_t r = packed && k_is_row ? i / 8 : i;
  const std::size_t c = packed && !k_is_row ? j / 8 : j;
  std::uint64_t& word = array.bits[r * array.shape[2] + c];
  word |= packed ? bits << (k % 8) : bits;
}

/// Every element of a fragment: visit(word index, shift, bits, coordinate).
template <typename Visit>
void for_each_element(const RegisterFragment& fragment, Visit&& visit) {
  for (int reg = 0; reg < fragment.registers; ++reg) {
    for (int lane = 0; lane < fragment.lanes(); ++lane) {
      for (int i = 0; i < fragment.elements_per_register(); ++i) {
        const int word = (reg * fragment.lanes() + lane) * fragment.words_per_register();
        visit(static_cast<std::size_t>(word), i * fragment.element_bits, fragment.coordinate({lane, reg, i}));
      }
    }
  }
}

/// A tile of wgmma in shared memory: the rows of A, or the columns of B.
struct TileImage {
  WgmmaTile tile;
  int element_bits;
  bool of_columns;

  int words() const { return tile.bytes() / 4; }
};

TileImage tile_of_a(const MmaInstruction& instruction) {
  const int bits = numerics::storage_bits(instruction.a_type);
  return {{kWgmmaRows, instruction.compressed_k() * bits / 8}, bits, false};
}

TileImage tile_of_b(const MmaInstruction& instruction) {
  const int bits = numerics::storage_bits(instruction.b_type);
  return {{kWgmmaColumns, instruction.shape.k * bits / 8}, bits, true};
}

template <typename Visit>
void for_each_element(const TileImage& image, Visit&& visit) {
  for (int line = 0; line < image.tile.rows; ++line) {
    for (int k = 0; k < image.tile.row_bytes * 8 / image.element_bits; ++k) {
      const int bit = k * image.element_bits;
      const int offset = image.tile.offset(line, bit / 8);
      visit(static_cast<std::size_t>(offset / 4), offset % 4 * 8 + bit % 8,
            image.of_columns ? FragmentCoordinate{k, line} : FragmentCoordinate{line, k});
    }
  }
}

template <typename Image, typename ElementAt>
void pack(const Image& image, std::vector<std::uint32_t>& words, ElementAt at) {
  const std::size_t first = words.size();
  words.resize(first + static_cast<std::size_t>(image.words()), 0);
  for_each_element(image, [&](std::size_t word, int shift, FragmentCoordinate where) {
    // Published sets hold 4-bit elements sign-extended to bytes.
    const std::uint64_t bits = at(where.row, where.col) & (~0ULL >> (64 - image.element_bits));
    if (image.element_bits == 64) {
      words[first + word] = static_cast<std::uint32_t>(bits);
      words[first + word + 1] = static_cast<std::uint32_t>(bits >> 32);
    } else {
      words[first + word] |= static_cast<std::uint32_t>(bits) << shift;
    }
  });
}

template <typename Image, typename Put>
void unpack(const Image& image, const std::vector<std::uint32_t>& words, std::size_t index, Put put) {
  const std::size_t first = index * static_cast<std::size_t>(image.words());
  for_each_element(image, [&](std::size_t word, int shift, FragmentCoordinate where) {
    std::uint64_t bits = words.at(first + word);
    if (image.element_bits == 64) {
      bits |= static_cast<std::uint64_t>(words.at(first + word + 1)) << 32;
    } else {
      bits = bits >> shift & (0xFFFFFFFFULL >> (32 - image.element_bits));
    }
    put(where.row, where.col, bits);
  });
}

sparsity::MetadataRegisterFormat metadata_format(const MmaInstruction& instruction) {
  return sparsity::metadata_register_format(instruction.a_type, instruction.shape.k);
}

}  // namespace

FragmentCoordinate RegisterFragment::volta(const FragmentSlot& slot) const {
  // PTX ISA, "Matrix fragments for mma.m8n8k4 with .f16": low = lane % 4, high = lane / 16.
  const int low = slot.lane & 3;
  const int high = slot.lane >> 4;
  const int i = slot.reg * elements_per_register() + slot.element;
  if (layout.operand == FragmentOperand::kB) {
    return {i, low + 4 * high};
  }
  if (layout.operand == FragmentOperand::kAccumulator && element_bits == 32) {
    return {(low & 1) + (i & 2) + 4 * high, (i & 4) + (low & 2) + (i & 1)};
  }
  return {low + 4 * high, i};
}

FragmentCoordinate RegisterFragment::coordinate(const FragmentSlot& slot) const {
  switch (form) {
    case Form::kVolta:
      return volta(slot);
    case Form::kMmaTransposed: {
      const FragmentCoordinate where = layout.coordinate(slot);
      return {where.col, where.row};
    }
    case Form::kWgmma: {
      FragmentCoordinate where = layout.coordinate({slot.lane % kWarp, slot.reg, slot.element});
      where.row += 16 * (slot.lane / kWarp);
      return where;
    }
    case Form::kMma:
      break;
  }
  return layout.coordinate(slot);
}

OperandImage::OperandImage(const MmaInstruction& instruction)
    : instruction_(instruction),
      a_(fragment_of(instruction, FragmentOperand::kA, instruction.a_type)),
      b_(fragment_of(instruction, FragmentOperand::kB, instruction.b_type)),
      c_(fragment_of(instruction, FragmentOperand::kAccumulator, instruction.c_type())),
      d_(fragment_of(instruction, FragmentOperand::kAccumulator, instruction.accumulator)) {
  const mma::MmaShape& shape = instruction.shape;
  const bool mma =
      instruction.family == MmaFamily::kMma && shape.n == 8 && (shape.m == 16 || (shape.m == 8 && !instruction.sparse));
  const bool wgmma = is_wgmma(instruction) && shape.m == kWgmmaRows && shape.n == kWgmmaColumns;
  if ((!mma && !wgmma) || instruction.scales) {
    throw base::InputError("the kit has no operand layout for " + instruction.ptx_name());
  }
  if (instruction.sparse) {
    metadata_format(instruction);  // throws where there is none
  }
}

int OperandImage::selectors() const {
  return instruction_.sparse ? metadata_format(instruction_).selectors() : 1;
}

int OperandImage::groups() const {
  return metadata_format(instruction_).groups();
}

int OperandImage::words_of_a() const {
  return is_wgmma(instruction_) ? tile_of_a(instruction_).words() : a_.words();
}

int OperandImage::words_of_b() const {
  return is_wgmma(instruction_) ? tile_of_b(instruction_).words() : b_.words();
}

void OperandImage::append(const check::vectors::MmaOperands& operands, std::size_t index, MmaLaunch& launch) const {
  const auto a_at = [&](int row, int k) { return element(operands.a, index, row, k, instruction_.a_type, false); };
  const auto b_at = [&](int k, int col) { return element(operands.b, index, k, col, instruction_.b_type, true); };
  if (is_wgmma(instruction_)) {
    pack(tile_of_a(instruction_), launch.a, a_at);
    pack(tile_of_b(instruction_), launch.b, b_at);
  } else {
    pack(a_, launch.a, a_at);
    pack(b_, launch.b, b_at);
  }
  pack(c_, launch.c, [&](int row, int col) {
    return operands.c.at(index, static_cast<std::size_t>(row), static_cast<std::size_t>(col));
  });
  launch.d_words += static_cast<std::size_t>(d_.words());
  ++launch.cases;
}

std::vector<std::uint32_t> OperandImage::metadata(const base::Matrix<std::uint8_t>& nibbles, int selector,
                                                  const std::vector<std::uint32_t>& others) const {
  const auto format = metadata_format(instruction_);
  std::vector<std::uint32_t> words;
  for (int warp = 0; warp < lanes() / kWarp; ++warp) {
    const sparsity::LaneWords registers =
        sparsity::gather_metadata(format, selector, nibbles, static_cast<std::size_t>(16 * warp), 0);
    for (int lane = 0; lane < kWarp; ++lane) {
      const bool counts = lane % 4 / format.lanes_per_quad() == selector;
      words.push_back(counts ? registers[static_cast<std::size_t>(lane)]
                             : others.at(static_cast<std::size_t>(warp * kWarp + lane)));
    }
  }
  return words;
}

check::vectors::MmaOperands OperandImage::operands(const MmaLaunch& launch, std::size_t index) const {
  const auto m = static_cast<std::size_t>(instruction_.shape.m);
  const auto n = static_cast<std::size_t>(instruction_.shape.n);
  const auto k = static_cast<std::size_t>(instruction_.shape.k);
  const auto stored = static_cast<std::size_t>(instruction_.compressed_k());
  const std::size_t packing = instruction_.a_type == DataType::kB1 ? 8 : 1;
  check::vectors::MmaOperands result{
      check::vectors::make_bit_array({1, m, stored / packing}, check::vectors::element_bytes(instruction_.a_type)),
      check::vectors::make_bit_array({1, k / packing, n}, check::vectors::element_bytes(instruction_.b_type)),
      check::vectors::make_bit_array({1, m, n}, check::vectors::element_bytes(instruction_.c_type()))};
  const auto put_a = [&](int row, int col, std::uint64_t bits) {
    put_element(result.a, row, col, instruction_.a_type, false, bits);
  };
  const auto put_b = [&](int row, int col, std::uint64_t bits) {
    put_element(result.b, row, col, instruction_.b_type, true, bits);
  };
  if (is_wgmma(instruction_)) {
    unpack(tile_of_a(instruction_), launch.a, index, put_a);
    unpack(tile_of_b(instruction_), launch.b, index, put_b);
  } else {
    // The quad pairs of Volta hold the same operands: written four times, which or-ing forgives.
    unpack(a_, launch.a, index, put_a);
    unpack(b_, launch.b, index, put_b);
  }
  unpack(c_, launch.c, index, [&](int row, int col, std::uint64_t bits) {
    put_element(result.c, row, col, instruction_.c_type(), false, bits);
  });
  if (instruction_.sparse) {
    const base::Matrix<std::uint8_t> metadata = nibbles(launch, index);
    result.indices = check::vectors::make_bit_array({1, m, stored}, 4);
    result.indices->bits = indices_of(metadata, instruction_.a_type);
    if (instruction_.a_type == DataType::kTf32) {
      result.nibbles.push_back(metadata);
    }
  }
  return result;
}

base::Matrix<std::uint8_t> OperandImage::nibbles(const MmaLaunch& launch, std::size_t index) const {
  const auto format = metadata_format(instruction_);
  base::Matrix<std::uint8_t> result(static_cast<std::size_t>(instruction_.shape.m),
                                    static_cast<std::size_t>(format.groups()));
  for (int warp = 0; warp < lanes() / kWarp; ++warp) {
    sparsity::LaneWords words;
    const std::size_t first = index * static_cast<std::size_t>(lanes()) + static_cast<std::size_t>(warp * kWarp);
    for (std::size_t lane = 0; lane < words.size(); ++lane) {
      words[lane] = launch.metadata.at(first + lane);
    }
    const base::Matrix<std::uint8_t> rows = sparsity::read_metadata(format, launch.selector, words);
    std::copy_n(rows.data(), rows.size(), result.data() + static_cast<std::size_t>(warp) * rows.size());
  }
  return result;
}

std::vector<std::uint64_t> OperandImage::result(const std::vector<std::uint32_t>& d, std::size_t index) const {
  const auto n = static_cast<std::size_t>(instruction_.shape.n);
  std::vector<std::uint64_t> words(static_cast<std::size_t>(instruction_.shape.m) * n);
  std::vector<bool> seen(words.size(), false);
  unpack(d_, d, index, [&](int row, int col, std::uint64_t bits) {
    const std::size_t at = static_cast<std::size_t>(row) * n + static_cast<std::size_t>(col);
    if (seen[at] && words[at] != bits) {
      throw base::InputError(instruction_.ptx_name() + ": the quad pairs returned different words");
    }
    seen[at] = true;
    words[at] = bits;
  });
  return words;
}

std::vector<std::uint32_t> OperandImage::registers_of_result(const std::vector<std::uint64_t>& d) const {
  std::vector<std::uint32_t> words;
  pack(d_, words, [&](int row, int col) { return d.at(static_cast<std::size_t>(row * instruction_.shape.n + col)); });
  return words;
}

std::vector<std::uint64_t> indices_of(const base::Matrix<std::uint8_t>& nibbles, DataType type) {
  const sparsity::Pattern pattern = sparsity::hardware_pattern(type);
  std::vector<std::uint64_t> indices;
  indices.reserve(nibbles.size() * static_cast<std::size_t>(pattern.kept));
  for (std::size_t row = 0; row < nibbles.rows(); ++row) {
    for (std::size_t group = 0; group < nibbles.cols(); ++group) {
      for (int slot = 0; slot < pattern.kept; ++slot) {
        indices.push_back(group * static_cast<std::size_t>(pattern.group) +
                          static_cast<std::size_t>(sparsity::selected_position(nibbles(row, group), slot, pattern)));
      }
    }
  }
  return indices;
}

base::Matrix<std::uint8_t> nibbles_of(const std::vector<std::uint64_t>& indices, std::size_t rows, DataType type) {
  const sparsity::Pattern pattern = sparsity::hardware_pattern(type);
  const auto kept = static_cast<std::size_t>(pattern.kept);
  base::Matrix<std::uint8_t> nibbles(rows, indices.size() / rows / kept);
  for (std::size_t i = 0; i < nibbles.size(); ++i) {
    std::array<std::uint64_t, 2> choice{};
    for (std::size_t c = 0; c < static_cast<std::size_t>(pattern.choices()); ++c) {
      const std::uint64_t position =
          indices[i * kept + c * static_cast<std::size_t>(pattern.run)] % static_cast<std::uint64_t>(pattern.group);
      choice[c] = position / static_cast<std::uint64_t>(pattern.run);
    }
    nibbles.data()[i] = static_cast<std::uint8_t>(pattern.candidates() == 2 ? (choice[0] == 0 ? 0b0100 : 0b1110)
                                                                            : choice[0] | choice[1] << 2);
  }
  return nibbles;
}

}  // namespace sptc::hardware
