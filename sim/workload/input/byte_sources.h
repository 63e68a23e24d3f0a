// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/input/input_stream.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload::input {

/// An open file descriptor, closed at the end; `name` is for messages.
std::unique_ptr<ByteSource> file_source(int descriptor, std::string name);

/// `source`, and before its bytes those of `head`, which were taken from it.
std::unique_ptr<ByteSource> with_head(std::string head, std::unique_ptr<ByteSource> source);

/// Takes up to `size` bytes; fewer only at the end.
std::string take(ByteSource& source, std::size_t size);

/// One regular file of a tar.
struct TarMember {
  std::string name;
  std::uint64_t bytes = 0;
};

/// Goes through a tar, one member after the other.
class TarReader {
 public:
  TarReader(std::unique_ptr<ByteSource> source, std::string name);
  /// Skips what is left of the member before, and goes to the next regular file.
  std::optional<TarMember> next();
  /// The bytes of the member of next(). The reader is used up.
  std::unique_ptr<ByteSource> member() &&;

 private:
  void skip(std::uint64_t bytes);
  /// The bytes of a member that describes the next.
  std::string extension();

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::uint64_t left_ = 0;     ///< of the member
  std::uint64_t padding_ = 0;  ///< behind it
};

/// Whether `head` begins a tar.
bool is_tar(std::string_view head);

}  // namespace sptc::workload::input
