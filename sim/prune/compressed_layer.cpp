// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/compressed_layer.h"

#include "models/base/text.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/metadata_register.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/prune/bitmask_layer.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::prune {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr int kTileRows = 16;
constexpr std::size_t kLanes = std::tuple_size_v<sparsity::LaneWords>;

/// What a weight layout is called, and what it asks for.
struct Layout {
  std::string_view name;
  std::string_view metadata;   ///< its layout; empty: none of values and metadata
  int rows_of_16, rows_of_32;  ///< rows are a multiple of this where elements have so many bits
  int elements;                ///< k is a multiple of that of so many; 0: of an atom of CUTLASS 3.x
};

/// Layouts by WeightLayout.
constexpr std::array<Layout, 17> kLayouts = {{
    {"dense", "", 1, 1, 1},
    {"canonical", "canonical", 1, 1, 1},
    {"ptx", "ptx", kTileRows, kTileRows, 2},
    {"cutlass", "cutlass", 32, 16, 2},
    {"cutlass-sm90", "cutlass-sm90", 64, 64, 0},
    {"cutlass-sm90-k64", "cutlass-sm90-k64", 64, 64, 0},
    {"cutlass-sm100", "cutlass-sm100", 128, 128, 0},
    {"pytorch", "cutlass", 32, 32, 2},
    {"pytorch-old", "cutlass", 32, 32, 2},
    {"marlin", "marlin", 64, 64, 2},
    {"sparse-24-bitmask", "", 1, 1, 1},
    {"marlin-24", "", 1, 1, 1},
    {"pack-quantized", "", 1, 1, 1},
    {"int-quantized", "", 1, 1, 1},
    {"float-quantized", "", 1, 1, 1},
    {"nvfp4-pack-quantized", "", 1, 1, 1},
    {"modelopt-nvfp4", "", 1, 1, 1},
}};

const Layout& row_of(WeightLayout layout) {
  return kLayouts[static_cast<std::size_t>(layout)];
}

bool is_pytorch(WeightLayout layout) {
  return layout == WeightLayout::kPyTorch || layout == WeightLayout::kPyTorchOld;
}

/// Columns of A that an element of metadata covers.
int element_k(DataType type) {
  return sparsity::hardware_pattern(type).group * sparsity::metadata_element_bits(type) / 4;
}

/// Logical k of the deepest mma.sp of `type`, which uses every other lane or all.
int instruction_k(DataType type) {
  return 2 * element_k(type);
}

sparsity::MetadataForm metadata_form(const CompressedForm& form) {
  sparsity::MetadataForm result = sparsity::find_metadata_form(row_of(form.layout).metadata, form.type).value();
  if (form.layout == WeightLayout::kPtx) {
    result.logical_k = instruction_k(form.type);
  }
  return result;
}

/// Rows and k must be multiples of these.
std::pair<std::int64_t, std::int64_t> granularity(const CompressedForm& form) {
  const Layout& layout = row_of(form.layout);
  const bool is_16 = sparsity::metadata_element_bits(form.type) == 16;
  return {is_16 ? layout.rows_of_16 : layout.rows_of_32,
          layout.elements == 0 ? metadata_form(form).logical_k : layout.elements * element_k(form.type)};
}

}  // namespace

WeightLayout parse_weight_layout(std::string_view name) {
  if (name == "cusparselt") {
    io::refuse(
        "the layout of cuSPARSELt is one buffer with metadata that NVIDIA does not document: write dense weights, of "
        "which torch._cslt_compress makes it");
  }
  if (name == "compressed-tensors") {
    return WeightLayout::kSparse24Bitmask;  // its layout of 2:4
  }
  const auto names = std::views::transform(kLayouts, &Layout::name);
  return static_cast<WeightLayout>(
      io::place_among(std::vector(names.begin(), names.end()), sparsity::layout_word(name), "unknown layout"));
}

std::string_view name(WeightLayout layout) {
  return row_of(layout).name;
}

