// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/guard_process.h"

#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sptc::prune::plan {
namespace {

class GuardOfTest : public testing::Test {
 protected:
  const support::TemporaryDirectory directory;
  const std::filesystem::path done = directory.path() / "done";

  /// The work of a guard, which has no open file of its maker.
  std::function<void()> write_done() const {
    return [this] { std::ofstream(done) << "done"; };
  }

  /// False where the work is not done within a minute.
  bool is_done_soon() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!std::filesystem::exists(done) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::filesystem::exists(done);
  }
};

TEST_F(GuardOfTest, DoesItsWorkWhenItIsDestroyedAndNotBefore) {
  {
    const GuardProcess guard(write_done());
    EXPECT_EQ(::getpgid(guard.group()), guard.group()) << "it leads a group of its own";
    EXPECT_NE(guard.group(), ::getpgrp());
    EXPECT_FALSE(std::filesystem::exists(done));
  }
  EXPECT_TRUE(std::filesystem::exists(done)) << "the destructor returns when the work is done";
}

TEST_F(GuardOfTest, DoesItsWorkWhereItsMakerIsKilled) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t maker = ::fork();
  if (maker == 0) {
    const GuardProcess guard(write_done());
    if (::write(ready[1], "r", 1) == 1) {
      ::pause();
    }
    ::_exit(1);
  }
  ::close(ready[1]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  EXPECT_FALSE(std::filesystem::exists(done));
  ::kill(maker, SIGKILL);
  ::waitpid(maker, nullptr, 0);
  EXPECT_TRUE(is_done_soon());
}

TEST_F(GuardOfTest, IsRefusedWhereNoFileCanBeOpened) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  support::expect_input_error([this] { const GuardProcess guard(write_done()); },
                              {"a guard process cannot be started: Too many open files"});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(std::filesystem::exists(done));
}

}  // namespace
}  // namespace sptc::prune::plan
