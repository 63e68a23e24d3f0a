// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

namespace sptc::io {

/// A file, or a directory, that is there only while a result is written. It is removed with this
/// object, and where a signal ends the program. What somebody else made is never removed.
class ScratchFile {
 public:
  /// Makes what has the name that it gets, unless something has it: 0 or more, as open() returns,
  /// or -1 and errno.
  using Make = std::function<int(const char* name)>;

  /// Makes a name of its own beside `target`, the first that `make` finds free.
  ScratchFile(const std::filesystem::path& target, const Make& make);
  /// The file `path`, there or not, in a directory that is one of these.
  explicit ScratchFile(std::filesystem::path path);
  ~ScratchFile();

  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// What `make` returned, and errno where that is -1.
  int made() const { return made_; }
  int error() const { return error_; }

  /// Keeps the file: it has the name of its target, or is itself a result.
  void keep();

 private:
  struct Name;
  friend void remove_scratch_files() noexcept;

  std::filesystem::path path_;
  int made_ = 0, error_ = 0;
  Name* name_;
};

/// A new, empty file at `name` that is open for writing, with `mode`; -1 and errno where something
/// has the name, be it a link.
int open_new(const char* name, unsigned mode);

/// Removes the files of this process that have such a name, the last one first, so that a directory
/// is empty when its turn comes. A handler of signals may call it, and must end the process then.
void remove_scratch_files() noexcept;

}  // namespace sptc::io