bool is_pair(WeightLayout layout) {
  return !row_of(layout).metadata.empty();
}

std::string_view stored_dtype(DataType type) {
  constexpr std::pair<DataType, std::string_view> kStored[] = {
      {DataType::kF16, "F16"},      {DataType::kBf16, "BF16"}, {DataType::kTf32, "F32"}, {DataType::kE4m3, "F8_E4M3"},
      {DataType::kE5m2, "F8_E5M2"}, {DataType::kS8, "I8"},     {DataType::kS4, "U8"},    {DataType::kE2m1, "U8"}};
  for (const auto& [stored, dtype] : kStored) {
    if (stored == type) {
      return dtype;
    }
  }
  io::refuse("weights of {} have no compressed form", numerics::name(type));
}

bool is_nvfp4(WeightLayout layout) {
  return layout == WeightLayout::kNvfp4 || layout == WeightLayout::kModelOptNvfp4;
}

io::Tensor blank_tensor(const io::TensorEntry& entry) {
  return {entry.name, entry.dtype, entry.shape, std::vector<std::byte>(entry.bytes)};
}

io::Tensor shape_tensor(const io::TensorEntry& entry, const CompressedForm& form) {
  io::Tensor tensor = blank_tensor(entry);
  const std::array<std::int64_t, 2> extents{form.rows, form.k};
  std::memcpy(tensor.bytes.data(), extents.data(), sizeof extents);
  return tensor;
}

void require_entry(const io::Tensor& tensor, const io::TensorEntry& entry, std::string_view whose) {
  if (tensor.dtype != entry.dtype || tensor.bytes.size() != entry.bytes) {
    io::refuse("tensor '{}': must be {} of {} bytes{}", io::printable(tensor.name), entry.dtype, entry.bytes, whose);
  }
}

io::Tensor tensor_of_words(const io::TensorEntry& entry, const base::Matrix<Word>& words) {
  const auto bytes = static_cast<std::size_t>(io::find_element_type(entry.dtype)->bytes);
  io::Tensor tensor = blank_tensor(entry);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::memcpy(tensor.bytes.data() + i * bytes, &words.data()[i], bytes);
  }
  return tensor;
}

base::Matrix<Word> words_of_tensor(const io::Tensor& tensor) {
  const auto bytes = static_cast<std::size_t>(io::find_element_type(tensor.dtype)->bytes);
  const auto rows = static_cast<std::size_t>(tensor.shape[0]);
  base::Matrix<Word> words(rows, tensor.bytes.size() / bytes / rows);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::memcpy(&words.data()[i], tensor.bytes.data() + i * bytes, bytes);
  }
  return words;
}

io::TensorEntry entry_of(std::string name, std::string_view dtype, std::vector<std::int64_t> shape) {
  const auto bytes = io::packed_bytes(shape, io::find_element_type(dtype)->bytes);
  if (!bytes) {
    io::refuse("tensor '{}' is too large", io::printable(name));
  }
  return {std::move(name), std::string(dtype), std::move(shape), 0, static_cast<std::uint64_t>(*bytes)};
}

std::vector<io::TensorEntry> compressed_entries(const std::string& name, const CompressedForm& form) {
  if (!is_pair(form.layout)) {
    return bitmask_entries(name, form);
  }
  const std::string_view dtype = stored_dtype(form.type);
  const auto [row_step, k_step] = granularity(form);
  if (form.rows % row_step != 0 || form.k % k_step != 0) {
    io::refuse(
        "tensor '{}': the layout {} of {} needs rows that are a multiple of {} and a k that is one of {}, not {} x {}",
        io::printable(name), prune::name(form.layout), numerics::name(form.type), row_step, k_step, form.rows, form.k);
  }
  const sparsity::Pattern pattern = sparsity::hardware_pattern(form.type);
  const int bits = sparsity::metadata_word_bits(metadata_form(form));
  std::vector<std::int64_t> shape{form.rows, form.k / pattern.group * 4 / bits};
  if (form.layout == WeightLayout::kPtx) {
    shape = {form.rows / kTileRows, form.k / instruction_k(form.type), static_cast<std::int64_t>(kLanes)};
  }
  const std::string sign = is_pytorch(form.layout) ? "I" : "U";  // torch has no unsigned ones
  return {entry_of(name + kValuesEnding, dtype, {form.rows, form.k / pattern.group * pattern.kept}),
          entry_of(name + kMetadataEnding, sign + std::to_string(bits), std::move(shape))};
}

