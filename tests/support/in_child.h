// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace sptc::support {

/// What `compute` returns, `count` plain values, computed in a child process: SystemC elaborates
/// once per process, so each simulator after the first needs its own. An expectation that fails in
/// the child fails the test.
template <typename T, typename Compute>
std::vector<T> in_child(std::size_t count, const Compute& compute) {
  static_assert(std::is_trivially_copyable_v<T>);
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::fflush(stdout);  // or the child would write it once more
  const pid_t child = fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    const std::vector<T> values = [&] {
      try {
        return compute();
      } catch (const std::exception& error) {  // GoogleTest would go on with its tests here
        std::fprintf(stderr, "in the child: %s\n", error.what());
        return std::vector<T>();
      }
    }();
    const auto bytes = static_cast<ssize_t>(values.size() * sizeof(T));
    const bool sent = values.size() == count && write(ends[1], values.data(), values.size() * sizeof(T)) == bytes;
    std::fflush(stdout);  // with the message of an expectation, which _exit() would lose
    _exit(sent && !testing::Test::HasFailure() ? 0 : 1);
  }
  close(ends[1]);
  std::vector<T> values(count);
  auto* next = reinterpret_cast<char*>(values.data());
  std::size_t left = count * sizeof(T);
  while (left > 0) {
    const ssize_t got = read(ends[0], next, left);
    if (got <= 0) {
      ADD_FAILURE() << "the child ended without its results";
      break;
    }
    next += got;
    left -= static_cast<std::size_t>(got);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child failed";
  return values;
}

}  // namespace sptc::support
