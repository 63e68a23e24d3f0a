// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/scratch_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sptc::io {

/// A file that is written bit by bit and appears whole, under its name, or not at all. Where the
/// file system allows it the file has no name until then, so that nothing stays of it whatever ends
/// the program.
class OutputFile {
 public:
  /// Throws InputError where no file can be made beside `path`.
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws InputError where the bytes cannot be written, for instance to a full disk.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }

  std::uint64_t size() const { return size_; }

  /// Gives the file its name, in place of a file that has it. Throws InputError.
  void commit();
  /// commit(), once the bytes are on the disk: what has the name is whole after a power failure,
  /// too.
  void commit_durably();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path target_;       ///< behind links
  std::optional<ScratchFile> beside_;  ///< its name until commit(), or while commit() runs
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace sptc::io
