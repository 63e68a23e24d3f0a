// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/command.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/plan/guard_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sptc::plan {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// The last line of what arrives that is not blank.
class LastLine {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n') {
        keep();
        line_.clear();
      } else if (line_.size() < kMost) {
        line_ += c;
      }
    }
  }
  std::string text() {
    keep();
    return last_;
  }

 private:
  static constexpr std::size_t kMost = 4096;

  void keep() {
    const std::size_t begin = line_.find_first_not_of(" \t\r");
    if (begin != std::string::npos) {
      last_ = line_.substr(begin, line_.find_last_not_of(" \t\r") + 1 - begin);
    }
  }

  std::string line_, last_;
};

[[noreturn]] void refuse(const std::string& program, int error) {
  throw base::InputError(fmt::format("the evaluation command '{}' cannot be started: {}",
                                     io::printable(program), std::strerror(error)));
}

struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      refuse("", errno);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t which) {
    if (ends[which] >= 0) {
      ::close(ends[which]);
      ends[which] = -1;
    }
  }
  std::array<int, 2> ends{-1, -1};
};

/// In the child: becomes the program in the process group `group`, or says through `failure` why
/// not.
[[noreturn]] void become(const std::vector<std::string>& words, pid_t group, const Pipe& out,
                         const Pipe& err, const Pipe& failure) {
  ::setpgid(0, group);
  for (const int number : {SIGINT, SIGPIPE, SIGXFSZ}) {
    ::signal(number, SIG_DFL);
  }
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out.ends[1], STDOUT_FILENO);
  ::dup2(err.ends[1], STDERR_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(failure.ends[1], &error, sizeof(error));
  ::_exit(127);
}

/// What the child says through `failure`; 0: nothing, since it has become the program.
int error_of(const Pipe& failure) {
  int error = 0;
  ssize_t count = 0;
  do {
    count = ::read(failure.ends[0], &error, sizeof(error));
  } while (count < 0 && errno == EINTR);
  return count == sizeof(error) ? error : 0;
}

/// Its status can still be waited for.
bool has_ended(pid_t process) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process;
}

/// A stream of the program, and its last line.
class Stream {
 public:
  explicit Stream(const Pipe& pipe) : file_(pipe.ends[0]) {}

  int file() const { return file_; }  ///< -1: it has ended
  /// Waits until there is something to read.
  void read_some() { read(buffer_.size()); }
  /// Only what is there: a child of the program may live on, and hold the stream open.
  void read_rest() {
    int left = 0;
    if (file_ < 0 || ::ioctl(file_, FIONREAD, &left) != 0) {
      return;
    }
    while (left > 0 && file_ >= 0) {
      left -= read(std::min(static_cast<std::size_t>(left), buffer_.size()));
    }
  }
  std::string last_line() { return last_.text(); }

 private:
  int read(std::size_t most) {
    const ssize_t count = ::read(file_, buffer_.data(), most);
    if (count > 0) {
      last_.add({buffer_.data(), static_cast<std::size_t>(count)});
    } else if (count == 0 || errno != EINTR) {
      file_ = -1;
    }
    return static_cast<int>(std::max<ssize_t>(count, 0));
  }

  int file_;
  LastLine last_;
  std::array<char, 1 << 14> buffer_{};
};

/// Reads both streams until `process` has ended; false where the time is up before.
bool read_until_end(pid_t process, Stream& out, Stream& err, SteadyClock::time_point end) {
  constexpr int kIntervalMs = 10;
  while (!has_ended(process)) {
    if (SteadyClock::now() >= end) {
      return false;
    }
    std::array<pollfd, 2> ready{{{out.file(), POLLIN, 0}, {err.file(), POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), kIntervalMs) <= 0) {
      continue;
    }
    if (ready[0].revents != 0) {
      out.read_some();
    }
    if (ready[1].revents != 0) {
      err.read_some();
    }
  }
  out.read_rest();
  err.read_rest();
  return true;
}

int status_of(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::vector<std::string> command_words(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool blank = std::string_view(" \t\r\n").find(c) != std::string_view::npos;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word = word.value_or("") + text[++i];
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      word = word.value_or("");
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && blank) {
      if (word) {
        words.push_back(*std::exchange(word, std::nullopt));
      }
    } else {
      word = word.value_or("") + c;
    }
  }
  if (quote != 0) {
    throw base::InputError(
        fmt::format("--evaluate '{}': the quote {} has no end", io::printable(text), quote));
  }
  if (word) {
    words.push_back(*word);
  }
  if (words.empty()) {
    throw base::InputError("--evaluate: the command is empty");
  }
  return words;
}

CommandResult run_command(const std::vector<std::string>& words,
                          const std::pair<std::string, std::string>& variable, double timeout_s) {
  const auto end = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                            std::chrono::duration<double>(timeout_s));
  ::setenv(variable.first.c_str(), variable.second.c_str(), 1);
  // Ends the group, which has all that the program starts, where somebody ends this process, too.
  std::optional<GuardProcess> guard(std::in_place, [] { ::kill(-::getpid(), SIGKILL); });
  Pipe out, err, failure;
  const pid_t process = ::fork();
  if (process < 0) {
    refuse(words.front(), errno);
  }
  if (process == 0) {
    become(words, guard->group(), out, err, failure);
  }
  out.close_end(1);
  err.close_end(1);
  failure.close_end(1);
  if (const int error = error_of(failure); error != 0) {
    status_of(process);
    refuse(words.front(), error);
  }
  Stream out_stream(out), err_stream(err);
  const bool in_time = read_until_end(process, out_stream, err_stream, end);
  guard.reset();
  const int status = status_of(process);
  CommandResult result;
  if (!in_time || WIFSIGNALED(status)) {
    result.exit_code = -1;
    result.signal = in_time ? WTERMSIG(status) : 0;
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  result.last_line = out_stream.last_line();
  result.last_error = err_stream.last_line();
  return result;
}

}  // namespace sptc::plan
