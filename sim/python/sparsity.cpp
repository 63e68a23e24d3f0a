// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/prune.h"
#include "sim/io/text_file.h"
#include "sim/python/arrays.h"
#include "sim/python/bindings.h"
#include "sim/python/instruction_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nanobind/stl/string.h>
#include <string>
#include <string_view>
#include <vector>

namespace nb = nanobind;

namespace sptc::python {
namespace {

using numerics::DataType;
using numerics::Word;

/// Layouts of metadata that this package knows, beside the indices of elements.
enum class Layout { kNibbles, kCanonical, kReordered, kLanes, kMarlin };

Layout parse_layout(const std::string& name) {
  constexpr std::array<std::string_view, 5> kNames{"nibbles", "canonical", "cutlass", "ptx",
                                                   "marlin"};
  const auto found = std::find(kNames.begin(), kNames.end(), sparsity::layout_word(name));
  if (found == kNames.end()) {
    throw base::InputError("unknown metadata layout " +
                           base::unknown_name(io::printable(name), kNames));
  }
  return static_cast<Layout>(found - kNames.begin());
}

/// What a layout is written for.
struct LayoutOf {
  DataType type;
  Layout layout;
  int instruction_k = 0;  ///< lanes: logical k of mma.sp
  int selector = 0;       ///< lanes
};

LayoutOf layout_of(const std::string& type, const std::string& layout, int instruction_k,
                   int selector) {
  return {data_type(type), parse_layout(layout), instruction_k, selector};
}

sparsity::RowOrder row_order(const LayoutOf& of) {
  return of.layout == Layout::kMarlin ? sparsity::RowOrder::kMarlin : sparsity::RowOrder::kCutlass;
}

void write_nibbles(const base::Matrix<std::uint8_t>& nibbles, const Output& out) {
  const std::vector<Word> words(nibbles.data(), nibbles.data() + nibbles.size());
  write_words(words, out);
}

base::Matrix<std::uint8_t> nibbles_of(const Bits& array) {
  const base::Matrix<Word> words = words_of(array, "metadata");
  base::Matrix<std::uint8_t> nibbles(words.rows(), words.cols());
  std::transform(words.data(), words.data() + words.size(), nibbles.data(),
                 [](Word word) { return static_cast<std::uint8_t>(word); });
  return nibbles;
}

void require_element_size(const Bits& array, int bits) {
  if (static_cast<int>(array.itemsize()) * 8 != bits) {
    throw base::InputError(
        fmt::format("metadata: elements must have {} bits, not {}", bits, array.itemsize() * 8));
  }
}

/// Registers [row tile, k tile, 32] of mma.sp.
base::Matrix<std::uint8_t> nibbles_of_lanes(const Bits& array, const LayoutOf& from) {
  require_element_size(array, 32);
  if (array.ndim() != 3 || array.shape(2) != std::tuple_size_v<sparsity::LaneWords>) {
    throw base::InputError("metadata: lanes must be [row tiles, k tiles, 32]");
  }
  const std::vector<std::uint64_t> bits = bit_array_of(array).bits;
  sparsity::LaneMetadata lanes;
  lanes.type = from.type;
  lanes.format = sparsity::metadata_register_format(from.type, from.instruction_k);
  lanes.first_selector = from.selector;
  lanes.row_tiles = array.shape(0);
  lanes.k_tiles = array.shape(1);
  lanes.registers.resize(lanes.row_tiles * lanes.k_tiles);
  auto next = bits.begin();
  for (sparsity::LaneWords& words : lanes.registers) {
    for (std::uint32_t& word : words) {
      word = static_cast<std::uint32_t>(*next++);
    }
  }
  return sparsity::unpack_canonical(sparsity::to_canonical(lanes));
}

/// Nibbles [m, groups] of metadata [m, elements] (reordered: the same extents, other places).
base::Matrix<std::uint8_t> read_metadata(const Bits& array, const LayoutOf& from) {
  if (from.layout == Layout::kNibbles) {
    return nibbles_of(array);
  }
  if (from.layout == Layout::kLanes) {
    return nibbles_of_lanes(array, from);
  }
  require_element_size(array, sparsity::metadata_element_bits(from.type));
  const base::Matrix<Word> elements = words_of(array, "metadata");
  if (from.layout == Layout::kCanonical) {
    return sparsity::unpack_canonical({from.type, elements});
  }
  return sparsity::unpack_canonical(sparsity::to_canonical(sparsity::ReorderedMetadata{
      from.type, elements.rows(), elements.cols(),
      std::vector<std::uint32_t>(elements.data(), elements.data() + elements.size()),
      row_order(from)}));
}

nb::tuple shape_of(const base::Matrix<std::uint8_t>& nibbles, const LayoutOf& to) {
  const std::size_t groups = nibbles.cols();
  if (to.layout == Layout::kNibbles) {
    return nb::make_tuple(nibbles.rows(), groups);
  }
  if (to.layout == Layout::kLanes) {
    const auto format = sparsity::metadata_register_format(to.type, to.instruction_k);
    return nb::make_tuple(nibbles.rows() / 16, groups / static_cast<std::size_t>(format.groups()),
                          std::tuple_size_v<sparsity::LaneWords>);
  }
  const auto per_element = static_cast<std::size_t>(sparsity::metadata_element_bits(to.type)) / 4;
  return nb::make_tuple(nibbles.rows(), groups / per_element);
}

/// The words of `nibbles` in another layout, row-major.
std::vector<Word> metadata_words(const base::Matrix<std::uint8_t>& nibbles, const LayoutOf& to) {
  if (to.layout == Layout::kNibbles) {
    return {nibbles.data(), nibbles.data() + nibbles.size()};
  }
  const sparsity::CanonicalMetadata canonical = sparsity::pack_canonical(nibbles, to.type);
  if (to.layout == Layout::kCanonical) {
    const base::Matrix<Word>& elements = canonical.elements;
    return {elements.data(), elements.data() + elements.size()};
  }
  if (to.layout == Layout::kReordered || to.layout == Layout::kMarlin) {
    return sparsity::to_reordered(canonical, row_order(to)).elements;
  }
  std::vector<Word> words;
  for (const auto& lanes : sparsity::to_lanes(canonical, to.instruction_k, to.selector).registers) {
    words.insert(words.end(), lanes.begin(), lanes.end());
  }
  return words;
}

void prune(const std::string& type, const Bits& dense, const Output& out) {
  const DataType element = data_type(type);
  const nb::gil_scoped_release unlocked;
  const base::Matrix<Word> pruned = sparsity::prune_by_magnitude(words_of(dense, "A"), element);
  write_words(std::span<const Word>(pruned.data(), pruned.size()), out);
}

void compress(const std::string& type, const Bits& dense, const Output& values,
              const Output& nibbles) {
  const DataType element = data_type(type);
  const nb::gil_scoped_release unlocked;
  const auto compressed = sparsity::compress(words_of(dense, "A"), element);
  write_words(std::span<const Word>(compressed.values.data(), compressed.values.size()), values);
  write_nibbles(compressed.nibbles, nibbles);
}

void decompress(const std::string& type, const Bits& values, const Bits& nibbles,
                const Output& dense) {
  sparsity::CompressedMatrix compressed;
  compressed.type = data_type(type);
  const nb::gil_scoped_release unlocked;
  compressed.pattern = sparsity::hardware_pattern(compressed.type);
  compressed.values = words_of(values, "values");
  compressed.nibbles = nibbles_of(nibbles);
  compressed.logical_k =
      compressed.nibbles.cols() * static_cast<std::size_t>(compressed.pattern.group);
  const base::Matrix<Word> result = sparsity::decompress(compressed);
  write_words(std::span<const Word>(result.data(), result.size()), dense);
}

nb::dict pattern_of(const std::string& type) {
  const sparsity::Pattern pattern = sparsity::hardware_pattern(data_type(type));
  nb::dict result;
  result["name"] = pattern.name();
  result["kept"] = pattern.kept;
  result["group"] = pattern.group;
  result["metadata_bits"] = sparsity::metadata_element_bits(data_type(type));
  return result;
}

}  // namespace

void bind_sparsity(nb::module_& module) {
  module.def("pattern", pattern_of);
  module.def("prune", prune);
  module.def("compress", compress);
  module.def("decompress", decompress);
  module.def("metadata_shape",
             [](const Bits& array, const std::string& type, const std::string& from,
                const std::string& to, int instruction_k, int selector) {
               return shape_of(read_metadata(array, layout_of(type, from, instruction_k, selector)),
                               layout_of(type, to, instruction_k, selector));
             });
  module.def("convert_metadata", [](const Bits& array, const std::string& type,
                                    const std::string& from, const std::string& to,
                                    int instruction_k, int selector, const Output& out) {
    write_words(metadata_words(read_metadata(array, layout_of(type, from, instruction_k, selector)),
                               layout_of(type, to, instruction_k, selector)),
                out);
  });
}

}  // namespace sptc::python
