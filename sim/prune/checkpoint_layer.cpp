// SPDX-License-Identifier: Apache-2.0
// Sources: the compressors of compressed-tensors 0.9.4 and 0.20.1 (pack_quantized, nvfp4, naive_quantized,
// sparse_24_bitmask, marlin_24), its converter of Model Optimizer's checkpoints, and torch/sparse/semi_structured.py.
#include "sim/prune/checkpoint_layer.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type.h"
#include "sim/io/text_file.h"
#include "sim/prune/bitmask_layer.h"
#include "sim/prune/layer.h"
#include "sim/prune/marlin_layer.h"
#include "sim/prune/packed_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string_view>

namespace sptc::prune {
namespace {

using base::Matrix;
using numerics::DataType;
using numerics::Word;

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  throw base::InputError(fmt::format("weight '{}': {}", io::printable(name), problem));
}

/// The type of values that are stored as `dtype`; nothing where none is.
std::optional<DataType> type_of_values(std::string_view dtype) {
  const std::optional<DataType> type = weight_type(dtype);
  return type == DataType::kF32 ? DataType::kTf32 : type == DataType::kF64 ? std::nullopt : type;
}

MarlinForm marlin_form(const StoredForm& form) {
  return {form.form.rows, form.form.k, form.bits, form.scale_groups};
}

std::int64_t words_of(std::int64_t k, int bits) {
  return (k * bits + 31) / 32;
}

class Finder {
 public:
  explicit Finder(const ModelFile& model) : model_(model) {}

  CheckpointWeights result() && {
    for (const PackedWeight& packed : packed_weights(model_)) {
      if (packed.format == "values and metadata of sptcsim") {
        continue;
      }
      if (!add(packed)) {
        auto& [first, count] = left_[std::string(packed.format)];
        first = count++ == 0 ? packed.name : first;
      }
    }
    for (const auto& [format, row] : left_) {
      result_.notes.push_back(
          fmt::format("'{}'{} left as before: these weights of {} are not read here", io::printable(row.first),
                      row.second > 1 ? fmt::format(" and {} more are", row.second - 1) : " is", format));
    }
    return std::move(result_);
  }

 private:
  bool add(const PackedWeight& packed) {
    const std::string& layer = packed.name;
    if (packed.format == "sparse-24-bitmask") {
      return add_values(packed, WeightLayout::kSparse24Bitmask, layer.ends_with(".weight") ? layer : layer + ".weight",
                        {".compressed", ".bitmask", ".shape"});
    }
    if (packed.format == "SparseSemiStructuredTensor") {
      return add_values(packed, WeightLayout::kPyTorch, layer, {".packed", ".meta"});
    }
    if (packed.format == "marlin-24") {
      return add_marlin(packed, {".weight_packed", ".scale_packed", ".meta"}) ||
             add_marlin(packed, {".B_24", ".s", ".B_meta"});
    }
    if (packed.format == "pack-quantized") {
      return add_packed(packed);
    }
    if (packed.format == "nvfp4-pack-quantized") {
      return add_codes(packed, WeightLayout::kNvfp4, {".weight_packed"});
    }
    return packed.format == "NVFP4 of Model Optimizer" && add_codes(packed, WeightLayout::kModelOptNvfp4, {".weight"});
  }

  const io::TensorEntry& entry(std::size_t part) const { return model_.tensors()[part].entry; }

  /// The tensor of the weight that is called so; nothing where there is none.
  std::optional<std::size_t> part(const PackedWeight& packed, std::string_view ending) const {
    for (const std::size_t tensor : packed.parts) {
      if (entry(tensor).name == packed.name + std::string(ending)) {
        return tensor;
      }
    }
    return std::nullopt;
  }

  std::optional<std::vector<std::size_t>> parts(const PackedWeight& packed,
                                                std::initializer_list<std::string_view> endings) const {
    std::vector<std::size_t> result;
    for (const std::string_view ending : endings) {
      const auto place = part(packed, ending);
      if (!place) {
        return std::nullopt;
      }
      result.push_back(*place);
    }
    return result;
  }

  bool add_values(const PackedWeight& packed, WeightLayout layout, const std::string& name,
                  std::initializer_list<std::string_view> endings) {
    const auto found = parts(packed, endings);
    const auto type = found ? type_of_values(entry(found->front()).dtype) : std::nullopt;
    if (!type || packed.rows <= 0 || packed.k <= 0) {
      return false;
    }
    result_.weights.push_back({name, {{*type, layout, packed.rows, packed.k, false}}, *found});
    return true;
  }

