// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sptc::support {

/// Whether copies of this process, made while another thread does `busy` again and again, end what
/// they do, `work`. A copy has no thread that would unlock what is locked at that moment.
template <typename Busy, typename Work>
bool every_copy_ends(int copies, const Busy& busy, const Work& work) {
  constexpr unsigned kPatience_s = 30;
  std::atomic<bool> is_busy{false};
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    is_busy = true;
    while (!is_done) {
      busy();
    }
  });
  while (!is_busy) {
    std::this_thread::yield();
  }
  bool all = true;
  for (int i = 0; i < copies && all; ++i) {
    const pid_t copy = ::fork();
    if (copy == 0) {
      ::signal(SIGALRM, SIG_DFL);
      ::alarm(kPatience_s);
      work();
      ::_exit(0);
    }
    int status = 0;
    all = copy > 0 && ::waitpid(copy, &status, 0) == copy && WIFEXITED(status);
  }
  is_done = true;
  other.join();
  return all;
}

}  // namespace sptc::support
