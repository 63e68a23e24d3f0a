// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <sys/types.h>

namespace sptc::prune::plan {

/// A process that does `at_end` when its maker has ended, however it ended, or destroys it. It leads a process group of
/// its own, so that the signals of a terminal do not reach it.
class GuardProcess {
 public:
  /// Called in a process of one thread; `at_end` throws nothing. Throws InputError where no process can be started.
  explicit GuardProcess(const std::function<void()>& at_end);
  /// Returns when `at_end` is done.
  ~GuardProcess();
  GuardProcess(const GuardProcess&) = delete;
  GuardProcess& operator=(const GuardProcess&) = delete;

  pid_t group() const { return process_; }

 private:
  pid_t process_ = -1;
  int alive_ = -1;  ///< the end of a pipe that only the maker has; nobody writes to it
};

}  // namespace sptc::prune::plan
