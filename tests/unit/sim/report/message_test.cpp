// SPDX-License-Identifier: Apache-2.0
#include "sim/report/message.h"

#include "models/base/error.h"

#include <gtest/gtest.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace sptc::report {
namespace {

/// What report_exception() returns, and writes to stderr, of `thrown`.
template <typename Exception>
std::pair<int, std::string> reported(const Exception& thrown) {
  testing::internal::CaptureStderr();
  int exit_code = -1;
  try {
    throw thrown;
  } catch (const std::exception&) {
    exit_code = report_exception();
  }
  return {exit_code, testing::internal::GetCapturedStderr()};
}

TEST(Message, PrintedTextKeepsLineEndsAndTabsAlone) {
  EXPECT_EQ(printed("a\tb\r\n\r\x07\x1b[31m\u202e\u0085\x7f\xff \u00e4\n"),
            "a\tb\r\n\\x0d\\x07\\x1b[31m\\u202e\\u0085\\u007f\\xff \u00e4\n");
  const std::string json = R"({"name": "\u001b \u202e"})";
  EXPECT_EQ(printed(json), json);
  EXPECT_EQ(printed(""), "");
}

TEST(Message, AnExceptionIsOneSentenceAndAnExitCode) {
  using Reported = std::pair<int, std::string>;
  EXPECT_EQ(reported(base::InputError("'x' is no number")), Reported(2, "sptcsim: error: 'x' is no number\n"));
  EXPECT_EQ(reported(std::bad_alloc()),
            Reported(2, "sptcsim: error: this run needs more memory than there is or it may take\n"));
  EXPECT_EQ(reported(base::InternalError("a row is lost")), Reported(3, "sptcsim: internal error: a row is lost\n"));
  EXPECT_EQ(reported(std::out_of_range("vector")), Reported(3, "sptcsim: internal error: vector\n"));
}

TEST(Message, IsOfAtMost400Characters) {
  const std::string text = reported(base::InputError(std::string(5000, 'x'))).second;
  EXPECT_GT(text.size(), 390U);
  EXPECT_LE(text.size(), 400U + 1) << "with the end of its line";
}

}  // namespace
}  // namespace sptc::report
