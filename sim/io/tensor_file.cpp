// SPDX-License-Identifier: Apache-2.0
#include "sim/io/tensor_file.h"

#include "models/base/error.h"
#include "models/base/matrix.h"
#include "models/base/shape.h"
#include "models/base/text.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "sim/io/file_use.h"
#include "sim/io/memory_guard.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

namespace sptc::io {
namespace {

using numerics::DataType;
using numerics::Word;

static_assert(std::endian::native == std::endian::little, "tensor files are read in place");

template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <typename T>
double number(const std::byte* bytes) {
  return static_cast<double>(load<T>(bytes));
}

template <typename T, DataType kType>
double small_float(const std::byte* bytes) {
  return numerics::to_double(load<T>(bytes), kType);
}

constexpr std::array<ElementType, 15> kElementTypes = {{
    {"F16", "f2", 2, small_float<std::uint16_t, DataType::kF16>},
    {"BF16", "", 2, small_float<std::uint16_t, DataType::kBf16>},
    {"F32", "f4", 4, number<float>},
    {"F64", "f8", 8, number<double>},
    {"I8", "i1", 1, number<std::int8_t>},
    {"U8", "u1", 1, number<std::uint8_t>},
    {"I16", "i2", 2, number<std::int16_t>},
    {"U16", "u2", 2, number<std::uint16_t>},
    {"I32", "i4", 4, number<std::int32_t>},
    {"U32", "u4", 4, number<std::uint32_t>},
    {"I64", "i8", 8, number<std::int64_t>},
    {"U64", "u8", 8, number<std::uint64_t>},
    {"F8_E4M3", "", 1, small_float<std::uint8_t, DataType::kE4m3>},
    {"F8_E5M2", "", 1, small_float<std::uint8_t, DataType::kE5m2>},
    {"BOOL", "b1", 1, number<std::uint8_t>},
}};

const ElementType& type_of(const Tensor& tensor) {
  const ElementType* const type = find_element_type(tensor.dtype);
  if (type == nullptr) {
    std::vector<std::string_view> names;
    std::ranges::transform(kElementTypes, std::back_inserter(names), &ElementType::name);
    refuse("tensor '{}': unknown dtype {}", printable(tensor.name), base::unknown_name(printable(tensor.dtype), names));
  }
  return *type;
}

/// Range of an integer type; all of the real line for floats.
std::pair<double, double> range_of(DataType type) {
  switch (type) {
    case DataType::kS4:
      return {-8, 7};
    case DataType::kS8:
      return {-128, 127};
    case DataType::kS32:
      return {-2147483648.0, 2147483647.0};
    default:
      return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
}

Word convert(const Tensor& tensor, std::size_t index, double value, DataType target) {
  const auto [low, high] = range_of(target);
  const bool fits = numerics::info(target).is_float() || (value >= low && value <= high);
  if (!fits) {
    refuse("tensor '{}': element {} is {}, which {} cannot hold ({} to {})", printable(tensor.name), index, value,
           numerics::name(target), low, high);
  }
  return numerics::from_double(value, target);
}

/// The element type that stores words of `type` in a file.
const ElementType& stored_type(DataType type) {
  using Row = std::pair<DataType, std::string_view>;
  static constexpr Row kStored[] = {{DataType::kF16, "F16"}, {DataType::kBf16, "BF16"}, {DataType::kTf32, "F32"},
                                    {DataType::kF32, "F32"}, {DataType::kS4, "I8"},     {DataType::kS8, "I8"},
                                    {DataType::kS32, "I32"}};
  const auto* const found = std::ranges::find(kStored, type, &Row::first);
  base::ensure(found != std::end(kStored), "data type without a stored form");
  return *find_element_type(found->second);
}

}  // namespace

std::span<const ElementType> element_types() {
  return kElementTypes;
}

const ElementType* find_element_type(std::string_view name) {
  const auto found = std::ranges::find(kElementTypes, name, &ElementType::name);
  return found == kElementTypes.end() ? nullptr : &*found;
}

std::optional<std::int64_t> packed_bytes(std::span<const std::int64_t> shape, std::int64_t element_bytes) {
  std::optional<std::int64_t> product = element_bytes;
  for (const std::int64_t extent : shape) {
    product = product ? base::checked_multiply(*product, extent) : std::nullopt;
  }
  return product;
}

std::vector<std::byte> read_bytes(std::istream& stream, std::uint64_t count, const std::string& file) {
  std::vector<std::byte> bytes(count);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
  if (static_cast<std::uint64_t>(stream.gcount()) != count) {
    throw base::InputError(file + ": ends before its header says it does");
  }
  return bytes;
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  return {reinterpret_cast<const char*>(&value), bytes};
}

std::int64_t Tensor::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    product *= extent;
  }
  return product;
}

