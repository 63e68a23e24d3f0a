// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/guard_process.h"

#include "sim/io/text_file.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sptc::prune::plan {
namespace {

[[noreturn]] void refuse(int error) {
  io::refuse("a guard process cannot be started: {}", std::strerror(error));
}

/// Returns, in the guard, when nobody has the other end of `alive`.
void wait_for_end(int alive) {
  ::setpgid(0, 0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ::signal(number, SIG_IGN);
  }
  // Whoever waits for the end of another file does not wait for this process.
  ::dup2(alive, STDIN_FILENO);
  ::close_range(STDIN_FILENO + 1, ~0U, 0);
  char nothing = 0;
  while (::read(STDIN_FILENO, &nothing, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace

GuardProcess::GuardProcess(const std::function<void()>& at_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    refuse(errno);
  }
  process_ = ::fork();
  if (process_ == 0) {
    ::close(ends[1]);
    wait_for_end(ends[0]);
    at_end();
    ::_exit(0);
  }
  const int error = errno;
  ::close(ends[0]);
  alive_ = ends[1];
  if (process_ < 0) {
    ::close(alive_);
    refuse(error);
  }
  ::setpgid(process_, process_);  // the group is there when the first of both has made it
}

GuardProcess::~GuardProcess() {
  ::close(alive_);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace sptc::prune::plan
