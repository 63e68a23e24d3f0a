// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/layer.h"

#include "models/base/error.h"
#include "models/numerics/codec.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

namespace sptc::prune {
namespace {

using numerics::DataType;
using numerics::Word;

constexpr std::pair<std::string_view, DataType> kTypes[] = {
    {"F16", DataType::kF16}, {"BF16", DataType::kBf16},    {"F32", DataType::kF32},     {"F64", DataType::kF64},
    {"I8", DataType::kS8},   {"F8_E4M3", DataType::kE4m3}, {"F8_E5M2", DataType::kE5m2}};

template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// The values of all words of a type of 8 or 16 bits.
std::vector<float> make_table(DataType type) {
  std::vector<float> values(std::size_t{1} << numerics::storage_bits(type));
  for (std::size_t word = 0; word < values.size(); ++word) {
    values[word] = static_cast<float>(numerics::to_double(static_cast<Word>(word), type));
  }
  return values;
}

const std::vector<float>& value_table(DataType type) {
  static const std::vector<float> kF16 = make_table(DataType::kF16);
  static const std::vector<float> kS8 = make_table(DataType::kS8);
  static const std::vector<float> kE4m3 = make_table(DataType::kE4m3);
  static const std::vector<float> kE5m2 = make_table(DataType::kE5m2);
  return type == DataType::kF16 ? kF16 : type == DataType::kS8 ? kS8 : type == DataType::kE4m3 ? kE4m3 : kE5m2;
}

/// The elements in the order of the tensor.
void to_floats(const std::byte* bytes, DataType type, std::span<float> values) {
  const std::size_t bits = 8 * stored_bytes(type);
  if (bits == 64) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(load<double>(bytes + 8 * i));
    }
  } else if (bits == 32) {
    std::memcpy(values.data(), bytes, values.size_bytes());
  } else if (type == DataType::kBf16) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint32_t word = std::uint32_t{load<std::uint16_t>(bytes + 2 * i)} << 16;
      std::memcpy(&values[i], &word, sizeof word);
    }
  } else {
    const std::vector<float>& table = value_table(type);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          bits == 16 ? table[load<std::uint16_t>(bytes + 2 * i)] : table[std::to_integer<std::size_t>(bytes[i])];
    }
  }
}

void require_finite(std::span<const float> values, std::string_view name) {
  float sum = 0;  // 0 times each: NaN where one is NaN or infinite
  for (const float value : values) {
    sum += value * 0.0F;
  }
  if (sum == 0) {
    return;
  }
  std::size_t first = 0;
  while (std::isfinite(values[first])) {
    ++first;
  }
  io::refuse("tensor '{}': element {} is {}; weights that are pruned must be finite", io::printable(name), first,
             std::isnan(values[first]) ? "NaN" : "infinite");
}

bool is_plain(const LayerLayout& layout) {
  return layout.k_stride == 1 && layout.row_stride == layout.k * layout.taps &&
         (layout.taps == 1 || layout.tap_stride == layout.k);
}

/// Calls visit(index in the matrix, index in the tensor) for every weight.
template <typename Visit>
void for_each(const LayerLayout& layout, Visit visit) {
  std::size_t at = 0;
  for (std::int64_t row = 0; row < layout.rows; ++row) {
    for (std::int64_t tap = 0; tap < layout.taps; ++tap) {
      const std::int64_t first = row * layout.row_stride + tap * layout.tap_stride;
      for (std::int64_t k = 0; k < layout.k; ++k) {
        visit(at++, static_cast<std::size_t>(first + k * layout.k_stride));
      }
    }
  }
}

template <typename T>
void mask_elements(const sparsity::Mask& mask, const LayerLayout& layout, T sign_bit, std::span<std::byte> bytes) {
  if (is_plain(layout)) {
    const std::uint8_t* const kept = mask.data();
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const T word = load<T>(bytes.data() + i * sizeof(T));
      const int stays = static_cast<int>(kept[i] != 0) & static_cast<int>(word != sign_bit);
      const T result = static_cast<T>(word & static_cast<T>(-stays));
      std::memcpy(bytes.data() + i * sizeof(T), &result, sizeof result);
    }
    return;
  }
  for_each(layout, [&](std::size_t at, std::size_t element) {
    T word = load<T>(bytes.data() + element * sizeof(T));
    word = mask.data()[at] == 0 || word == sign_bit ? T{0} : word;
    std::memcpy(bytes.data() + element * sizeof(T), &word, sizeof word);
  });
}

}  // namespace

std::optional<LayerLayout> layer_layout(std::span<const std::int64_t> shape, const LayerAxes& axes) {
  const std::optional<std::int64_t> elements = io::packed_bytes(shape, 1);
  if (shape.size() < 2 || std::max(axes.rows, axes.k) >= shape.size() || !elements) {
    return std::nullopt;
  }
  LayerLayout layout;
  layout.k_first = axes.k == 0;
  layout.stacked = axes.stacked;
  layout.k_axis = axes.k;
  if (*elements == 0) {
    layout.rows = shape[axes.rows];
    layout.k = shape[axes.k];
    layout.taps = 0;
    return layout;
  }
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
    if (axis == axes.rows) {
      layout.rows = shape[axis];
      layout.row_stride = stride;
    } else if (axis == axes.k) {
      layout.k = shape[axis];
      layout.k_stride = stride;
    } else if (shape[axis] != 1) {
      if (layout.taps != 1 && stride != layout.tap_stride * layout.taps) {
        return std::nullopt;
      }
      layout.tap_stride = layout.taps == 1 ? stride : layout.tap_stride;
      layout.taps *= shape[axis];
    }
  }
  return layout;
}

