// SPDX-License-Identifier: Apache-2.0
#include "sim/io/output_file.h"

#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace sptc::io {

OutputFile::OutputFile(const std::filesystem::path& path) : target_(behind_link(path)) {
  constexpr mode_t kMode = 0666;
  const std::string folder = target_.has_parent_path() ? target_.parent_path().string() : ".";
#ifdef O_TMPFILE
  descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
#endif
  if (descriptor_ < 0) {
    beside_.emplace(target_, [](const char* name) { return open_new(name, kMode); });
    descriptor_ = beside_->made();
    if (descriptor_ < 0) {
      fail(beside_->error());
    }
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      fail(errno);
    }
    size_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::commit() {
  if (!beside_) {
    const std::string self = fmt::format("/proc/self/fd/{}", descriptor_);
    beside_.emplace(
        target_, [&](const char* name) { return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW); });
    if (beside_->made() < 0) {
      fail(beside_->error());
    }
  }
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) {
    fail(errno);
  }
  put_in_place(beside_->path(), target_);
  beside_->keep();
}

void OutputFile::commit_durably() {
  if (::fsync(descriptor_) != 0) {
    fail(errno);
  }
  commit();
  const std::string folder = target_.has_parent_path() ? target_.parent_path().string() : ".";
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);  // not all file systems can
    ::close(directory);
  }
}

void OutputFile::fail(int error) const {
  refuse("{}: cannot be written: {}", printable(target_.string()), std::strerror(error));
}

}  // namespace sptc::io
