// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace sptc::io {

/// The name of a file, or of a directory, that is there only while a result is written. What has
/// the name is removed with this object, and where a signal ends the program.
class ScratchFile {
 public:
  explicit ScratchFile(std::filesystem::path path);
  ~ScratchFile();

  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// It is a result now, or was given another name.
  void keep();

 private:
  struct Name;
  friend void remove_scratch_files() noexcept;

  std::filesystem::path path_;
  Name* name_;
};

/// Removes the files of this process that have such a name, the last one first, so that a directory
/// is empty when its turn comes. A handler of signals may call it, and must end the process then.
void remove_scratch_files() noexcept;

}  // namespace sptc::io
