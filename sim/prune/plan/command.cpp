// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/command.h"

#include "sim/io/text_file.h"
#include "sim/prune/plan/guard_process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace sptc::prune::plan {
namespace {

using SteadyClock = std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& program, int error) {
  io::refuse("the evaluation command '{}' cannot be started: {}", io::printable(program), std::strerror(error));
}

/// A file without a name for what a program prints.
class Output {
 public:
  Output() : file_(std::tmpfile(), &std::fclose) {
    if (file_ == nullptr) {
      refuse("", errno);
    }
  }
  int descriptor() const { return ::fileno(file_.get()); }

  /// The last line that is not blank, without blanks around it.
  std::string last_line() const {
    constexpr off_t kMostRead = 1 << 16;
    constexpr std::size_t kMost = 4096;
    constexpr const char* kBlanks = " \t\r\n";
    const off_t size = ::lseek(descriptor(), 0, SEEK_END);
    std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kMostRead)), '\0');
    const ssize_t count = ::pread(descriptor(), text.data(), text.size(), std::max<off_t>(0, size - kMostRead));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    text.erase(text.find_last_not_of(kBlanks) + 1);  // npos + 1 is 0
    text.erase(0, text.rfind('\n') + 1);
    text.erase(0, text.find_first_not_of(kBlanks));
    return text.substr(0, kMost);
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// Starts the program `words` in the process group `group`. Throws InputError where it cannot.
pid_t start(const std::vector<std::string>& words, pid_t group, const Output& out, const Output& err) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, out.descriptor(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, err.descriptor(), STDERR_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setpgroup(&attributes, group);
  sigset_t usual;
  ::sigemptyset(&usual);
  for (const int number : {SIGINT, SIGPIPE, SIGXFSZ}) {
    ::sigaddset(&usual, number);
  }
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  pid_t process = -1;
  const int error = ::posix_spawnp(&process, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    refuse(words.front(), error);
  }
  return process;
}

/// waitpid(), whatever signals come; true where `process` has ended with `status`.
bool has_ended(pid_t process, int& status, int options) {
  pid_t ended = 0;
  do {
    ended = ::waitpid(process, &status, options);
  } while (ended < 0 && errno == EINTR);
  return ended == process;
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
    io::refuse("--evaluate '{}': the quote {} has no end", io::printable(text), quote);
  }
  if (word) {
    words.push_back(*word);
  }
  if (words.empty()) {
    io::refuse("--evaluate: the command is empty");
  }
  return words;
}

CommandResult run_command(const std::vector<std::string>& words, const std::pair<std::string, std::string>& variable,
                          double timeout_s) {
  const auto end =
      SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(timeout_s));
  ::setenv(variable.first.c_str(), variable.second.c_str(), 1);
  // Ends the group, which has all that the program starts, where somebody ends this process, too.
  std::optional<GuardProcess> guard(std::in_place, [] { ::kill(-::getpid(), SIGKILL); });
  const Output out, err;
  const pid_t process = start(words, guard->group(), out, err);
  constexpr std::chrono::milliseconds kInterval{10};
  int status = 0;
  bool in_time = has_ended(process, status, WNOHANG);
  while (!in_time && SteadyClock::now() < end) {
    std::this_thread::sleep_for(kInterval);
    in_time = has_ended(process, status, WNOHANG);
  }
  guard.reset();
  if (!in_time) {
    has_ended(process, status, 0);
  }
  CommandResult result;
  if (!in_time || WIFSIGNALED(status)) {
    result.exit_code = -1;
    result.signal = in_time ? WTERMSIG(status) : 0;
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  result.last_line = out.last_line();
  result.last_error = err.last_line();
  return result;
}

}  // namespace sptc::prune::plan
