// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/marlin_layer.h"

#include "models/numerics/data_type.h"
#include "models/sparsity/metadata.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace sptc::prune {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr std::size_t kTile = 16;        // of kept rows of k and of rows of the weight
constexpr std::size_t kFragment = 1024;  // codes that are permuted among themselves
constexpr std::size_t kScales = 64;      // scales that are
constexpr std::int64_t kScaleGroup = 128;

/// The metadata is that of elements of 16 bits.
constexpr sparsity::MetadataForm kMeta{DataType::kF16, sparsity::MetadataOrder::kMarlin, 0, 0};

/// Where in a fragment of four tiles of 16 x 16 each code comes from. A lane of the warp has two rows of 8 columns;
/// codes of a word are interleaved as the kernel unpacks them.
std::array<std::uint16_t, kFragment> fragment_order(int bits) {
  constexpr std::array<std::size_t, 8> kOf4{0, 2, 4, 6, 1, 3, 5, 7};
  constexpr std::array<std::size_t, 8> kOf8{0, 2, 1, 3, 4, 6, 5, 7};
  std::array<std::uint16_t, kFragment> order{};
  for (std::size_t i = 0; i < kFragment; ++i) {
    const std::size_t lane = i / 32;
    const std::size_t e = (bits == 4 ? kOf4 : kOf8)[i % 8];
    const std::size_t column = lane / 4;
    const std::size_t row = 2 * (lane % 4) + e % 2 + e / 2 % 2 * 8;
    order[i] = static_cast<std::uint16_t>(16 * row + column / 2 * 256 + column % 2 * 8 + e / 4 * 4 + i / 8 % 4);
  }
  return order;
}

/// Calls visit(row of the weight, kept element of it, place) for every code; the place counts codes.
template <typename Visit>
void for_each_code(const CompressedForm& form, Visit visit) {
  const auto order = fragment_order(form.bits);
  const auto rows = static_cast<std::size_t>(form.rows);
  const std::size_t length = rows * kTile;
  for (std::size_t tile = 0; tile < static_cast<std::size_t>(form.k) / 2 / kTile; ++tile) {
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t from = i / kFragment * kFragment + order[i % kFragment];
      visit(from / 256 * kTile + from % kTile, tile * kTile + from % 256 / kTile, tile * length + i);
    }
  }
}

/// Scales of groups are permuted, those of whole rows are not.
std::size_t scale_place(std::size_t row, const CompressedForm& form) {
  constexpr std::array<std::size_t, 8> kPlaces{0, 2, 4, 6, 1, 3, 5, 7};
  const bool permuted = form.scale_groups > 1 && kScaleGroup < form.k / 2;
  return permuted ? row / 8 * 8 + kPlaces[row % 8] : row;
}

[[noreturn]] void refuse_layer(const std::string& layer, const std::string& problem) {
  io::refuse("layer '{}': marlin-24 {}", io::printable(layer), problem);
}

void require_form(const std::string& layer, const CompressedForm& form) {
  if (form.bits != 4 && form.bits != 8) {
    refuse_layer(layer, fmt::format("holds codes of 4 or 8 bits, not {}", form.bits));
  }
  if (form.rows % static_cast<std::int64_t>(kScales) != 0 || form.k % 32 != 0) {
    refuse_layer(layer, fmt::format("needs rows that are a multiple of 64 and a k that is one of 32, not {} x {}",
                                    form.rows, form.k));
  }
  if (form.scale_groups != 1 && (form.k % kScaleGroup != 0 || form.scale_groups != form.k / kScaleGroup)) {
    refuse_layer(layer, fmt::format("holds a scale for each row or for 128 columns of it, not {} for {} columns",
                                    form.scale_groups, form.k));
  }
}

constexpr std::string_view kWhose = ", as marlin-24 has it";

/// The scales [rows, groups] of `from` at the places that marlin-24 has for them, or back.
void move_scales(const io::Tensor& from, io::Tensor& to, const CompressedForm& form, bool to_marlin) {
  const auto rows = static_cast<std::size_t>(form.rows);
  const auto groups = static_cast<std::size_t>(form.scale_groups);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t plain = 2 * (row * groups + group), packed = 2 * (group * rows + scale_place(row, form));
      std::memcpy(to.bytes.data() + (to_marlin ? packed : plain), from.bytes.data() + (to_marlin ? plain : packed), 2);
    }
  }
}

}  // namespace