  bool add_codes(const PackedWeight& packed, WeightLayout layout, std::initializer_list<std::string_view> endings) {
    const auto found = parts(packed, endings);
    if (!found || packed.rows <= 0 || packed.k <= 0) {
      return false;
    }
    result_.weights.push_back(
        {packed.name + ".weight", {{DataType::kE2m1, layout, packed.rows, packed.k, false}, 4}, *found});
    return true;
  }

  bool add_packed(const PackedWeight& packed) {
    const auto found = parts(packed, {".weight_packed", ".weight_shape"});
    if (!found || entry(found->front()).shape.size() != 2) {
      return false;
    }
    const std::vector<std::int64_t>& shape = entry(found->front()).shape;
    if (entry(found->front()).dtype == "I32") {
      require_shape(packed, shape, entry(found->back()).name);
    }
    if (packed.k <= 4) {  // fewer do not tell how many bits each has
      return false;
    }
    for (const int bits : {4, 8}) {
      if (shape == std::vector<std::int64_t>{packed.rows, words_of(packed.k, bits)} &&
          !part(packed, ".weight_zero_point")) {
        result_.weights.push_back({packed.name + ".weight",
                                   {{DataType::kS8, WeightLayout::kPackQuantized, packed.rows, packed.k, false}, bits},
                                   *found});
        return true;
      }
    }
    return false;
  }

  /// Refuses the extents that tensor `name` states where codes of no width fill words of `shape` with them.
  static void require_shape(const PackedWeight& packed, const std::vector<std::int64_t>& shape,
                            const std::string& name) {
    constexpr std::int64_t kWordBits = 32, kMostBits = 8;
    for (std::int64_t bits = 1; bits <= kMostBits; ++bits) {
      const std::int64_t in_word = kWordBits / bits;
      if (packed.k > 0 && packed.rows == shape[0] && (packed.k + in_word - 1) / in_word == shape[1]) {
        return;
      }
    }
    throw base::InputError(
        fmt::format("tensor '{}': must be the [rows, k] that codes of 1 to {} bits in {} x {} words have",
                    io::printable(name), kMostBits, shape[0], shape[1]));
  }

  bool add_marlin(const PackedWeight& weight, std::initializer_list<std::string_view> endings) {
    constexpr std::int64_t kMost = std::int64_t{1} << 26;
    const auto found = parts(weight, endings);
    if (!found) {
      return false;
    }
    const std::vector<std::int64_t>& packed = entry((*found)[0]).shape;
    const std::vector<std::int64_t>& scale = entry((*found)[1]).shape;
    if (packed.size() != 2 || scale.size() != 2 || scale[1] <= 0 || packed[0] <= 0 ||
        std::max({packed[0], packed[1], scale[0], scale[1]}) > kMost) {
      return false;
    }
    result_.weights.push_back({weight.name + ".weight",
                               {{DataType::kS8, WeightLayout::kMarlin24, scale[1], 32 * packed[0], false},
                                static_cast<int>(2 * packed[1] / scale[1] <= 8 ? 2 * packed[1] / scale[1] : 0),
                                scale[0]},
                               *found});
    return true;
  }

  const ModelFile& model_;
  CheckpointWeights result_;
  std::map<std::string, std::pair<std::string, int>> left_;  ///< by format: the first, how many
};

void require_entry(const io::Tensor& tensor, const io::TensorEntry& entry) {
  if (tensor.dtype != entry.dtype || tensor.bytes.size() != entry.bytes) {
    throw base::InputError(
        fmt::format("tensor '{}': must be {} of {} bytes", io::printable(tensor.name), entry.dtype, entry.bytes));
  }
}

/// Codes of `bits` that stand side by side in words of `word_bits`, the first lowest, each row by itself; signed ones
/// are stored plus half of their range.
Matrix<Word> unpack_codes(const io::Tensor& tensor, const StoredForm& form, int word_bits) {
  const auto rows = static_cast<std::size_t>(form.form.rows);
  const auto k = static_cast<std::size_t>(form.form.k);
  const auto bits = static_cast<std::size_t>(form.bits);
  const std::size_t in_word = static_cast<std::size_t>(word_bits) / bits;
  const Word offset = form.form.type == DataType::kS8 ? Word{1} << (bits - 1) : 0;
  const Word mask = (Word{1} << bits) - 1;
  const Matrix<Word> words = words_of_tensor(tensor);
  Matrix<Word> codes(rows, k);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < k; ++i) {
      const Word code = words(row, i / in_word) >> (i % in_word * bits) & mask;
      codes(row, i) = offset == 0 ? code : (code - offset) & 0xFF;
    }
  }
  return codes;
}

