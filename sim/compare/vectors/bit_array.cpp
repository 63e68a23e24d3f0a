// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/vectors/bit_array.h"

#include "models/base/error.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

namespace sptc::compare::vectors {
namespace {

std::size_t elements_of(const std::vector<std::size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

}  // namespace

BitArray BitArray::reshaped(std::vector<std::size_t> new_shape) const {
  base::ensure(elements_of(new_shape) == bits.size(), "reshaped: another number of elements");
  return {std::move(new_shape), element_bytes, bits};
}

BitArray make_bit_array(std::vector<std::size_t> shape, int element_bytes) {
  const std::size_t elements = elements_of(shape);
  return {std::move(shape), element_bytes, std::vector<std::uint64_t>(elements)};
}

BitArray read_bit_array(const std::filesystem::path& path) {
  if (path.extension() != ".npy") {
    throw base::InputError(fmt::format("{}: must be a .npy file", io::printable(path.string())));
  }
  const io::TensorFile file = io::TensorFile::open(path);
  const io::Tensor& tensor = file.tensors().front();
  const io::ElementType* const type = io::find_element_type(tensor.dtype);
  base::ensure(type != nullptr, "npy array of an element type without a row");
  BitArray array =
      make_bit_array({tensor.shape.begin(), tensor.shape.end()}, static_cast<int>(type->bytes));
  for (std::size_t i = 0; i < array.bits.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(type->bytes);
    // The low bytes come first on a little-endian machine.
    std::memcpy(&array.bits[i], tensor.bytes.data() + i * bytes, bytes);
  }
  return array;
}

void write_bit_array(const std::filesystem::path& path, const BitArray& array) {
  // A tuple of one is written "(5,)".
  const std::string shape =
      fmt::format("{}{}", fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  std::string header =
      fmt::format("{{'descr': '{}u{}', 'fortran_order': False, 'shape': ({}), }}",
                  array.element_bytes == 1 ? "|" : "<", array.element_bytes, shape);
  // Magic, version, length and header together are a multiple of 64 bytes and end with a line
  // break (numpy.lib.format, version 1.0).
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kBefore = 10;
  const std::size_t padded =
      (kBefore + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kBefore;
  header.resize(padded - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY");
  bytes += {'\x01', '\x00', static_cast<char>(padded & 0xFF), static_cast<char>(padded >> 8)};
  bytes += header;
  for (const std::uint64_t element : array.bits) {
    bytes.append(reinterpret_cast<const char*>(&element),
                 static_cast<std::size_t>(array.element_bytes));
  }
  io::write_file(path, bytes);
}

}  // namespace sptc::compare::vectors
