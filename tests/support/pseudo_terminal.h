// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace sptc::support {

/// A terminal that nobody looks at. Its buffer holds a few KiB.
class PseudoTerminal {
 public:
  PseudoTerminal() : screen_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_TRUE(screen_ >= 0 && ::grantpt(screen_) == 0 && ::unlockpt(screen_) == 0);
    name_ = ::ptsname(screen_);
    held_ = ::open(name_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  ~PseudoTerminal() { ::close(screen_); }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  /// The file that programs write to.
  const std::string& name() const { return name_; }
  int file() const { return held_; }

  /// What was written. Nobody else may have it open, and it cannot be written to afterwards.
  std::string written() {
    ::close(held_);
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t size = 0; (size = ::read(screen_, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  int screen_;
  std::string name_;
  int held_ = -1;
};

}  // namespace sptc::support
