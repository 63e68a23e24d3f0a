// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/archive.h"

#include <istream>
#include <string_view>

namespace sptc::workload::input {

/// A file, or standard input, opened for reading. What gzip, xz or zstd compressed and tar packed
/// is unwrapped by content, and a byte order mark of UTF-8 is skipped; of a tar the member is read
/// that the path names ("x.tar.gz:trace.json"), or the largest.
class InputStream {
 public:
  /// `path`: "-" is standard input; of a directory its config.json is read. Throws InputError.
  explicit InputStream(const std::filesystem::path& path);
  /// The same from bytes in memory; `name` is for messages.
  InputStream(std::string bytes, const std::string& name);
  ~InputStream();

  /// Its exceptions are those of the source: InputError.
  std::istream& stream();
  /// The first bytes (up to 256 KiB), which stream() reads, too.
  std::string_view head() const;
  /// The next line that has a character, without its end, until the next call; nothing at the end.
  /// Throws InputError beyond `max_bytes`.
  std::optional<std::string_view> line(std::size_t max_bytes);
  /// Name and number of that line, for messages: "x.log:7".
  std::string place() const;
  /// All that was not read yet. Throws InputError beyond `max_bytes`.
  std::string rest(std::size_t max_bytes);
  /// What was opened, printable, with the member of a tar.
  const std::string& name() const { return name_; }
  /// Which of several files of a tar is read and that nobody asked for it, that weights beside a
  /// config.json are not, and that a byte order mark is skipped; else empty.
  const std::string& choice() const { return choice_; }
  /// The same as a path, for a workload's default name.
  std::filesystem::path path() const { return path_; }

 private:
  /// `wanted`: the name of a member, or empty. `reopen` is empty where the file can be read once.
  void unwrap(io::OpenFile file, const std::filesystem::path& reopen, const std::string& wanted);
  class Buffer;

  std::filesystem::path path_;
  std::string name_;
  std::string choice_;
  std::string bytes_;  ///< of what is in memory
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<std::istream> stream_;
  std::string line_;
  std::int64_t line_number_ = 0;
};

}  // namespace sptc::workload::input
