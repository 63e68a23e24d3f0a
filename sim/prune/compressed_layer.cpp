// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/compressed_layer.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/sparsity/metadata.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

namespace sptc::prune {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr std::array<std::string_view, 7> kNames = {"dense",   "canonical",   "ptx",   "cutlass",
                                                    "pytorch", "pytorch-old", "marlin"};
constexpr int kTileRows = 16;
constexpr std::size_t kLanes = std::tuple_size_v<sparsity::LaneWords>;

/// Logical k of the deepest mma.sp of `type`, which uses every other lane or all.
int instruction_k(DataType type) {
  switch (numerics::storage_bits(type)) {
    case 32:
      return 16;
    case 16:
      return 32;
    case 8:
      return 64;
    default:
      return 128;
  }
}

bool is_pytorch(WeightLayout layout) {
  return layout == WeightLayout::kPyTorch || layout == WeightLayout::kPyTorchOld;
}

sparsity::RowOrder row_order(WeightLayout layout) {
  return layout == WeightLayout::kMarlin ? sparsity::RowOrder::kMarlin
                                         : sparsity::RowOrder::kCutlass;
}

/// Rows and k must be multiples of these.
std::pair<std::int64_t, std::int64_t> granularity(const CompressedForm& form) {
  const std::int64_t group = sparsity::hardware_pattern(form.type).group;
  const int bits = sparsity::metadata_element_bits(form.type);
  const std::int64_t element_k = group * (bits / 4);
  switch (form.layout) {
    case WeightLayout::kPtx:
      return {kTileRows, instruction_k(form.type)};
    case WeightLayout::kMarlin:
      return {64, 2 * element_k};
    case WeightLayout::kCutlass:
      return {bits == 16 ? 32 : 16, 2 * element_k};
    case WeightLayout::kPyTorch:
    case WeightLayout::kPyTorchOld:
      return {32, 2 * element_k};
    default:
      return {1, element_k};
  }
}

template <typename T>
std::vector<std::byte> packed(std::span<const T> words, std::size_t bytes) {
  std::vector<std::byte> result(words.size() * bytes);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::memcpy(result.data() + i * bytes, &words[i], bytes);
  }
  return result;
}

/// The elements of `tensor`, zero-extended.
std::vector<Word> unpacked(const io::Tensor& tensor) {
  const auto bytes = static_cast<std::size_t>(io::find_element_type(tensor.dtype)->bytes);
  std::vector<Word> words(tensor.bytes.size() / bytes);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::memcpy(&words[i], tensor.bytes.data() + i * bytes, bytes);
  }
  return words;
}

base::Matrix<Word> matrix_of(const io::Tensor& tensor) {
  const std::vector<Word> words = unpacked(tensor);
  base::Matrix<Word> matrix(static_cast<std::size_t>(tensor.shape[0]),
                            static_cast<std::size_t>(tensor.shape[1]));
  std::copy(words.begin(), words.end(), matrix.data());
  return matrix;
}

std::vector<Word> metadata_words(const sparsity::CanonicalMetadata& canonical,
                                 const CompressedForm& form) {
  if (form.layout == WeightLayout::kCanonical) {
    const base::Matrix<Word>& elements = canonical.elements;
    return {elements.data(), elements.data() + elements.size()};
  }
  if (form.layout != WeightLayout::kPtx) {
    return sparsity::to_reordered(canonical, row_order(form.layout)).elements;
  }
  std::vector<Word> words;
  const sparsity::LaneMetadata lanes = sparsity::to_lanes(canonical, instruction_k(form.type), 0);
  for (const sparsity::LaneWords& registers : lanes.registers) {
    words.insert(words.end(), registers.begin(), registers.end());
  }
  return words;
}

sparsity::CanonicalMetadata canonical_of(const io::Tensor& metadata, const CompressedForm& form) {
  if (form.layout == WeightLayout::kCanonical) {
    return {form.type, matrix_of(metadata)};
  }
  const std::vector<Word> words = unpacked(metadata);
  if (form.layout != WeightLayout::kPtx) {
    return sparsity::to_canonical(sparsity::ReorderedMetadata{
        form.type, static_cast<std::size_t>(metadata.shape[0]),
        static_cast<std::size_t>(metadata.shape[1]), words, row_order(form.layout)});
  }
  sparsity::LaneMetadata lanes;
  lanes.type = form.type;
  lanes.format = sparsity::metadata_register_format(form.type, instruction_k(form.type));
  lanes.row_tiles = static_cast<std::size_t>(metadata.shape[0]);
  lanes.k_tiles = static_cast<std::size_t>(metadata.shape[1]);
  lanes.registers.resize(lanes.row_tiles * lanes.k_tiles);
  for (std::size_t i = 0; i < words.size(); ++i) {
    lanes.registers[i / kLanes][i % kLanes] = words[i];
  }
  return sparsity::to_canonical(lanes);
}

}  // namespace

WeightLayout parse_weight_layout(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), sparsity::layout_word(name));
  if (found == kNames.end()) {
    throw base::InputError("unknown layout " + base::unknown_name(io::printable(name), kNames));
  }
  return static_cast<WeightLayout>(found - kNames.begin());
}

std::string_view name(WeightLayout layout) {
  return kNames[static_cast<std::size_t>(layout)];
}

std::string_view stored_dtype(DataType type) {
  switch (type) {
    case DataType::kF16:
      return "F16";
    case DataType::kBf16:
      return "BF16";
    case DataType::kTf32:
      return "F32";
    case DataType::kE4m3:
      return "F8_E4M3";
    case DataType::kE5m2:
      return "F8_E5M2";
    case DataType::kS8:
      return "I8";
    case DataType::kS4:
      return "U8";
    default:
      throw base::InputError(
          fmt::format("weights of {} have no compressed form", numerics::name(type)));
  }
}

