// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/metadata_input.h"

#include "models/base/error.h"
#include "models/base/matrix.h"
#include "models/mma/instruction.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/metadata_register.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <vector>

namespace sptc::check::vectors {
namespace {

using mma::MmaInstruction;

constexpr std::size_t kLanes = 32;
constexpr std::size_t kRowTile = 16;

/// The extents that decide the shape of metadata.
struct Extents {
  std::size_t cases, rows, stored_k, groups;
};

/// Names by MetadataLayout.
constexpr std::array<std::string_view, 8> kNames{
    "canonical", "cutlass", "ptx", "indices", "marlin", "cutlass-sm90", "cutlass-sm90-k64", "cutlass-sm100"};

sparsity::MetadataForm form_of(MetadataLayout layout, numerics::DataType type) {
  return sparsity::find_metadata_form(kNames[static_cast<std::size_t>(layout)], type).value();
}

sparsity::MetadataForm form_of(const MetadataInput& input, const MmaInstruction& instruction) {
  sparsity::MetadataForm form = form_of(input.layout, instruction.a_type);
  if (input.layout == MetadataLayout::kLanes) {
    form.logical_k = instruction.shape.k;
    form.selector = input.selector;
  }
  return form;
}

void require_elements(const MetadataInput& input, const Extents& extents, const MmaInstruction& instruction,
                      const std::string& what) {
  const bool lanes = input.layout == MetadataLayout::kLanes;
  const int element_bits = 8 * metadata_element_bytes(input.layout, instruction.a_type);
  std::size_t per_case = extents.rows * extents.groups * 4 / static_cast<std::size_t>(element_bits);
  if (lanes) {
    const auto format = sparsity::metadata_register_format(instruction.a_type, instruction.shape.k);
    if (instruction.family == mma::MmaFamily::kTcgen05 || extents.rows % kRowTile != 0) {
      io::refuse("{}: lanes are registers of a warp for 16 rows; {} rows of {} need another layout", what, extents.rows,
                 instruction.ptx_name());
    }
    per_case = extents.rows / kRowTile * (extents.groups / static_cast<std::size_t>(format.groups())) * kLanes;
  }
  if (input.array.shape.empty() || input.array.shape[0] != extents.cases ||
      input.array.bits.size() != extents.cases * per_case || input.array.element_bytes * 8 != element_bits) {
    io::refuse("{}: metadata must hold {} elements of {} bits for each of {} cases, not [{}] of {} bits", what,
               per_case, element_bits, extents.cases, fmt::join(input.array.shape, ", "),
               input.array.element_bytes * 8);
  }
}

}  // namespace

MetadataLayout parse_metadata_layout(std::string_view name) {
  const std::string_view word = name == "pytorch" ? "cutlass" : sparsity::layout_word(name);
  return static_cast<MetadataLayout>(io::place_among(kNames, word, "unknown metadata layout"));
}

int metadata_element_bytes(MetadataLayout layout, numerics::DataType type) {
  return sparsity::metadata_word_bits(form_of(layout, type)) / 8;
}

base::Matrix<std::uint8_t> metadata_nibbles(const MetadataInput& input, const MmaInstruction& instruction,
                                            const std::vector<std::size_t>& a_shape, std::size_t index,
                                            const std::string& what) {
  base::ensure(a_shape.size() == 3, "metadata_nibbles: A has three axes");
  base::ensure(input.layout != MetadataLayout::kIndices, "metadata_nibbles: indices are no nibbles");
  const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
  const Extents extents{a_shape[0], a_shape[1], a_shape[2], a_shape[2] / static_cast<std::size_t>(pattern.kept)};
  require_elements(input, extents, instruction, what);
  const std::size_t count = input.array.bits.size() / extents.cases;
  const auto first = input.array.bits.begin() + static_cast<std::ptrdiff_t>(index * count);
  const std::vector<std::uint32_t> words(first, first + static_cast<std::ptrdiff_t>(count));
  return sparsity::unpack_metadata(words, extents.rows, extents.groups, form_of(input, instruction));
}

BitArray element_indices(const MetadataInput& input, const MmaInstruction& instruction,
                         const std::vector<std::size_t>& a_shape, const std::string& what) {
  base::ensure(a_shape.size() == 3, "element_indices: A has three axes");
  if (!instruction.sparse) {
    throw base::InputError(what + ": " + instruction.ptx_name() + " is dense and takes no metadata");
  }
  if (input.layout == MetadataLayout::kIndices) {
    return input.array;
  }
  const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
  const sparsity::SelectionTable selection(instruction.a_type);
  BitArray indices = make_bit_array(a_shape, 4);
  auto next = indices.bits.begin();
  for (std::size_t index = 0; index < a_shape[0]; ++index) {
    const base::Matrix<std::uint8_t> nibbles = metadata_nibbles(input, instruction, a_shape, index, what);
    for (std::size_t row = 0; row < a_shape[1]; ++row) {
      for (std::size_t t = 0; t < a_shape[2]; ++t) {
        const std::size_t group = t / selection.kept;
        if (!sparsity::is_valid_nibble(nibbles(row, group), pattern)) {
          io::refuse("{}: case {}, row {}, group {}: metadata {:#06b} is invalid", what, index, row, group,
                     nibbles(row, group));
        }
        *next++ = selection.logical(t, nibbles(row, group));
      }
    }
  }
  return indices;
}

}  // namespace sptc::check::vectors
