// SPDX-License-Identifier: Apache-2.0
#include "sim/run/worker.h"

#include "models/base/error.h"
#include "sim/run/separate_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace sptc::run {
namespace {

constexpr int kPollMilliseconds = 100;

/// A pipe whose ends close themselves.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw base::InputError(std::string("a pipe that this run needs cannot be made: ") +
                             std::strerror(errno));
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(0);
    close(1);
  }
  int end(std::size_t which) const { return ends_[which]; }
  void close(std::size_t which) {
    if (ends_[which] >= 0) {
      ::close(std::exchange(ends_[which], -1));
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// Lines "done total next", each passed on when it is whole.
class ProgressLines {
 public:
  explicit ProgressLines(const Progress& progress) : progress_(progress) {}

  void add(std::string_view bytes) {
    text_ += bytes;
    for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      const std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      std::size_t at = 0;
      const std::size_t done = std::stoull(line, &at);
      std::size_t length = 0;
      const std::size_t total = std::stoull(line.substr(at), &length);
      if (progress_) {
        progress_(done, total, line.substr(std::min(line.size(), at + length + 1)));
      }
    }
  }

 private:
  const Progress& progress_;
  std::string text_;
};

void report_to(int pipe, std::size_t done, std::size_t total, std::string next) {
  for (char& letter : next) {
    letter = letter == '\n' ? ' ' : letter;
  }
  const std::string line = std::to_string(done) + " " + std::to_string(total) + " " + next + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(pipe, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) {
      return;  // nobody reads any more
    }
    rest.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

/// Until the other end is closed, which the end of the process does.
void follow(int pipe, const Progress& progress, const std::function<void()>& poll) {
  ProgressLines lines(progress);
  std::array<char, 4096> buffer{};
  while (true) {
    pollfd wanted{pipe, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, kPollMilliseconds);
    poll();
    if (ready <= 0) {
      continue;
    }
    const ssize_t count = ::read(pipe, buffer.data(), buffer.size());
    if (count == 0 || (count < 0 && errno != EINTR)) {
      return;
    }
    lines.add({buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))});
  }
}

}  // namespace

std::string run_in_worker(const std::function<std::string(const Progress& report)>& work,
                          const Progress& progress, const std::function<void()>& poll) {
  Pipe pipe;
  SeparateProcess process([&]() -> std::string {
    // Ctrl-C is the caller's, who ends this process; handlers of the interpreter must not run here.
    ::signal(SIGINT, SIG_IGN);
    pipe.close(0);
    std::string result = work([&](std::size_t done, std::size_t total, const std::string& next) {
      report_to(pipe.end(1), done, total, next);
    });
    pipe.close(1);
    return result;
  });
  pipe.close(1);
  follow(pipe.end(0), progress, poll);
  return process.result();
}

}  // namespace sptc::run
