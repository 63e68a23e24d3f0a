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
#include "sim/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <string_view>

namespace sptc::prune {
namespace {

using base::Matrix;
using numerics::DataType;
using numerics::Word;

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  io::refuse("weight '{}': {}", io::printable(name), problem);
}

/// The type of values that are stored as `dtype`; nothing where none is.
std::optional<DataType> type_of_values(std::string_view dtype) {
  const std::optional<DataType> type = weight_type(dtype);
  return type == DataType::kF32 ? DataType::kTf32 : type == DataType::kF64 ? std::nullopt : type;
}

std::int64_t words_of(std::int64_t k, int bits) {
  return (k * bits + 31) / 32;
}

/// A format of packed_weights() that is read here: its layout, and the endings of the names of its tensors, with blanks
/// between them.
struct ReadFormat {
  std::string_view format;
  WeightLayout layout;
  std::string_view endings;
};

constexpr ReadFormat kReadFormats[] = {
    {"sparse-24-bitmask", WeightLayout::kSparse24Bitmask, ".compressed .bitmask .shape"},
    {"SparseSemiStructuredTensor", WeightLayout::kPyTorch, ".packed .meta"},
    {"marlin-24", WeightLayout::kMarlin24, ".weight_packed .scale_packed .meta"},
    {"marlin-24", WeightLayout::kMarlin24, ".B_24 .s .B_meta"},
    {"pack-quantized", WeightLayout::kPackQuantized, ".weight_packed .weight_shape"},
    {"nvfp4-pack-quantized", WeightLayout::kNvfp4, ".weight_packed"},
    {"NVFP4 of Model Optimizer", WeightLayout::kModelOptNvfp4, ".weight"},
};

/// The form of marlin-24 whose codes and scales have these extents; nothing where they are none.
std::optional<CompressedForm> marlin_form(const std::vector<std::int64_t>& packed,
                                          const std::vector<std::int64_t>& scale) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  if (packed.size() != 2 || scale.size() != 2 || scale[1] <= 0 || packed[0] <= 0 ||
      std::max({packed[0], packed[1], scale[0], scale[1]}) > kMost) {
    return std::nullopt;
  }
  const std::int64_t bits = 2 * packed[1] / scale[1];
  return CompressedForm{
      DataType::kS8, WeightLayout::kMarlin24, scale[1], 32 * packed[0], false, bits <= 8 ? static_cast<int>(bits) : 0,
      scale[0]};
}

/// Refuses the extents that tensor `name` states where codes of no width fill words of `shape` with them.
void require_extents(const PackedWeight& packed, const std::vector<std::int64_t>& shape, const std::string& name) {
  constexpr std::int64_t kWordBits = 32, kMostBits = 8;
  for (std::int64_t bits = 1; bits <= kMostBits; ++bits) {
    const std::int64_t in_word = kWordBits / bits;
    if (packed.k > 0 && packed.rows == shape[0] && (packed.k + in_word - 1) / in_word == shape[1]) {
      return;
    }
  }
  io::refuse("tensor '{}': must be the [rows, k] that codes of 1 to {} bits in {} x {} words have", io::printable(name),
             kMostBits, shape[0], shape[1]);
}

class Finder {
 public:
  explicit Finder(const ModelFile& model) : model_(model) {}

