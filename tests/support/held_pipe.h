// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace sptc::support {

/// A named pipe that is open at both ends: a program that opens it, and a test that reads what the
/// program wrote, never wait. It holds 64 KiB, as Linux has it.
class HeldPipe {
 public:
  explicit HeldPipe(const std::filesystem::path& path) {
    if (::mkfifo(path.c_str(), 0600) != 0) {
      std::abort();
    }
    end_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  }
  ~HeldPipe() { ::close(end_); }
  HeldPipe(const HeldPipe&) = delete;
  HeldPipe& operator=(const HeldPipe&) = delete;

  /// What was written and not yet read.
  std::string text() const {
    std::string text(1 << 16, '\0');
    text.resize(std::max<ssize_t>(::read(end_, text.data(), text.size()), 0));
    return text;
  }

 private:
  int end_ = -1;
};

}  // namespace sptc::support
