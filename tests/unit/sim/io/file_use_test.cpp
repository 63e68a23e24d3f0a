// SPDX-License-Identifier: Apache-2.0
#include "sim/io/file_use.h"

#include "tests/support/expect_input_error.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace sptc::io {
namespace {

TEST(FileUse, AFileThatIsReadIsNotWrittenWhateverItIsCalled) {
  const support::TemporaryDirectory directory;
  const auto read = directory.path() / "read.json";
  support::put_file(read, "{}");
  std::filesystem::create_hard_link(read, directory.path() / "other.json");
  announce_input(read);
  support::expect_input_error([&] { announce_output("--json", directory.path() / "other.json"); },
                              {"--json ", "other.json: this file is read"});
  const auto written = directory.path() / "written.json";
  announce_output("--json", written);
  support::expect_input_error([&] { announce_output("--html", directory.path() / "." / "written.json"); },
                              {"--html ", "--json names the same file"});
}

TEST(FileUse, AFileThatIsNotThereYetIsOneByItsRelativeAndByItsAbsolutePath) {
  const std::filesystem::path plain = "not_there.json";
  announce_output("--json", plain);
  for (const std::filesystem::path& same : {"." / plain, std::filesystem::absolute(plain)}) {
    EXPECT_EQ(support::input_error_of([&] { announce_output("--html", same); }),
              "--html " + same.string() + ": --json names the same file");
  }
}

}  // namespace
}  // namespace sptc::io
