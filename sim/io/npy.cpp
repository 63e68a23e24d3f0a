// SPDX-License-Identifier: Apache-2.0
// The .npy format: NumPy Enhancement Proposal 1 and numpy.lib.format (versions 1.0, 2.0, 3.0).
#include "models/base/error.h"
#include "models/base/matrix.h"
#include "sim/io/json_reader.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <istream>

namespace sptc::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kPreambleBytes = 8;  // magic, major, minor version
constexpr std::uint64_t kMostNpyHeaderBytes = 1 << 20;
constexpr std::size_t kMaxAxes = 32;  // as in NumPy 1

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// A literal of Python in the characters of JSON.
std::string as_json(std::string_view literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    const char c = literal[i];
    if (c == ')' || c == '}') {  // Python has a comma behind the last element, too
      const std::size_t last = text.find_last_not_of(" \n");
      text.resize(last != std::string::npos && text[last] == ',' ? last : text.size());
    }
    const std::string_view rest = literal.substr(i);
    const bool is_word = rest.starts_with("True") || rest.starts_with("False");
    text += is_word ? static_cast<char>(c - 'A' + 'a') : c == '\'' ? '"' : c == '(' ? '[' : c == ')' ? ']' : c;
  }
  return text;
}

/// The dictionary of a header: three known keys with a string, a boolean and a tuple of integers.
Header parse_header(std::string_view text, const std::string& file) {
  try {
    const nlohmann::json document = parse_json(as_json(text), file);
    const JsonObject object(document, {file, ""});
    object.allow_only({"descr", "fortran_order", "shape"});
    Header header{object.require("descr").get<std::string>(), object.require("fortran_order").get<bool>(), {}};
    const nlohmann::json& shape = object.require("shape");
    for (std::size_t i = 0; i < shape.get_ref<const nlohmann::json::array_t&>().size(); ++i) {
      header.shape.push_back(to_integer(shape[i], {file, ""}, 0, INT64_MAX));
    }
    if (header.shape.size() <= kMaxAxes) {
      return header;
    }
  } catch (const base::InputError&) {  // says where the JSON is wrong
  } catch (const nlohmann::json::type_error&) {
  }
  refuse(
      "{}: npy header '{}' is wrong: it must be a dictionary of descr (a string), fortran_order (True or False) and "
      "shape (a tuple of at most {} extents)",
      file, printable(text), kMaxAxes);
}

/// "<f4" -> F32. Big-endian and structured arrays are refused.
const ElementType& element_type(std::string_view descr, const std::string& file) {
  for (const ElementType& type : element_types()) {
    const bool little = descr.starts_with('<') || (type.bytes == 1 && descr.starts_with('|'));
    if (!type.npy.empty() && little && descr.substr(1) == type.npy) {
      return type;
    }
  }
  std::vector<std::string> allowed;
  for (const ElementType& type : element_types()) {
    if (!type.npy.empty()) {
      allowed.push_back((type.bytes == 1 ? "|" : "<") + std::string(type.npy));
    }
  }
  refuse("{}: npy descr '{}' is not supported (allowed: {})", file, printable(descr), fmt::join(allowed, ", "));
}

/// Column-major elements in row-major order.
std::vector<std::byte> to_row_major(const std::vector<std::byte>& bytes, const std::vector<std::int64_t>& shape,
                                    std::size_t element_bytes) {
  std::vector<std::byte> result(bytes.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  std::vector<std::int64_t> stride(shape.size(), 1);
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    stride[axis] = stride[axis - 1] * shape[axis - 1];
  }
  std::int64_t source = 0;
  for (std::size_t target = 0; target < bytes.size(); target += element_bytes) {
    std::memcpy(result.data() + target, bytes.data() + static_cast<std::size_t>(source) * element_bytes, element_bytes);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += stride[axis];
      if (++index[axis] < shape[axis]) {
        break;
      }
      source -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

/// Reads magic, version and header; leaves the stream at the data. `used` counts the bytes taken.
std::string read_header_text(std::istream& stream, std::uint64_t size, const std::string& file, std::uint64_t& used) {
  if (size < kPreambleBytes) {
    refuse("{}: {} bytes are too few for an npy file", file, size);
  }
  const std::vector<std::byte> preamble = read_bytes(stream, kPreambleBytes, file);
  const int major = std::to_integer<int>(preamble[6]);
  const int minor = std::to_integer<int>(preamble[7]);
  if (std::memcmp(preamble.data(), kMagic.data(), kMagic.size()) != 0) {
    throw base::InputError(file + ": does not start with the npy magic bytes");
  }
  if (major < 1 || major > 3 || minor != 0) {
    refuse("{}: npy version {}.{} is not supported (allowed: 1.0, 2.0, 3.0)", file, major, minor);
  }
  const std::uint64_t length_bytes = major == 1 ? 2 : 4;
  used = kPreambleBytes + length_bytes;
  if (size < used) {
    throw base::InputError(file + ": ends inside the npy header");
  }
  const std::uint64_t header_bytes = little_endian(read_bytes(stream, length_bytes, file));
  if (header_bytes > std::min(kMostNpyHeaderBytes, size - used)) {
    refuse("{}: says that its header has {} bytes, but {} follow and at most {} are allowed", file, header_bytes,
           size - used, kMostNpyHeaderBytes);
  }
  used += header_bytes;
  const std::vector<std::byte> text = read_bytes(stream, header_bytes, file);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

}  // namespace

TensorFile TensorFile::read_npy(std::istream& stream, std::uint64_t size, const std::string& file) {
  std::uint64_t used = 0;
  const std::string text = read_header_text(stream, size, file, used);
  const Header header = parse_header(text, file);
  const ElementType& type = element_type(header.descr, file);
  const std::optional<std::int64_t> bytes = packed_bytes(header.shape, type.bytes);
  if (!bytes || static_cast<std::uint64_t>(*bytes) != size - used) {
    refuse("{}: the shape ({}) of {} needs {} bytes, but {} follow the header", file, fmt::join(header.shape, ", "),
           header.descr, bytes ? std::to_string(*bytes) : "more than 64 bits can count", size - used);
  }
  Tensor tensor{std::filesystem::path(file).stem().string(), std::string(type.name), header.shape,
                read_bytes(stream, size - used, file)};
  if (header.fortran_order) {
    tensor.bytes = to_row_major(tensor.bytes, tensor.shape, static_cast<std::size_t>(type.bytes));
  }
  TensorFile result;
  result.file_ = file;
  result.tensors_.push_back(std::move(tensor));
  return result;
}

std::string npy_bytes(const Tensor& tensor) {
  const ElementType* const row = find_element_type(tensor.dtype == "BF16" ? "U16" : std::string_view(tensor.dtype));
  if (row == nullptr || row->npy.empty()) {
    refuse("tensor '{}': NumPy has no type {}, so .npy and .npz do not", printable(tensor.name),
           printable(tensor.dtype));
  }
  const ElementType& stored = *row;
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", stored.bytes == 1 ? "|" : "<",
                  stored.npy, fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  // Magic, version, length and header together are a multiple of 64 bytes and end with a line
  // break.
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kBefore = kPreambleBytes + 2;
  const std::size_t padded = (kBefore + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kBefore;
  header.resize(padded - 1, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += little_endian(1, 2) + little_endian(padded, 2) + header;
  bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

void write_npy(const std::filesystem::path& path, const base::Matrix<numerics::Word>& matrix, numerics::DataType type) {
  write_file(path, npy_bytes(make_tensor("", matrix, type)));
}

}  // namespace sptc::io