std::optional<DataType> weight_type(std::string_view dtype) {
  for (const auto& [name, type] : kTypes) {
    if (name == dtype) {
      return type;
    }
  }
  return std::nullopt;
}

std::size_t stored_bytes(DataType type) {
  return type == DataType::kF64 ? 8 : static_cast<std::size_t>(numerics::storage_bits(type)) / 8;
}

base::Matrix<float> load_weights(const io::Tensor& tensor, DataType type, const LayerLayout& layout) {
  base::Matrix<float> weights(static_cast<std::size_t>(layout.matrix_rows()), static_cast<std::size_t>(layout.k));
  if (is_plain(layout)) {
    to_floats(tensor.bytes.data(), type, {weights.data(), weights.size()});
    require_finite({weights.data(), weights.size()}, tensor.name);
    return weights;
  }
  std::vector<float> values(weights.size());
  to_floats(tensor.bytes.data(), type, values);
  require_finite(values, tensor.name);
  for_each(layout, [&](std::size_t at, std::size_t element) { weights.data()[at] = values[element]; });
  return weights;
}

void apply_mask(const sparsity::Mask& mask, const LayerLayout& layout, DataType type, std::span<std::byte> bytes) {
  const bool has_minus_zero = type != DataType::kS8;
  switch (stored_bytes(type)) {
    case 1:
      mask_elements<std::uint8_t>(mask, layout, has_minus_zero ? 0x80 : 0, bytes);
      break;
    case 2:
      mask_elements<std::uint16_t>(mask, layout, 0x8000, bytes);
      break;
    case 4:
      mask_elements<std::uint32_t>(mask, layout, 0x80000000, bytes);
      break;
    default:
      mask_elements<std::uint64_t>(mask, layout, std::uint64_t{1} << 63, bytes);
  }
}

void store_weights(const base::Matrix<float>& weights, const LayerLayout& layout, io::Tensor& tensor, DataType type) {
  const std::size_t size = stored_bytes(type);
  for_each(layout, [&](std::size_t at, std::size_t element) {
    const double value = weights.data()[at] == 0 ? 0.0 : static_cast<double>(weights.data()[at]);
    if (type == DataType::kF64) {
      std::memcpy(tensor.bytes.data() + element * size, &value, size);
      return;
    }
    const Word word = numerics::from_double(value, type);
    std::memcpy(tensor.bytes.data() + element * size, &word, size);
  });
}

void store_mask(const sparsity::Mask& mask, const LayerLayout& layout, std::span<std::byte> bytes) {
  for_each(layout,
           [&](std::size_t at, std::size_t element) { bytes[element] = static_cast<std::byte>(mask.data()[at]); });
}

void permute_axis(io::Tensor& tensor, std::size_t axis, std::span<const std::size_t> order) {
  const io::ElementType* const type = io::find_element_type(tensor.dtype);
  if (type == nullptr) {
    io::refuse("tensor '{}': elements of {} are not permuted here", io::printable(tensor.name),
               io::printable(tensor.dtype));
  }
  std::size_t outer = 1;
  auto inner = static_cast<std::size_t>(type->bytes);
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    (i < axis ? outer : inner) *= i == axis ? 1 : static_cast<std::size_t>(tensor.shape[i]);
  }
  const auto extent = static_cast<std::size_t>(tensor.shape[axis]);
  const std::size_t orders = extent == 0 ? 1 : order.size() / extent;
  base::ensure(orders > 0 && orders * extent == order.size() && outer % orders == 0, "a permutation of another extent");
  const std::vector<std::byte> before = tensor.bytes;
  for (std::size_t i = 0; i < outer; ++i) {
    const auto own = order.subspan(i / (outer / orders) * extent, extent);
    for (std::size_t slice = 0; slice < extent; ++slice) {
      std::memcpy(tensor.bytes.data() + (i * extent + slice) * inner, before.data() + (i * extent + own[slice]) * inner,
                  inner);
    }
  }
}

base::Matrix<Word> words_of_layer(const io::Tensor& tensor, DataType type, const LayerLayout& layout, DataType target) {
  base::Matrix<Word> words(static_cast<std::size_t>(layout.matrix_rows()), static_cast<std::size_t>(layout.k));
  const std::size_t size = stored_bytes(type);
  const bool raw = type == target || (type == DataType::kF32 && target == DataType::kTf32);
  for_each(layout, [&](std::size_t at, std::size_t element) {
    const std::byte* const from = tensor.bytes.data() + element * size;
    Word word = 0;
    if (type == DataType::kF64) {
      words.data()[at] = numerics::from_double(load<double>(from), target);
      return;
    }
    std::memcpy(&word, from, size);
    const std::int64_t integer = target == DataType::kS4 ? numerics::to_integer(word, type) : 0;
    if (integer < -8 || integer > 7) {
      io::refuse("tensor '{}': element {} is {}, which s4 cannot hold", io::printable(tensor.name), element, integer);
    }
    words.data()[at] = raw ? word : numerics::from_double(numerics::to_double(word, type), target);
  });
  return words;
}

}  // namespace sptc::prune