  CheckpointWeights result() && {
    for (const PackedWeight& packed : packed_weights(model_)) {
      if (packed.format != "values and metadata of sptcsim" && !add(packed)) {
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
    return std::ranges::any_of(kReadFormats, [&](const ReadFormat& format) {
      const std::vector<std::size_t> parts =
          packed.format == format.format ? parts_of(packed, format) : std::vector<std::size_t>();
      const auto form = parts.empty() ? std::nullopt : form_in(format.layout, packed, parts);
      if (form) {
        const bool whole = is_pair(format.layout) ||
                           (format.layout == WeightLayout::kSparse24Bitmask && packed.name.ends_with(".weight"));
        result_.weights.push_back({whole ? packed.name : packed.name + ".weight", *form, parts});
      }
      return form.has_value();
    });
  }

  const io::TensorEntry& entry(std::size_t part) const { return model_.tensors()[part].entry; }

  /// The tensor of the weight that is called so; nothing where there is none.
  std::optional<std::size_t> part(const PackedWeight& packed, std::string_view ending) const {
    const auto place = model_.place_of(packed.name + std::string(ending));
    return place && packed.parts.contains(*place) ? place : std::nullopt;
  }

  /// The tensors of `format`; none where one is missing.
  std::vector<std::size_t> parts_of(const PackedWeight& packed, const ReadFormat& format) const {
    std::vector<std::size_t> result;
    for (const std::string_view ending : workload::parts_of(format.endings, ' ')) {
      const auto place = part(packed, ending);
      if (!place) {
        return {};
      }
      result.push_back(*place);
    }
    return result;
  }

  /// What the tensors `parts` hold in `layout`; nothing where they are not read here.
  std::optional<CompressedForm> form_in(WeightLayout layout, const PackedWeight& packed,
                                        const std::vector<std::size_t>& parts) const {
    const io::TensorEntry& first = entry(parts.front());
    CompressedForm form{DataType::kS8, layout, packed.rows, packed.k};
    if (layout == WeightLayout::kMarlin24) {
      return marlin_form(first.shape, entry(parts[1]).shape);
    }
    if (layout == WeightLayout::kPackQuantized) {
      form.bits = bits_of_codes(packed, first, entry(parts[1]).name);
      return form.bits > 0 ? std::optional(form) : std::nullopt;
    }
    if (is_nvfp4(layout)) {
      form.type = DataType::kE2m1;
      form.bits = 4;
    } else if (const auto type = type_of_values(first.dtype)) {
      form.type = *type;
    } else {
      return std::nullopt;
    }
    return packed.rows > 0 && packed.k > 0 ? std::optional(form) : std::nullopt;
  }

  /// 4 or 8 of codes in words of 32 bits; 0 where they have another width, or zero points.
  int bits_of_codes(const PackedWeight& packed, const io::TensorEntry& words, const std::string& stated) const {
    if (words.shape.size() == 2 && words.dtype == "I32") {
      require_extents(packed, words.shape, stated);
    }
    const bool is_read = packed.k > 4 && !part(packed, ".weight_zero_point");  // fewer do not tell how many bits
    for (const int bits : {4, 8}) {
      if (is_read && words.shape == std::vector<std::int64_t>{packed.rows, words_of(packed.k, bits)}) {
        return bits;
      }
    }
    return 0;
  }

  const ModelFile& model_;
  CheckpointWeights result_;
  std::map<std::string, std::pair<std::string, int>> left_;  ///< by format: the first, how many
};

/// How codes stand side by side in words, the first lowest, each row by itself; signed ones are stored plus half of
/// their range.
struct CodePlaces {
  explicit CodePlaces(const CompressedForm& form)
      : is_signed(form.type == DataType::kS8),
        bits(static_cast<std::size_t>(form.bits)),
        in_word((form.layout == WeightLayout::kPackQuantized ? 32 : 8) / bits),
        offset(is_signed ? 1 << (bits - 1) : 0) {}

  bool is_signed;
  std::size_t bits, in_word;
  int offset;
};

Matrix<Word> unpack_codes(const io::Tensor& tensor, const CompressedForm& form) {
  const CodePlaces at(form);
  const Word mask = (Word{1} << at.bits) - 1;
  const Matrix<Word> words = words_of_tensor(tensor);
  Matrix<Word> codes(static_cast<std::size_t>(form.rows), static_cast<std::size_t>(form.k));
  for (std::size_t row = 0; row < codes.rows(); ++row) {
    for (std::size_t i = 0; i < codes.cols(); ++i) {
      const Word code = words(row, i / at.in_word) >> (i % at.in_word * at.bits) & mask;
      codes(row, i) = at.is_signed ? (code - static_cast<Word>(at.offset)) & 0xFF : code;
    }
  }
  return codes;
}

Matrix<Word> pack_codes(const std::string& name, const Matrix<Word>& codes, const CompressedForm& form) {
  const CodePlaces at(form);
  Matrix<Word> words(codes.rows(), (codes.cols() + at.in_word - 1) / at.in_word);
  for (std::size_t row = 0; row < codes.rows(); ++row) {
    for (std::size_t i = 0; i < codes.cols(); ++i) {
      const Word word = codes(row, i);
      const int code = at.offset + (at.is_signed ? static_cast<std::int8_t>(word) : static_cast<int>(word));
      if (code < 0 || code >= 1 << at.bits) {
        refuse(name, fmt::format("{} of {} bits does not hold the code {} of row {}", prune::name(form.layout),
                                 form.bits, code - at.offset, row));
      }
      words(row, i / at.in_word) |= static_cast<Word>(code) << (i % at.in_word * at.bits);
    }
  }
  return words;
}

void require_type(const std::string& name, const CompressedForm& form) {
  const DataType wanted = form.layout == WeightLayout::kFloatQuantized ? DataType::kE4m3
                          : is_nvfp4(form.layout)                      ? DataType::kE2m1
                                                                       : DataType::kS8;
  if (form.type != wanted) {
    refuse(name, fmt::format("{} holds {}, not {}, and sptcsim quantises no weights", prune::name(form.layout),
                             numerics::name(wanted), numerics::name(form.type)));
  }
  if (form.k_first) {
    refuse(name, fmt::format("{} holds weights [rows, k] alone", prune::name(form.layout)));
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
  const auto parts = std::views::transform(weight.parts, [&](std::size_t part) { return read_tensor(model, part); });
  const std::vector<io::Tensor> tensors(parts.begin(), parts.end());
  const CompressedForm& form = weight.form;
  WeightMatrix result;
  if (is_pair(form.layout)) {
    result.words = compressed_matrix(tensors.at(0), tensors.at(1), form);
  } else if (form.layout == WeightLayout::kSparse24Bitmask) {
    result.words = bitmask_matrix(tensors.at(0), tensors.at(1), form);
  } else if (form.layout == WeightLayout::kMarlin24) {
    result.words = marlin_matrix(tensors.at(0), tensors.at(2), form);
    result.scale = marlin_scale(tensors.at(1), weight.name + "_scale", form);
  } else {
    require_entry(tensors.at(0), stored_entries(weight.name, form)[0]);
    result.words = unpack_codes(tensors.at(0), form);
  }
  return result;
}

std::vector<io::TensorEntry> stored_entries(const std::string& name, const CompressedForm& form) {
  if (form.layout == WeightLayout::kDense) {
    return dense_entries(name, form);
  }
  if (is_pair(form.layout) || form.layout == WeightLayout::kSparse24Bitmask) {
    return compressed_entries(name, form);
  }
  require_type(name, form);
  const std::string layer = layer_of_weight(name, form.layout);
  switch (form.layout) {
    case WeightLayout::kMarlin24:
      return marlin_entries(layer, form);
    case WeightLayout::kPackQuantized:
      return {entry_of(layer + ".weight_packed", "I32", {form.rows, words_of(form.k, form.bits)}),
              entry_of(layer + ".weight_shape", "I64", {2})};
    case WeightLayout::kNvfp4:
    case WeightLayout::kModelOptNvfp4:
      if (form.k % 2 != 0) {
        refuse(name, fmt::format("{} needs an even k", prune::name(form.layout)));
      }
      return {entry_of(form.layout == WeightLayout::kNvfp4 ? layer + ".weight_packed" : name, "U8",
                       {form.rows, form.k / 2})};
    default:
      return dense_entries(name, form);
  }
}

std::vector<io::Tensor> stored_tensors(const std::string& name, WeightMatrix weight, const CompressedForm& form) {
  if (is_pair(form.layout) || form.layout == WeightLayout::kSparse24Bitmask) {
    return compressed_tensors(name, compressed_of(weight, form), form);
  }
  if (form.layout == WeightLayout::kMarlin24) {
    base::ensure(weight.scale.has_value(), "marlin-24 without a scale");
    return marlin_tensors(layer_of_weight(name, form.layout), compressed_of(weight, form), *weight.scale, form);
  }
  Matrix<Word> dense = dense_of(weight);
  const std::vector<io::TensorEntry> entries = stored_entries(name, form);
  if (form.layout != WeightLayout::kPackQuantized && !is_nvfp4(form.layout)) {
    return dense_tensors(name, std::move(dense), form);
  }
  std::vector<io::Tensor> tensors{tensor_of_words(entries[0], pack_codes(name, dense, form))};
  if (entries.size() > 1) {
    tensors.push_back(shape_tensor(entries[1], form));
  }
  return tensors;
}

}  // namespace sptc::prune
