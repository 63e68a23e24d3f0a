// SPDX-License-Identifier: Apache-2.0
#include "sim/run/separate_process.h"

#include "models/base/error.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

namespace sptc::run {
namespace {

TEST(SeparateProcess, ReturnsAnyBytesOfAnyLength) {
  std::string bytes(1 << 20, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * 31);
  }
  EXPECT_EQ(SeparateProcess([&] { return bytes; }).result(), bytes);
  EXPECT_EQ(SeparateProcess([] { return std::string(); }).result(), "");
}

TEST(SeparateProcess, MayWaitForWhatItIsSent) {
  using Sent = std::function<std::string()>;
  const std::string bytes(1 << 20, 'x');
  SeparateProcess echo([](const Sent& sent) { return sent() + "!"; });
  echo.send(bytes);
  EXPECT_EQ(echo.result(), bytes + "!");
  // To one that has ended nothing gets through, and nobody is hurt.
  SeparateProcess dead([](const Sent&) -> std::string { _exit(0); });
  dead.send(bytes);
  EXPECT_THROW(dead.result(), base::InternalError);
}

TEST(SeparateProcess, IsAnotherProcessAndSeveralRunAtOnce) {
  std::vector<SeparateProcess> processes;
  for (int i = 0; i < 3; ++i) {
    processes.emplace_back([i] { return std::to_string(i) + " " + std::to_string(getpid()); });
  }
  for (int i = 0; i < 3; ++i) {
    const std::string text = processes[static_cast<std::size_t>(i)].result();
    EXPECT_TRUE(text.starts_with(std::to_string(i) + " ")) << text;
    EXPECT_FALSE(text.ends_with(" " + std::to_string(getpid()))) << text;
  }
}

TEST(SeparateProcess, PassesOnWhatItsWorkThrowsAndNoticesItsDeath) {
  support::expect_input_error(
      [] {
        SeparateProcess([]() -> std::string { throw base::InputError("m does not fit"); }).result();
      },
      {"m does not fit"});
  EXPECT_THROW(SeparateProcess([]() -> std::string { throw std::bad_alloc(); }).result(),
               std::bad_alloc);
  EXPECT_THROW(
      SeparateProcess([]() -> std::string { throw std::runtime_error("broken"); }).result(),
      base::InternalError);
  EXPECT_THROW(SeparateProcess([]() -> std::string { _exit(0); }).result(), base::InternalError);
}

TEST(SeparateProcess, WhoseResultNobodyWantsIsEnded) {
  const SeparateProcess forgotten([]() -> std::string {
    while (true) {
      pause();
    }
  });
}

}  // namespace
}  // namespace sptc::run
