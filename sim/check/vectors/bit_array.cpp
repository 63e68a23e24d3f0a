// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/bit_array.h"

#include "models/base/error.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

namespace sptc::check::vectors {
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
    io::refuse("{}: must be a .npy file", io::printable(path.string()));
  }
  const io::TensorFile file = io::TensorFile::open(path);
  const io::Tensor& tensor = file.tensors().front();
  const io::ElementType* const type = io::find_element_type(tensor.dtype);
  base::ensure(type != nullptr, "npy array of an element type without a row");
  BitArray array = make_bit_array({tensor.shape.begin(), tensor.shape.end()}, static_cast<int>(type->bytes));
  for (std::size_t i = 0; i < array.bits.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(type->bytes);
    // The low bytes come first on a little-endian machine.
    std::memcpy(&array.bits[i], tensor.bytes.data() + i * bytes, bytes);
  }
  return array;
}

void write_bit_array(const std::filesystem::path& path, const BitArray& array) {
  const auto bytes = static_cast<std::size_t>(array.element_bytes);
  io::Tensor tensor{"", fmt::format("U{}", 8 * bytes), {array.shape.begin(), array.shape.end()}, {}};
  tensor.bytes.resize(array.bits.size() * bytes);
  for (std::size_t i = 0; i < array.bits.size(); ++i) {
    std::memcpy(tensor.bytes.data() + i * bytes, &array.bits[i], bytes);
  }
  io::write_file(path, io::npy_bytes(tensor));
}

}  // namespace sptc::check::vectors
