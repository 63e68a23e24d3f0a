// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/tensor_file.h"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::io {

/// One row of the table of element types of tensor files.
struct ElementType {
  std::string_view name;  ///< as safetensors spells it
  std::string_view
      npy;  ///< as the array protocol of NumPy does, without byte order; empty: NumPy has none
  std::int64_t bytes;
  double (*value)(const std::byte*);  ///< of the element whose first byte this is
};

std::span<const ElementType> element_types();

/// The row called `name`, or null.
const ElementType* find_element_type(std::string_view name);

/// Product of the extents times `element_bytes`; nothing where it does not fit 64 bits. Extents are
/// not negative.
std::optional<std::int64_t> packed_bytes(std::span<const std::int64_t> shape,
                                         std::int64_t element_bytes);

/// The next `count` bytes of `stream`. Throws InputError "file: ..." where it ends before.
std::vector<std::byte> read_bytes(std::istream& stream, std::uint64_t count,
                                  const std::string& file);

/// A little-endian unsigned integer.
std::uint64_t little_endian(std::span<const std::byte> bytes);

}  // namespace sptc::io
