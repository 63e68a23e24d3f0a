// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sptc::support {

/// Starts the program SPTC_PROGRAM without a shell, its output in the files `out` and `err`.
inline pid_t start_program(const std::vector<std::string>& arguments, const std::string& out, const std::string& err) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    std::vector<std::string> all{SPTC_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    argv.reserve(all.size() + 1);
    for (std::string& argument : all) {
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    ::execv(SPTC_PROGRAM, argv.data());
    ::_exit(127);
  }
  return child;
}

/// The exit code of the program, or 1000 and the signal that ended it.
inline int wait_for_program(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace sptc::support