std::vector<io::TensorEntry> marlin_entries(const std::string& layer, const CompressedForm& form) {
  require_form(layer, form);
  return {entry_of(layer + ".weight_packed", "I32", {form.k / 32, form.rows / 2 * form.bits}),
          entry_of(layer + ".scale_packed", "F16", {form.scale_groups, form.rows}),
          entry_of(layer + ".meta", "I16", {form.k / 32, 2 * form.rows})};
}

std::vector<io::Tensor> marlin_tensors(const std::string& layer, const sparsity::CompressedMatrix& matrix,
                                       const io::Tensor& scale, const CompressedForm& form) {
  const std::vector<io::TensorEntry> entries = marlin_entries(layer, form);
  const sparsity::CompressedMatrix encoded = sparsity::encode_as_pytorch(matrix, sparsity::PyTorchEncoder::kNew);
  const int offset = 1 << (form.bits - 1);
  const auto in_word = static_cast<std::size_t>(32 / form.bits);
  base::Matrix<Word> words(static_cast<std::size_t>(entries[0].shape[0]),
                           static_cast<std::size_t>(entries[0].shape[1]));
  for_each_code(form, [&](std::size_t row, std::size_t slot, std::size_t place) {
    const int code = static_cast<std::int8_t>(encoded.values(row, slot));
    if (code < -offset || code >= offset) {
      refuse_layer(layer, fmt::format("of {} bits does not hold the code {} of row {}", form.bits, code, row));
    }
    words.data()[place / in_word] |= static_cast<Word>(code + offset)
                                     << (place % in_word * static_cast<std::size_t>(form.bits));
  });
  require_entry(scale, entries[1], kWhose);
  io::Tensor scales = blank_tensor(entries[1]);
  move_scales(scale, scales, form, true);
  return {tensor_of_words(entries[0], words), std::move(scales),
          tensor_of_words(entries[2], sparsity::pack_metadata(encoded.nibbles, kMeta))};
}

sparsity::CompressedMatrix marlin_matrix(const io::Tensor& packed, const io::Tensor& meta, const CompressedForm& form) {
  const std::vector<io::TensorEntry> entries = marlin_entries(packed.name, form);
  require_entry(packed, entries[0], kWhose);
  require_entry(meta, entries[2], kWhose);
  const base::Matrix<Word> words = words_of_tensor(packed);
  const int offset = 1 << (form.bits - 1);
  const auto in_word = static_cast<std::size_t>(32 / form.bits);
  const Word mask = (Word{1} << form.bits) - 1;
  sparsity::CompressedMatrix matrix;
  matrix.type = DataType::kS8;
  matrix.pattern = sparsity::hardware_pattern(DataType::kS8);
  matrix.logical_k = static_cast<std::size_t>(form.k);
  const auto rows = static_cast<std::size_t>(form.rows);
  matrix.values = base::Matrix<Word>(rows, matrix.logical_k / 2);
  for_each_code(form, [&](std::size_t row, std::size_t slot, std::size_t place) {
    const Word code = words.data()[place / in_word] >> (place % in_word * static_cast<std::size_t>(form.bits)) & mask;
    matrix.values(row, slot) = static_cast<std::uint8_t>(static_cast<int>(code) - offset);
  });
  const base::Matrix<Word> elements = words_of_tensor(meta);
  matrix.nibbles = sparsity::unpack_metadata({elements.data(), elements.size()}, rows, matrix.logical_k / 4, kMeta);
  return matrix;
}

io::Tensor marlin_scale(const io::Tensor& packed, const std::string& name, const CompressedForm& form) {
  require_entry(packed, marlin_entries(name, form)[1], kWhose);
  io::Tensor scale = blank_tensor(entry_of(name, "F16", {form.rows, form.scale_groups}));
  move_scales(packed, scale, form, false);
  return scale;
}

}  // namespace sptc::prune
