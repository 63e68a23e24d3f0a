// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>

namespace sptc::sim {

/// A computation in a process of its own, which begins at once: SystemC elaborates once per
/// process, so whoever needs a second elaborated GPU computes there. Start it before threads are.
class SeparateProcess {
 public:
  /// `work` returns any bytes. Throws InternalError where no process can be started.
  explicit SeparateProcess(const std::function<std::string()>& work);
  SeparateProcess(SeparateProcess&& other) noexcept;
  SeparateProcess(const SeparateProcess&) = delete;
  SeparateProcess& operator=(const SeparateProcess&) = delete;
  /// Where nobody asked for the result, ends the process.
  ~SeparateProcess();

  /// Waits for what `work` returns; once. Throws the InputError that it threw, and InternalError
  /// where it ended in another way.
  std::string result();

 private:
  pid_t process_ = -1;  ///< -1: its end has been seen
  int output_ = -1;
};

}  // namespace sptc::sim