std::string values_name(const std::string& name) {
  return name + ".values";
}

std::string metadata_name(const std::string& name) {
  return name + ".metadata";
}

std::array<io::TensorEntry, 2> compressed_entries(const std::string& name,
                                                  const CompressedForm& form) {
  const std::string_view dtype = stored_dtype(form.type);
  const auto [row_step, k_step] = granularity(form);
  if (form.rows % row_step != 0 || form.k % k_step != 0) {
    throw base::InputError(fmt::format(
        "tensor '{}': the layout {} of {} needs rows that are a multiple of {} and a k that is one "
        "of {}, not {} x {}",
        io::printable(name), prune::name(form.layout), numerics::name(form.type), row_step, k_step,
        form.rows, form.k));
  }
  const sparsity::Pattern pattern = sparsity::hardware_pattern(form.type);
  const int bits =
      form.layout == WeightLayout::kPtx ? 32 : sparsity::metadata_element_bits(form.type);
  std::vector<std::int64_t> shape{form.rows, form.k / pattern.group * 4 / bits};
  if (form.layout == WeightLayout::kPtx) {
    shape = {form.rows / kTileRows, form.k / instruction_k(form.type),
             static_cast<std::int64_t>(kLanes)};
  }
  const std::string sign = is_pytorch(form.layout) ? "I" : "U";  // torch has no unsigned ones
  std::array<io::TensorEntry, 2> entries{
      io::TensorEntry{values_name(name),
                      std::string(dtype),
                      {form.rows, form.k / pattern.group * pattern.kept},
                      0,
                      0},
      io::TensorEntry{metadata_name(name), sign + std::to_string(bits), shape, 0, 0}};
  for (io::TensorEntry& entry : entries) {
    const std::int64_t element = io::find_element_type(entry.dtype)->bytes;
    entry.bytes = static_cast<std::uint64_t>(io::packed_bytes(entry.shape, element).value());
  }
  return entries;
}

std::array<io::Tensor, 2> compressed_tensors(const std::string& name,
                                             const sparsity::CompressedMatrix& matrix,
                                             const CompressedForm& form) {
  const std::array<io::TensorEntry, 2> entries = compressed_entries(name, form);
  const sparsity::CompressedMatrix encoded =
      is_pytorch(form.layout)
          ? sparsity::encode_as_pytorch(matrix, form.layout == WeightLayout::kPyTorch
                                                    ? sparsity::PyTorchEncoder::kNew
                                                    : sparsity::PyTorchEncoder::kOld)
          : matrix;
  const std::vector<Word> metadata = metadata_words(sparsity::pack_canonical(encoded), form);
  const std::span<const Word> values(encoded.values.data(), encoded.values.size());
  const auto tensor = [](const io::TensorEntry& entry, std::span<const Word> words) {
    const auto bytes = static_cast<std::size_t>(io::find_element_type(entry.dtype)->bytes);
    return io::Tensor{entry.name, entry.dtype, entry.shape, packed(words, bytes)};
  };
  return {tensor(entries[0], values), tensor(entries[1], metadata)};
}

sparsity::CompressedMatrix compressed_matrix(const io::Tensor& values, const io::Tensor& metadata,
                                             const CompressedForm& form) {
  const std::array<io::TensorEntry, 2> wanted = compressed_entries("", form);
  for (const auto& [tensor, entry] :
       {std::pair(&values, &wanted[0]), std::pair(&metadata, &wanted[1])}) {
    const io::ElementType* const type = io::find_element_type(tensor->dtype);
    if (type == nullptr || tensor->shape != entry->shape ||
        type->bytes != io::find_element_type(entry->dtype)->bytes) {
      throw base::InputError(
          fmt::format("tensor '{}' does not have the extents and the type that the "
                      "layout {} of {} x {} has",
                      io::printable(tensor->name), prune::name(form.layout), form.rows, form.k));
    }
  }
  sparsity::CompressedMatrix matrix;
  matrix.type = form.type;
  matrix.pattern = sparsity::hardware_pattern(form.type);
  matrix.logical_k = static_cast<std::size_t>(form.k);
  matrix.values = matrix_of(values);
  matrix.nibbles = sparsity::unpack_canonical(canonical_of(metadata, form));
  return matrix;
}

nlohmann::ordered_json json_of(const CompressedForm& form) {
  return {{"dtype", numerics::name(form.type)},
          {"pattern", sparsity::hardware_pattern(form.type).name()},
          {"layout", name(form.layout)},
          {"rows", form.rows},
          {"k", form.k},
          {"k_first", form.k_first}};
}

CompressedForm form_of(const nlohmann::json& value, const std::string& file,
                       const std::string& name) {
  const io::JsonObject object(value, io::JsonPlace{file, ""} / name);
  constexpr std::string_view kKeys[] = {"dtype", "pattern", "layout", "rows", "k", "k_first"};
  object.allow_only(kKeys);
  const std::string dtype = object.text("dtype");
  const std::optional<DataType> type = numerics::parse_data_type(dtype);
  if (!type) {
    (object.place() / "dtype")
        .fail("unknown type " +
              base::unknown_name(io::printable(dtype), numerics::operand_type_names()));
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return {*type, parse_weight_layout(object.text("layout")), object.integer("rows", 1, kMost),
          object.integer("k", 1, kMost), object.boolean_or("k_first", false)};
}

}  // namespace sptc::prune