Matrix<Word> pack_codes(const std::string& name, const Matrix<Word>& codes, const StoredForm& form, int word_bits) {
  const auto bits = static_cast<std::size_t>(form.bits);
  const std::size_t in_word = static_cast<std::size_t>(word_bits) / bits;
  const bool is_signed = form.form.type == DataType::kS8;
  const int offset = is_signed ? 1 << (bits - 1) : 0;
  Matrix<Word> words(codes.rows(), (codes.cols() + in_word - 1) / in_word);
  for (std::size_t row = 0; row < codes.rows(); ++row) {
    for (std::size_t i = 0; i < codes.cols(); ++i) {
      const int code =
          is_signed ? static_cast<int>(static_cast<std::int8_t>(codes(row, i))) : static_cast<int>(codes(row, i));
      if (code + offset < 0 || code + offset >= 1 << bits) {
        refuse(name, fmt::format("{} of {} bits does not hold the code {} of row {}", prune::name(form.form.layout),
                                 form.bits, code, row));
      }
      words(row, i / in_word) |= static_cast<Word>(code + offset) << (i % in_word * bits);
    }
  }
  return words;
}

int word_bits_of(WeightLayout layout) {
  return layout == WeightLayout::kPackQuantized ? 32 : 8;
}

void require_type(const std::string& name, const StoredForm& form) {
  const WeightLayout layout = form.form.layout;
  const DataType wanted = layout == WeightLayout::kFloatQuantized                                    ? DataType::kE4m3
                          : layout == WeightLayout::kNvfp4 || layout == WeightLayout::kModelOptNvfp4 ? DataType::kE2m1
                                                                                                     : DataType::kS8;
  if (form.form.type != wanted) {
    refuse(name, fmt::format("{} holds {}, not {}, and sptcsim quantises no weights", prune::name(layout),
                             numerics::name(wanted), numerics::name(form.form.type)));
  }
  if (form.form.k_first) {
    refuse(name, fmt::format("{} holds weights [rows, k] alone", prune::name(layout)));
  }
}

std::vector<io::TensorEntry> dense_entries(const std::string& name, const CompressedForm& form) {
  if (form.type == DataType::kE2m1) {
    refuse(name, "tensor files have no type for elements of e2m1");
  }
  const std::string_view dtype = form.type == DataType::kS4 ? "I8" : stored_dtype(form.type);
  return {entry_of(name, dtype, form.k_first ? std::vector{form.k, form.rows} : std::vector{form.rows, form.k})};
}

std::vector<io::Tensor> dense_tensors(const std::string& name, Matrix<Word> dense, const CompressedForm& form) {
  dense = form.k_first ? dense.transposed() : std::move(dense);
  for (std::size_t i = 0; form.type == DataType::kS4 && i < dense.size(); ++i) {
    Word& word = dense.data()[i];
    word = static_cast<Word>(numerics::to_integer(word, form.type));
  }
  return {tensor_of_words(dense_entries(name, form)[0], dense)};
}

/// [rows, k] as I64.
io::Tensor shape_tensor(const io::TensorEntry& entry, const CompressedForm& form) {
  io::Tensor tensor{entry.name, entry.dtype, entry.shape, {}};
  const std::array<std::int64_t, 2> extents{form.rows, form.k};
  tensor.bytes.resize(sizeof extents);
  std::memcpy(tensor.bytes.data(), extents.data(), sizeof extents);
  return tensor;
}

Matrix<Word> dense_of(WeightMatrix& weight) {
  auto* const dense = std::get_if<Matrix<Word>>(&weight.words);
  return dense != nullptr ? std::move(*dense)
                          : sparsity::decompress(std::get<sparsity::CompressedMatrix>(weight.words));
}

