// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/scratch_file.h"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace sptc::sweep::files {

/// The size of a file that SQLite has beside `file`, whose name ends with `end` ("-wal"); 0 where
/// it is not there. SQLite would wait for a pipe, and write through a link: throws InputError where
/// the name stands for anything but a regular file that has no other name.
std::uintmax_t size_beside(const std::filesystem::path& file, std::string_view end);

/// Whether rows of the database `file` may be in its log alone.
bool has_log(const std::filesystem::path& file);

/// A copy of a database and of its log, which is there as long as this object.
class CopyWithLog {
 public:
  /// Throws InputError where there is no room for it.
  explicit CopyWithLog(const std::filesystem::path& file);

  /// Whether it is one state of the database, though somebody wrote to it meanwhile.
  bool is_whole() const { return is_whole_; }
  const std::filesystem::path& path() const { return database_.path(); }

 private:
  io::ScratchFile folder_;
  io::ScratchFile database_, log_, index_;
  bool is_whole_ = false;
};

}  // namespace sptc::sweep::files
