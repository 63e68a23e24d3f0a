// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

struct archive;

namespace sptc::io {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

/// What an archive may unpack to: up to `free` bytes whatever its size, beyond that `ratio` times
/// its size.
struct UnpackBound {
  std::uint64_t free = 0, ratio = 0;
};

/// The members of an archive, one after the other, as libarchive reads them. What is cut off,
/// damaged or of another kind is an InputError that names the file, as is what unpacks to more than
/// its bound.
class Archive {
 public:
  /// A regular file in it.
  struct Member {
    std::string name;
    std::uint64_t bytes = 0;
  };

  /// A file that is read once, be it a pipe. What gzip, xz or zstd compressed is unpacked by
  /// content, several pieces in a row as one. A tar has its members; anything else is one member
  /// without a name, or none where it is empty. `name` is for messages.
  Archive(OpenFile file, std::string name, UnpackBound bound);
  Archive(const std::filesystem::path& zip, UnpackBound bound);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// Skips what is left of the member before.
  std::optional<Member> next();
  /// Fills `to` with up to `size` bytes of the member of next() and says how many; fewer only at
  /// its end.
  std::size_t read(char* to, std::size_t size);
  /// All `bytes` of the member of next(). Throws InputError where it has more or fewer.
  std::string contents(std::uint64_t bytes);
  bool is_tar() const;

 private:
  class Source;

  static std::ptrdiff_t feed(archive* handle, void* self, const void** bytes);
  void check(int status) const;
  void require_bound() const;
  std::string place() const;

  std::string name_, member_;
  UnpackBound bound_;
  std::unique_ptr<Source> source_;  ///< null: a ZIP archive
  std::exception_ptr thrown_;       ///< by it
  std::uint64_t zip_bytes_ = 0;
  std::uint64_t unpacked_ = 0;  ///< read, or of a ZIP archive what the members reached declare
  std::unique_ptr<archive, int (*)(archive*)> handle_;
};

}  // namespace sptc::io