sparsity::CompressedMatrix compress_layer(const base::Matrix<Word>& dense, const CompressedForm& form) {
  const bool of_float32 = form.layout == WeightLayout::kSparse24Bitmask && form.type == DataType::kTf32;
  return of_float32 ? compress_float32(dense) : sparsity::compress(dense, form.type);
}

std::vector<io::Tensor> compressed_tensors(const std::string& name, const sparsity::CompressedMatrix& matrix,
                                           const CompressedForm& form) {
  if (!is_pair(form.layout)) {
    return bitmask_tensors(name, matrix, form);
  }
  const std::vector<io::TensorEntry> entries = compressed_entries(name, form);
  const sparsity::CompressedMatrix encoded =
      is_pytorch(form.layout)
          ? sparsity::encode_as_pytorch(matrix, form.layout == WeightLayout::kPyTorch ? sparsity::PyTorchEncoder::kNew
                                                                                      : sparsity::PyTorchEncoder::kOld)
          : matrix;
  const base::Matrix<Word> metadata = sparsity::pack_metadata(encoded.nibbles, metadata_form(form));
  return {tensor_of_words(entries[0], encoded.values), tensor_of_words(entries[1], metadata)};
}

sparsity::CompressedMatrix compressed_matrix(const io::Tensor& values, const io::Tensor& metadata,
                                             const CompressedForm& form) {
  const std::vector<io::TensorEntry> wanted = compressed_entries("", form);
  for (const auto& [tensor, entry] : {std::pair(&values, &wanted[0]), std::pair(&metadata, &wanted[1])}) {
    const io::ElementType* const type = io::find_element_type(tensor->dtype);
    if (type == nullptr || tensor->shape != entry->shape || type->bytes != io::find_element_type(entry->dtype)->bytes) {
      io::refuse("tensor '{}' does not have the extents and the type that the layout {} of {} x {} has",
                 io::printable(tensor->name), prune::name(form.layout), form.rows, form.k);
    }
  }
  sparsity::CompressedMatrix matrix;
  matrix.type = form.type;
  matrix.pattern = sparsity::hardware_pattern(form.type);
  matrix.logical_k = static_cast<std::size_t>(form.k);
  matrix.values = words_of_tensor(values);
  const base::Matrix<Word> words = words_of_tensor(metadata);
  matrix.nibbles =
      sparsity::unpack_metadata({words.data(), words.size()}, static_cast<std::size_t>(form.rows),
                                matrix.logical_k / static_cast<std::size_t>(matrix.pattern.group), metadata_form(form));
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

CompressedForm form_of(const nlohmann::json& value, const std::string& file, const std::string& name) {
  const io::JsonObject object(value, io::JsonPlace{file, ""} / name);
  constexpr std::string_view kKeys[] = {"dtype", "pattern", "layout", "rows", "k", "k_first"};
  object.allow_only(kKeys);
  const std::string dtype = object.text("dtype");
  const std::optional<DataType> type = numerics::parse_data_type(dtype);
  if (!type) {
    (object.place() / "dtype")
        .fail("unknown type " + base::unknown_name(io::printable(dtype), numerics::operand_type_names()));
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const WeightLayout layout = object.parsed("layout", parse_weight_layout);
  if (!is_pair(layout)) {
    (object.place() / "layout").fail("must be one of values and metadata");
  }
  return {*type, layout, object.integer("rows", 1, kMost), object.integer("k", 1, kMost),
          object.boolean_or("k_first", false)};
}

}  // namespace sptc::prune