sparsity::CompressedMatrix compressed_of(WeightMatrix& weight, const CompressedForm& form) {
  auto* const matrix = std::get_if<sparsity::CompressedMatrix>(&weight.words);
  const bool fits =
      matrix != nullptr && matrix->type == form.type &&
      (matrix->pattern == sparsity::hardware_pattern(form.type) || form.layout == WeightLayout::kSparse24Bitmask);
  return fits ? std::move(*matrix) : compress_layer(dense_of(weight), form);
}

}  // namespace

CheckpointWeights checkpoint_weights(const ModelFile& model) {
  return Finder(model).result();
}

WeightMatrix read_weight(const ModelFile& model, const CheckpointWeight& weight) {
  std::vector<io::Tensor> tensors;
  for (const std::size_t part : weight.parts) {
    tensors.push_back(read_tensor(model, part));
  }
  const StoredForm& form = weight.form;
  WeightMatrix result;
  if (is_pair(form.form.layout)) {
    result.words = compressed_matrix(tensors.at(0), tensors.at(1), form.form);
  } else if (form.form.layout == WeightLayout::kSparse24Bitmask) {
    result.words = bitmask_matrix(tensors.at(0), tensors.at(1), form.form);
  } else if (form.form.layout == WeightLayout::kMarlin24) {
    result.words = marlin_matrix(tensors.at(0), tensors.at(2), marlin_form(form));
    result.scale = marlin_scale(tensors.at(1), weight.name + "_scale", marlin_form(form));
  } else {
    require_entry(tensors.at(0), stored_entries(weight.name, form)[0]);
    result.words = unpack_codes(tensors.at(0), form, word_bits_of(form.form.layout));
  }
  return result;
}

std::vector<io::TensorEntry> stored_entries(const std::string& name, const StoredForm& form) {
  const CompressedForm& matrix = form.form;
  if (matrix.layout == WeightLayout::kDense) {
    return dense_entries(name, matrix);
  }
  if (is_pair(matrix.layout) || matrix.layout == WeightLayout::kSparse24Bitmask) {
    return compressed_entries(name, matrix);
  }
  require_type(name, form);
  const std::string layer = layer_of_weight(name, matrix.layout);
  switch (matrix.layout) {
    case WeightLayout::kMarlin24:
      return marlin_entries(layer, marlin_form(form));
    case WeightLayout::kPackQuantized:
      return {entry_of(layer + ".weight_packed", "I32", {matrix.rows, words_of(matrix.k, form.bits)}),
              entry_of(layer + ".weight_shape", "I64", {2})};
    case WeightLayout::kNvfp4:
    case WeightLayout::kModelOptNvfp4:
      if (matrix.k % 2 != 0) {
        refuse(name, fmt::format("{} needs an even k", prune::name(matrix.layout)));
      }
      return {entry_of(matrix.layout == WeightLayout::kNvfp4 ? layer + ".weight_packed" : name, "U8",
                       {matrix.rows, matrix.k / 2})};
    default:
      return dense_entries(name, matrix);
  }
}

std::vector<io::Tensor> stored_tensors(const std::string& name, WeightMatrix weight, const StoredForm& form) {
  const CompressedForm& matrix = form.form;
  if (is_pair(matrix.layout) || matrix.layout == WeightLayout::kSparse24Bitmask) {
    return compressed_tensors(name, compressed_of(weight, matrix), matrix);
  }
  if (matrix.layout == WeightLayout::kMarlin24) {
    base::ensure(weight.scale.has_value(), "marlin-24 without a scale");
    return marlin_tensors(layer_of_weight(name, matrix.layout), compressed_of(weight, matrix), *weight.scale,
                          marlin_form(form));
  }
  Matrix<Word> dense = dense_of(weight);
  const std::vector<io::TensorEntry> entries = stored_entries(name, form);
  if (matrix.layout == WeightLayout::kPackQuantized) {
    return {tensor_of_words(entries[0], pack_codes(name, dense, form, 32)), shape_tensor(entries[1], matrix)};
  }
  if (matrix.layout == WeightLayout::kNvfp4 || matrix.layout == WeightLayout::kModelOptNvfp4) {
    return {tensor_of_words(entries[0], pack_codes(name, dense, form, 8))};
  }
  return dense_tensors(name, std::move(dense), matrix);
}

}  // namespace sptc::prune
