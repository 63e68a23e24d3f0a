// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/supervisor.h"

#include "models/base/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sptc::hardware {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// The item that a journal says has begun and not ended.
struct OpenItem {
  std::string name;
  std::chrono::seconds limit{};
};

struct JournalState {
  std::size_t lines = 0;
  std::optional<OpenItem> open;
};

JournalState read(const std::filesystem::path& journal) {
  JournalState state;
  std::ifstream file(journal);
  std::string line;
  while (std::getline(file, line)) {
    if (file.eof()) {
      break;  // without its end: still being written
    }
    const Json json = Json::parse(line);
    ++state.lines;
    state.open.reset();
    if (json.contains("begin")) {
      state.open = {json["begin"].get<std::string>(), std::chrono::seconds(json["limit_s"].get<std::int64_t>())};
    }
  }
  return state;
}

std::string describe(int status) {
  return WIFSIGNALED(status)
             ? fmt::format("the process ended with signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
             : fmt::format("the process ended with exit code {}", WEXITSTATUS(status));
}

/// Waits for `process`; ends it where an item takes too long. How it ended, and why it was ended.
struct End {
  int status = 0;
  std::string reason;
};
End watch(pid_t process, const std::filesystem::path& journal, std::chrono::seconds between_items) {
  constexpr std::chrono::milliseconds kPause{50};
  JournalState state;
  Clock::time_point since = Clock::now();
  End end;
  while (true) {
    const pid_t ended = ::waitpid(process, &end.status, WNOHANG);
    if (ended == process || (ended < 0 && errno != EINTR)) {
      return end;
    }
    const JournalState now = read(journal);
    if (now.lines != state.lines) {
      state = now;
      since = Clock::now();
    }
    const std::chrono::seconds limit = state.open ? state.open->limit : between_items;
    if (end.reason.empty() && Clock::now() - since > limit) {
      end.reason = fmt::format("no end within {} s: the process was ended", limit.count());
      ::kill(process, SIGKILL);
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

int supervise(const std::filesystem::path& directory, const std::function<int(CaptureWriter::Start)>& work,
              std::chrono::seconds between_items) {
  const std::filesystem::path journal = CaptureWriter::journal(directory);
  std::size_t lines = 0;
  for (auto start = CaptureWriter::Start::kNew;; start = CaptureWriter::Start::kResume) {
    std::fflush(nullptr);
    const Clock::time_point begin = Clock::now();
    const pid_t process = ::fork();
    base::ensure(process >= 0, "no process could be started");
    if (process == 0) {
      const int code = work(start);
      std::fflush(nullptr);
      ::_exit(code);
    }
    const End end = watch(process, journal, between_items);
    const bool exited = WIFEXITED(end.status);
    const int code = exited ? WEXITSTATUS(end.status) : -1;
    const JournalState state = read(journal);
    if (exited && code != kDeviceLost && !state.open) {
      return code;
    }
    const std::string why = end.reason.empty() ? describe(end.status) : end.reason;
    if (state.open) {
      const ItemOutcome outcome{ItemStatus::kFailed, why, ""};
      const std::chrono::duration<double> seconds = Clock::now() - begin;
      std::ofstream(journal, std::ios::app)
          << journal_line(state.open->name, outcome, seconds.count()).dump() << std::endl;
      if (read(journal).open) {
        throw base::InputError(journal.string() + ": cannot be written");  // or this would never end
      }
      fmt::print(stderr, "{}: {}; the rest goes on\n", state.open->name, outcome.reason);
    } else if (state.lines == lines) {
      throw base::InternalError(why + " between two items");
    }
    lines = read(journal).lines;
  }
}

}  // namespace sptc::hardware
