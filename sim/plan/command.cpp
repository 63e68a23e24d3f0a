// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/command.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// In the child: becomes the program, or says through `failure` why not.
[[noreturn]] void become(const std::vector<std::string>& words, const Pipe& out, const Pipe& err,
                         const Pipe& failure) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out.ends[1], STDOUT_FILENO);
  ::dup2(err.ends[1], STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(failure.ends[1], &error, sizeof(error));
  ::_exit(127);
}

/// Reads both streams until they end; false where the time is up before.
bool read_streams(const Pipe& out, const Pipe& err, SteadyClock::time_point end, LastLine& last,
                  LastLine& last_error) {
  std::array<pollfd, 2> ready{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
  std::array<char, 1 << 14> buffer{};
  while (ready[0].fd >= 0 || ready[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock::now());
    if (left.count() <= 0) {
      return false;
    }
    constexpr std::int64_t kMostWait = 1000;
    ::poll(ready.data(), ready.size(), static_cast<int>(std::min(left.count(), kMostWait)));
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].fd < 0 || ready[i].revents == 0) {
        continue;
      }
      const ssize_t count = ::read(ready[i].fd, buffer.data(), buffer.size());
      if (count > 0) {
        (i == 0 ? last : last_error).add({buffer.data(), static_cast<std::size_t>(count)});
      } else if (count == 0 || errno != EINTR) {
        ready[i].fd = -1;
      }
    }
  }
  return true;
}

/// The status of `process` where it ends before the time is up.
std::optional<int> ended(pid_t process, SteadyClock::time_point end) {
  constexpr useconds_t kInterval = 5000;
  int status = 0;
  while (true) {
    const pid_t done = ::waitpid(process, &status, WNOHANG);
    if (done == process) {
      return status;
    }
    if (done < 0 && errno != EINTR) {
      return std::nullopt;
    }
    if (SteadyClock::now() >= end) {
      return std::nullopt;
    }
    ::usleep(kInterval);
  }
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
  Pipe out, err, failure;
  ::setenv(variable.first.c_str(), variable.second.c_str(), 1);
  const pid_t process = ::fork();
  if (process < 0) {
    refuse(words.front(), errno);
  }
  if (process == 0) {
    become(words, out, err, failure);
  }
  out.close_end(1);
  err.close_end(1);
  failure.close_end(1);
  int error = 0;
  if (::read(failure.ends[0], &error, sizeof(error)) == sizeof(error)) {
    ::waitpid(process, nullptr, 0);
    refuse(words.front(), error);
  }
  LastLine last, last_error;
  CommandResult result;
  std::optional<int> status;
  if (read_streams(out, err, end, last, last_error)) {
    status = ended(process, end);
  }
  ::kill(-process, SIGKILL);  // what it started, too
  if (!status) {
    ::waitpid(process, nullptr, 0);
    result.exit_code = -1;
  } else if (WIFSIGNALED(*status)) {
    result.exit_code = -1;
    result.signal = WTERMSIG(*status);
  } else {
    result.exit_code = WEXITSTATUS(*status);
  }
  result.last_line = last.text();
  result.last_error = last_error.text();
  return result;
}

}  // namespace sptc::plan
