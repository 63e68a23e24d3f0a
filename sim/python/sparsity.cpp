// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/metadata_register.h"
#include "models/sparsity/prune.h"
#include "sim/io/text_file.h"
#include "sim/python/arrays.h"
#include "sim/python/bindings.h"
#include "sim/python/instruction_choice.h"

#include <algorithm>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace nb = nanobind;

namespace sptc::python {
namespace {

using numerics::DataType;
using numerics::Word;

/// A layout and what it is written for; nothing of plain nibbles.
std::optional<sparsity::MetadataForm> form_of(const std::string& type, const std::string& layout, int instruction_k,
                                              int selector) {
  constexpr std::string_view kNibbles = "nibbles";
  const DataType element = data_type(type);
  const std::string_view word = sparsity::layout_word(layout);
  if (word == kNibbles) {
    return std::nullopt;
  }
  std::optional<sparsity::MetadataForm> form = sparsity::find_metadata_form(word, element);
  if (!form) {
    const auto known = sparsity::metadata_layout_names();
    std::vector<std::string_view> names{kNibbles};
    names.insert(names.end(), known.begin(), known.end());
    io::refuse("unknown metadata layout {}", base::unknown_name(io::printable(layout), names));
  }
  if (form->order == sparsity::MetadataOrder::kLanes) {
    form->logical_k = instruction_k;
    form->selector = selector;
  }
  return form;
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
    io::refuse("metadata: elements must have {} bits, not {}", bits, array.itemsize() * 8);
  }
}

/// Nibbles [m, groups] of metadata [m, elements], or of registers [row tile, k tile, 32] of mma.sp.
base::Matrix<std::uint8_t> read_metadata(const Bits& array, const std::optional<sparsity::MetadataForm>& from) {
  if (!from) {
    return nibbles_of(array);
  }
  if (from->order != sparsity::MetadataOrder::kLanes) {
    const int bits = sparsity::metadata_word_bits(*from);
    require_element_size(array, bits);
    const base::Matrix<Word> elements = words_of(array, "metadata");
    return sparsity::unpack_metadata({elements.data(), elements.size()}, elements.rows(),
                                     elements.cols() * static_cast<std::size_t>(bits / 4), *from);
  }
  require_element_size(array, 32);
  if (array.ndim() != 3 || array.shape(2) != std::tuple_size_v<sparsity::LaneWords>) {
    io::refuse("metadata: lanes must be [row tiles, k tiles, 32]");
  }
  const auto format = sparsity::metadata_register_format(from->type, from->logical_k);
  const std::vector<std::uint64_t> bits = bit_array_of(array).bits;
  const std::vector<std::uint32_t> words(bits.begin(), bits.end());
  return sparsity::unpack_metadata(words, array.shape(0) * 16,
                                   array.shape(1) * static_cast<std::size_t>(format.groups()), *from);
}

nb::tuple shape_of(const base::Matrix<std::uint8_t>& nibbles, const std::optional<sparsity::MetadataForm>& to) {
  const std::size_t groups = nibbles.cols();
  if (!to) {
    return nb::make_tuple(nibbles.rows(), groups);
  }
  if (to->order == sparsity::MetadataOrder::kLanes) {
    const auto format = sparsity::metadata_register_format(to->type, to->logical_k);
    return nb::make_tuple(nibbles.rows() / 16, groups / static_cast<std::size_t>(format.groups()),
                          std::tuple_size_v<sparsity::LaneWords>);
  }
  const auto per_element = static_cast<std::size_t>(sparsity::metadata_word_bits(*to)) / 4;
  return nb::make_tuple(nibbles.rows(), groups / per_element);
}

/// The words of `nibbles` in another layout, row-major.
void write_metadata(const base::Matrix<std::uint8_t>& nibbles, const std::optional<sparsity::MetadataForm>& to,
                    const Output& out) {
  if (to) {
    write_words(sparsity::pack_metadata(nibbles, *to), out);
  } else {
    write_words(nibbles, out);
  }
}

void prune(const std::string& type, const Bits& dense, const Output& out) {
  const DataType element = data_type(type);
  const nb::gil_scoped_release unlocked;
  write_words(sparsity::prune_by_magnitude(words_of(dense, "A"), element), out);
}

void compress(const std::string& type, const Bits& dense, const Output& values, const Output& nibbles) {
  const DataType element = data_type(type);
  const nb::gil_scoped_release unlocked;
  const auto compressed = sparsity::compress(words_of(dense, "A"), element);
  write_words(compressed.values, values);
  write_words(compressed.nibbles, nibbles);
}

void decompress(const std::string& type, const Bits& values, const Bits& nibbles, const Output& dense) {
  sparsity::CompressedMatrix compressed;
  compressed.type = data_type(type);
  const nb::gil_scoped_release unlocked;
  compressed.pattern = sparsity::hardware_pattern(compressed.type);
  compressed.values = words_of(values, "values");
  compressed.nibbles = nibbles_of(nibbles);
  compressed.logical_k = compressed.nibbles.cols() * static_cast<std::size_t>(compressed.pattern.group);
  write_words(sparsity::decompress(compressed), dense);
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
  module.def("metadata_shape", [](const Bits& array, const std::string& type, const std::string& from,
                                  const std::string& to, int instruction_k, int selector) {
    return shape_of(read_metadata(array, form_of(type, from, instruction_k, selector)),
                    form_of(type, to, instruction_k, selector));
  });
  module.def("convert_metadata", [](const Bits& array, const std::string& type, const std::string& from,
                                    const std::string& to, int instruction_k, int selector, const Output& out) {
    write_metadata(read_metadata(array, form_of(type, from, instruction_k, selector)),
                   form_of(type, to, instruction_k, selector), out);
  });
}

}  // namespace sptc::python
