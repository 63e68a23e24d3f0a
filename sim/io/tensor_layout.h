// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/tensor_file.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::io {

/// One row of the table of element types of tensor files.
struct ElementType {
  std::string_view name;  ///< as safetensors spells it
  std::string_view npy;   ///< as the array protocol of NumPy does, without byte order; empty: NumPy has none
  std::int64_t bytes;
  double (*value)(const std::byte*);  ///< of the element whose first byte this is
};

std::span<const ElementType> element_types();

const ElementType* find_element_type(std::string_view name);

/// Product of the extents times `element_bytes`; nothing where it does not fit 64 bits. Extents are
/// not negative.
std::optional<std::int64_t> packed_bytes(std::span<const std::int64_t> shape, std::int64_t element_bytes);

/// A file of tensors, at its first byte.
struct OpenedTensors {
  std::ifstream stream;
  std::uint64_t size = 0;  ///< bytes
};

/// Throws InputError where there is no such file or it cannot be read.
OpenedTensors open_tensors(const std::filesystem::path& path);

/// Where a tensor stands in a file.
struct TensorEntry {
  std::string name;
  std::string dtype;  ///< as Tensor has it
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;  ///< of its first byte in the file
  std::uint64_t bytes = 0;
};

/// What a safetensors file says before its data: the tensors in the order of their data, and the
/// words of "__metadata__".
struct SafetensorsHeader {
  std::vector<TensorEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// Reads the header of a file of `size` bytes and checks it against that size. Throws InputError.
SafetensorsHeader read_safetensors_header(std::istream& stream, std::uint64_t size, const std::string& file);

/// The words of a "__metadata__": of JSON, an object of strings. Throws InputError at `place`.
std::map<std::string, std::string> parse_metadata(std::string_view text, const std::string& place);

/// The bytes before the data of a safetensors file that holds `entries` in this order, packed;
/// their offsets are not looked at. Throws InputError where two have one name.
std::string safetensors_head(std::span<const TensorEntry> entries,
                             const std::map<std::string, std::string>& metadata = {});

/// The bytes of a `.npy` file of `tensor`; bf16 as its bits in uint16. Throws InputError where
/// NumPy has no such type.
std::string npy_bytes(const Tensor& tensor);

/// The next `count` bytes of `stream`. Throws InputError "file: ..." where it ends before.
std::vector<std::byte> read_bytes(std::istream& stream, std::uint64_t count, const std::string& file);

/// Up to 8 bytes as a number, and a number as so many bytes.
std::uint64_t little_endian(std::span<const std::byte> bytes);
std::string little_endian(std::uint64_t value, std::size_t bytes);

}  // namespace sptc::io