OpenedTensors open_tensors(const std::filesystem::path& path) {
  const std::string shown = printable(path.string());
  require_regular_file(path);
  std::error_code error;
  OpenedTensors opened{std::ifstream(path, std::ios::binary), 0};
  opened.size = std::filesystem::file_size(path, error);
  if (!opened.stream || error) {
    throw base::InputError(shown + ": cannot be opened for reading");
  }
  return opened;
}

TensorFile TensorFile::open(const std::filesystem::path& path) {
  const std::string shown = printable(path.string());
  const std::string extension = path.extension().string();
  if (extension != ".safetensors" && extension != ".npy") {
    refuse("{}: unknown kind of tensor file '{}' (allowed: .safetensors, .npy)", shown, printable(extension));
  }
  auto [stream, size] = open_tensors(path);
  announce_input(path);
  require_memory(size, shown);
  return extension == ".npy" ? read_npy(stream, size, shown) : read_safetensors(stream, size, shown);
}

const Tensor& TensorFile::tensor(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Tensor& tensor : tensors_) {
    if (tensor.name == name) {
      return tensor;
    }
    names.emplace_back(tensor.name);
  }
  throw base::InputError(file_ + ": unknown tensor " + base::unknown_name(printable(name), names));
}

std::vector<double> as_doubles(const Tensor& tensor) {
  const ElementType& type = type_of(tensor);
  const auto element_bytes = static_cast<std::size_t>(type.bytes);
  std::vector<double> values(tensor.bytes.size() / element_bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = type.value(tensor.bytes.data() + i * element_bytes);
  }
  return values;
}

base::Matrix<Word> as_matrix(const Tensor& tensor, DataType target) {
  const ElementType& type = type_of(tensor);
  const std::int64_t rows = tensor.shape.empty() ? 1 : tensor.shape[0];
  const std::int64_t cols = rows == 0 ? 0 : tensor.elements() / rows;
  base::Matrix<Word> matrix(static_cast<std::size_t>(rows), static_cast<std::size_t>(cols));
  const bool raw_bits = type.name == "U16" && (target == DataType::kF16 || target == DataType::kBf16);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::byte* const bytes = tensor.bytes.data() + i * static_cast<std::size_t>(type.bytes);
    matrix.data()[i] = raw_bits ? Word{load<std::uint16_t>(bytes)} : convert(tensor, i, type.value(bytes), target);
  }
  return matrix;
}

Tensor make_tensor(std::string name, const base::Matrix<Word>& matrix, DataType type) {
  const ElementType& stored = stored_type(type);
  const auto element_bytes = static_cast<std::size_t>(stored.bytes);
  Tensor tensor{std::move(name),
                std::string(stored.name),
                {static_cast<std::int64_t>(matrix.rows()), static_cast<std::int64_t>(matrix.cols())},
                std::vector<std::byte>(matrix.size() * element_bytes)};
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    std::memcpy(tensor.bytes.data() + i * element_bytes, &matrix.data()[i], element_bytes);
  }
  return tensor;
}

}  // namespace sptc::io
